"""sjduck: an archive of every agent session on every machine, answered with DuckDB."""

__version__ = "0.1.0"
