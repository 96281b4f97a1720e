"""DuckDB's full-text extension, loaded from its installed package."""

from __future__ import annotations

from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from sjduck.errors import SjduckError

if TYPE_CHECKING:
    import duckdb


def load_extension(connection: duckdb.DuckDBPyConnection) -> None:
    """Load the extension by the path of its file: no network, nothing written."""
    connection.load_extension(_extension_file())


@cache
def _extension_file() -> str:
    import duckdb

    spec = find_spec("duckdb_extension_fts")
    folders = spec.submodule_search_locations if spec else None
    for folder in folders or ():
        file = Path(folder) / "extensions" / f"v{duckdb.__version__}" / "fts.duckdb_extension"
        if file.is_file():
            return str(file)
    raise SjduckError(
        f"no full-text extension for duckdb {duckdb.__version__}; "
        "run 'pip install duckdb-extension-fts' in this environment"
    )
