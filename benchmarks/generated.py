"""Make a tree of invented sessions of realistic shape, the same one for the same numbers.

    python benchmarks/generated.py TARGET SESSIONS

TARGET/<host>/projects/… are homes of Claude Code on four hosts. Sizes are log-normal (half of the
sessions below 60 kB, the mean near 300 kB, none above 20 MB), most of the text is what tools gave,
words follow Zipf's law, identifiers and hashes are fresh, some projects are in Chinese or Japanese.
A tree that is whole already is left as it is. Prints its bytes.
"""

import os
import random
import sys
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from datetime import UTC, datetime, timedelta
from functools import cache
from itertools import accumulate
from pathlib import Path
from typing import Any

import orjson

HOSTS = ("heron", "nuthatch", "tern", "wren")
MODELS = ("claude-opus-4-6", "claude-sonnet-4-5-20250929", "claude-haiku-4-5-20251001")
TOOLS = ("Bash", "Read", "Edit", "Grep", "Write")
_MEDIAN, _SIGMA, _LARGEST = 60_000, 1.8, 20_000_000
_VOCABULARY, _POOL = 60_000, 30_000
_BEGIN = datetime(2025, 2, 1, tzinfo=UTC)
_DAYS = 600
_CONSONANTS, _VOWELS = "bcdfghjklmnprstvwz", "aeiou"
_KANJI = "数据索引查询缓存页面日志分区快照会话写入读取合并校验归档画像処理検索設定保存変換接続並列"


def make(target: Path, sessions: int) -> int:
    """Write the tree where it is not there yet; return its bytes."""
    done = target / "bytes"
    if not done.exists():
        with ProcessPoolExecutor(os.cpu_count()) as pool:
            jobs = [(target, number) for number in range(sessions)]
            size = sum(pool.map(_session, jobs, chunksize=8))
        done.write_text(str(size))
    return int(done.read_text())


def homes(target: Path) -> list[tuple[str, Path]]:
    """Return the hosts of a tree and their homes."""
    return [(host, target / host) for host in HOSTS if (target / host).is_dir()]


