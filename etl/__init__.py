"""The side that writes: takes sessions in and publishes snapshots. It never answers."""
