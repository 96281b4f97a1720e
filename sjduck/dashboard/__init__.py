"""The dashboard: what was used and what it cost as charts, in a browser or as one file."""