@cache
def _words() -> tuple[list[str], list[float]]:
    """Return the vocabulary, most frequent first, and its cumulative weights (Zipf)."""
    chance = random.Random(1)
    open_ones = [first + vowel for first in _CONSONANTS for vowel in _VOWELS]
    syllables = open_ones + [
        chance.choice(open_ones) + chance.choice(_CONSONANTS) for _ in range(500)
    ]
    words: set[str] = set()
    while len(words) < _VOCABULARY:
        words.add("".join(chance.choices(syllables, k=chance.randint(1, 4))))
    ordered = sorted(words, key=lambda word: (len(word) // 3, word))
    return ordered, list(accumulate(1 / (rank + 2.7) for rank in range(len(ordered))))


@cache
def _lines() -> list[str]:
    """Return lines as tools print them; `%s` is filled anew each time."""
    chance = random.Random(2)
    words, weights = _words()
    shapes = (
        "src/{}/{}_{}.py:%s:    def {}_{}(self, {}: int) -> None:",
        "{} {} {} passed in %ss",
        "2026-03-14T09:%s INFO {}.{}: {} {} {} {}",
        '    "{}": {{"{}": "%s", "{}": [{}, {}]}},',
        "        return self.{}_{}.{}({}, {})  # {} {}",
        "-rw-r--r-- 1 mira mira %s {}/{}-{}.txt",
        "{} {} {} {} {} {} {} {} {} {}",
    )
    lines = []
    for _ in range(_POOL):
        shape = chance.choice(shapes)
        lines.append(shape.format(*chance.choices(words, cum_weights=weights, k=12)))
    return lines


class _Session:
    """One session that is being written: its clock, its ids and its words."""

    def __init__(self, number: int) -> None:
        self.chance = random.Random(f"session {number}")
        self.number = number
        self.host = HOSTS[number % len(HOSTS)]
        self.id = self._uuid()
        self.project = f"{_words()[0][self.chance.randrange(40) + 500]}-{number % 37}"
        self.cwd = f"/home/mira/work/{self.project}"
        self.is_cjk = number % 37 in (3, 11)
        self.model = self.chance.choice(MODELS)
        self.now = _BEGIN + timedelta(minutes=self.chance.randrange(_DAYS * 24 * 60))
        self.goal = min(int(_MEDIAN * self.chance.lognormvariate(0, _SIGMA)), _LARGEST)
        self.parent: str | None = None
        # What is read again and again: a session works on a few files.
        self.files = [(self._path(), self._output(40, 300)) for _ in range(1 + self.goal // 60_000)]

    def lines(self) -> Iterator[bytes]:
        """Yield the lines of the file until it is as large as it is to be."""
        size = response = 0
        while size < self.goal:
            for line in self._turn(response):
                size += len(line)
                yield line
            response += 8

    def _turn(self, response: int) -> Iterator[bytes]:
        yield self._line("user", {"role": "user", "content": self._prose(10, 90)})
        for step in range(self.chance.randint(1, 8)):
            yield from self._step(f"{self.number}_{response + step}")
        said = {"type": "text", "text": self._prose(30, 200)}
        yield self._line("assistant", self._response(f"{self.number}_{response}e", said))

    def _step(self, name: str) -> Iterator[bytes]:
        """Yield a response that calls a tool, a line a block as they are logged, and its result."""
        given, text, told = self._call(tool := self.chance.choice(TOOLS))
        usage = self._usage()
        for block in (
            {"type": "thinking", "thinking": self._prose(20, 120), "signature": self._signature()},
            {"type": "text", "text": self._prose(15, 140)},
            {"type": "tool_use", "id": f"toolu_{name}", "name": tool, "input": given},
        ):
            yield self._line("assistant", self._response(name, block, usage))
        result = {"type": "tool_result", "tool_use_id": f"toolu_{name}", "content": text}
        yield self._line("user", {"role": "user", "content": [result]}, toolUseResult=told)

    def _call(self, tool: str) -> tuple[dict[str, Any], str, dict[str, Any]]:
        """Return a tool's input, its output, and what the log repeats of it."""
        if tool in ("Bash", "Grep"):
            text = self._output(4, 120)
            return {"command": self._output(1, 3)}, text, {"stdout": text, "stderr": ""}
        path, content = self.chance.choice(self.files)
        lines = content.split("\n")
        begin = self.chance.randrange(len(lines))
        part = "\n".join(lines[begin : begin + 80])
        if tool == "Read":
            return {"file_path": path}, part, {"file": {"filePath": path, "content": part}}
        new = {"file_path": path, "old_string": part[:300], "new_string": self._output(2, 8)}
        return new, f"The file {path} has been updated.", {**new, "originalFile": content}

    def _line(self, kind: str, message: dict[str, Any], **more: Any) -> bytes:
        self.now += timedelta(seconds=self.chance.randrange(1, 40))
        uuid = self._uuid()
        line = orjson.dumps({
            "parentUuid": self.parent, "isSidechain": False, "userType": "external",
            "cwd": self.cwd, "sessionId": self.id, "version": "2.1.20", "gitBranch": "main",
            "type": kind, "message": message, "uuid": uuid,
            "timestamp": self.now.isoformat(timespec="milliseconds").replace("+00:00", "Z"), **more,
        })  # fmt: skip
        self.parent = uuid
        return line + b"\n"

    def _response(
        self, name: str, block: dict[str, Any], usage: dict[str, Any] | None = None
    ) -> dict[str, Any]:
        return {
            "id": f"msg_{name}", "type": "message", "role": "assistant", "model": self.model,
            "content": [block], "usage": usage or self._usage(),
        }  # fmt: skip

    def _signature(self) -> str:
        return f"{self.chance.getrandbits(1600):x}"

    def _usage(self) -> dict[str, Any]:
        pick = self.chance.randrange
        return {
            "input_tokens": pick(3, 900), "cache_creation_input_tokens": pick(0, 6000),
            "cache_read_input_tokens": pick(0, 180_000), "output_tokens": pick(20, 2500),
        }  # fmt: skip

    def _prose(self, least: int, most: int) -> str:
        count = self.chance.randint(least, most)
        if self.is_cjk:
            return "".join(self.chance.choices(_KANJI, k=count * 2))
        words, weights = _words()
        text = self.chance.choices(words, cum_weights=weights, k=count)
        if self.chance.random() < 0.3:
            text[self.chance.randrange(count)] = f"`{self._name()}`"
        return " ".join(text)

    def _output(self, least: int, most: int) -> str:
        """Return lines of tool output; every third has a fresh number, name or hash."""
        lines = self.chance.choices(_lines(), k=self.chance.randint(least, most))
        for at in range(0, len(lines), 3):
            lines[at] = lines[at].replace("%s", self._name())
        return "\n".join(lines).replace("%s", "12")

    def _name(self) -> str:
        words, weights = _words()
        first, second = self.chance.choices(words, cum_weights=weights, k=2)
        return f"{first}_{second}_{self.chance.getrandbits(20):x}"

    def _path(self) -> str:
        return f"{self.cwd}/src/{self._name()}.py"

    def _uuid(self) -> str:
        bits = f"{self.chance.getrandbits(128):032x}"
        return f"{bits[:8]}-{bits[8:12]}-4{bits[13:16]}-a{bits[17:20]}-{bits[20:]}"


def _session(job: tuple[Path, int]) -> int:
    """Write one session; return its bytes."""
    target, number = job
    session = _Session(number)
    folder = target / session.host / "projects" / session.cwd.replace("/", "-")
    folder.mkdir(parents=True, exist_ok=True)
    content = b"".join(session.lines())
    (folder / f"{session.id}.jsonl").write_bytes(content)
    return len(content)


if __name__ == "__main__":
    sys.stdout.write(f"{make(Path(sys.argv[1]), int(sys.argv[2]))}\n")
