import re
import subprocess
import sys
import tomllib
from pathlib import Path, PurePosixPath
from zipfile import ZipFile

import pytest

CHECKOUT = Path(__file__).parent.parent
HEAVY_LIBRARIES = {"duckdb", "mcp", "polars", "pyarrow"}


@pytest.fixture(scope="module")
def wheel_members(tmp_path_factory: pytest.TempPathFactory) -> list[PurePosixPath]:
    """The paths inside a wheel built from this checkout."""
    folder = tmp_path_factory.mktemp("dist")
    build = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(folder)]
    subprocess.run([*build, str(CHECKOUT)], check=True, capture_output=True)
    (wheel,) = folder.glob("*.whl")
    with ZipFile(wheel) as archive:
        return [PurePosixPath(name) for name in archive.namelist()]


def loaded_after(statements: str, *arguments: str) -> set[str]:
    """The heavy libraries that a new interpreter has loaded after these statements."""
    report = "\nimport sys; print(*sys.modules, file=sys.stderr)"
    command = [sys.executable, "-c", statements + report, *arguments]
    result = subprocess.run(command, check=True, capture_output=True, text=True)
    return HEAVY_LIBRARIES & set(result.stderr.split())


def test_the_wheel_holds_every_query_inside_the_package(
    wheel_members: list[PurePosixPath],
) -> None:
    written = {path.relative_to(CHECKOUT) for path in CHECKOUT.glob("sql/**/*.sql")}

    packed = {path.relative_to("sjduck") for path in wheel_members if path.suffix == ".sql"}

    assert packed == {PurePosixPath(path.as_posix()) for path in written}
    assert packed


def test_the_wheel_installs_only_sjduck_and_etl_at_the_top(
    wheel_members: list[PurePosixPath],
) -> None:
    tops = {path.parts[0] for path in wheel_members}

    assert {top for top in tops if not top.endswith(".dist-info")} == {"sjduck", "etl"}


def test_importing_sjduck_loads_no_heavy_library() -> None:
    assert loaded_after("import sjduck") == set()


def test_asking_for_help_loads_no_heavy_library() -> None:
    ask = "import contextlib, sjduck.cli\nwith contextlib.suppress(SystemExit): sjduck.cli.main()"

    assert loaded_after(ask, "--help") == set()


def test_the_search_extension_is_pinned_to_the_version_of_duckdb() -> None:
    project = tomllib.loads((CHECKOUT / "pyproject.toml").read_text(encoding="utf-8"))["project"]

    pins = dict(re.findall(r"(duckdb[\w-]*)==([\d.]+)", " ".join(project["dependencies"])))

    assert pins["duckdb"] == pins["duckdb-extension-fts"]
