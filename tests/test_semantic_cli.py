"""Meaning at the command line: embedding after a run, asking, and what it costs who has it not."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from etl.single import claim
from tests.trees import session_id, write_session

CHECKOUT = Path(__file__).parent.parent
SJDUCK = [sys.executable, "-c", "from sjduck.cli import main; main()"]
TWICE = "The order form posts twice when somebody taps the button in a hurry."
CHARGED = "customers pay two times pressing again"


def sjduck(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Run a command."""
    return subprocess.run(
        [*SJDUCK, *arguments], cwd=CHECKOUT, capture_output=True, text=True, check=False
    )


@pytest.fixture
def source(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, root: Path) -> str:
    """Return a source of one session, to be taken into the archive that is asked."""
    monkeypatch.setenv("SJDUCK_ARCHIVE", str(root))
    write_session(tmp_path / "claude", 0, [TWICE])
    return f"claude={tmp_path}/claude"


def configure(home: Path, text: str) -> None:
    """Write the configuration."""
    file = home / ".config" / "sjduck" / "config.toml"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)


def test_a_run_embeds_after_all_else_and_recall_answers_by_meaning(
    home: Path, minilm: Path, source: str
) -> None:
    configure(home, f'[semantic]\npath = "{minilm}"\n')

    first = sjduck("etl", "--source", source, "--semantic")
    again = sjduck("etl", "--source", source, "--semantic", "--json")
    asked = sjduck("recall", CHARGED)
    by_words = sjduck("recall", CHARGED, "--mode", "words")
    state = sjduck("status")

    assert first.returncode == 0, first.stderr
    assert first.stdout.splitlines()[-1].startswith("2 of 2 passages embedded in ")
    assert json.loads(again.stdout)["embedded"]["passages"] == 0
    assert f"sjduck get {session_id(0)[:8]}" in asked.stdout
    assert TWICE in asked.stdout
    assert "nothing matches" in by_words.stderr
    assert "meaning   2 of 2 passages embedded with all-MiniLM-L6-v2:" in state.stdout


def test_a_run_beside_one_that_embeds_does_not_say_that_all_is_embedded(
    home: Path, minilm: Path, source: str, root: Path
) -> None:
    configure(home, f'[semantic]\npath = "{minilm}"\n')
    sjduck("etl", "--source", source)
    (writer,) = (path.name for path in (root / "manifests").iterdir())
    turn = claim("embedding", root, writer)

    ran = sjduck("etl", "--source", source, "--semantic")

    assert turn is not None
    turn.release()
    assert (ran.returncode, ran.stderr) == (0, "sjduck: another process embeds for this writer\n")
    assert "have a vector" not in ran.stdout


def test_a_run_without_a_model_takes_all_in_and_then_says_what_lacks(source: str) -> None:
    ran = sjduck("etl", "--source", source, "--semantic")

    assert ran.returncode == 1
    assert "1 new" in ran.stdout
    assert ran.stderr == "sjduck: no model all-MiniLM-L6-v2 here yet: sjduck semantic fetch\n"
    assert sjduck("recall", "order form").returncode == 0


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("semantic = 1", "[semantic] must be a table"),
        ('[semantic]\nmodle = "x"', "unknown key 'modle'; did you mean 'model'?"),
        ("[semantic]\nauto = 1", "auto must be true or false"),
        ('[semantic]\npooling = "max"', "pooling must be one of: mean, cls"),
        ("[semantic]\nmax_tokens = 0", "max_tokens must be a whole number from 1 to 8192"),
        ("[semantic]\nleast_cosine = 2", "least_cosine must be a number from -1 to 1"),
        ("[semantic]\npath = 3", "path must be a text"),
    ],
)
def test_a_setting_that_can_t_be_taken_is_bad_usage(home: Path, text: str, said: str) -> None:
    configure(home, text)
    ran = sjduck("semantic", "fetch")

    assert ran.returncode == 2
    assert said in ran.stderr
    assert ran.stderr.count("\n") == 1


def test_words_alone_import_nothing_of_the_extra(source: str) -> None:
    assert sjduck("etl", "--source", source).returncode == 0
    script = (
        "import sys, pathlib; from sjduck.archive import Archive; "
        "from sjduck.recall import recall; from sjduck.search import search; "
        "import sjduck.cli.semantic; "
        "archive = Archive(pathlib.Path(sys.argv[1]), timezone='UTC'); "
        "assert recall(archive, 'order')['total'] == search(archive, 'form')['total'] / 2 == 1; "
        "print(sorted({'onnxruntime', 'tokenizers'} & set(sys.modules)))"
    )
    ran = subprocess.run(
        [sys.executable, "-c", script, os.environ["SJDUCK_ARCHIVE"]],
        cwd=CHECKOUT, capture_output=True, text=True, check=False,
    )  # fmt: skip

    assert ran.stdout == "[]\n", ran.stderr
