"""The coding agents and desktop programs that sjduck can be registered with."""
