"""Make a large storage tree by repeating real session files under new ids.

    python benchmarks/tree.py CORPUS TARGET MEGABYTES

Every UUID and message id of a copy is new (the same old one gives the same new one within a
copy), so that no session, line or response is a copy of another.
"""

import hashlib
import re
import sys
from pathlib import Path

_ID = re.compile(
    rb"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}|msg_[0-9A-Za-z_]{10,}"
)


def repeat(corpus: Path, target: Path, megabytes: int) -> int:
    """Copy the corpus' storage and logs until there are `megabytes` of sessions; return bytes."""
    files = [
        file
        for file in sorted((corpus / "storage").rglob("*"))
        if file.is_file() and "readable" not in file.parts
    ]
    written = copy = 0
    while written < megabytes * 1_000_000:
        for file in files:
            written += _copy(file, corpus, target, copy)
            if written >= megabytes * 1_000_000:
                break
        copy += 1
    for log in sorted((corpus / "data").rglob("*.log")):
        _write(target / log.relative_to(corpus), log.read_bytes())
    return written


def _copy(file: Path, corpus: Path, target: Path, copy: int) -> int:
    path = _renamed(str(file.relative_to(corpus)).encode(), copy).decode()
    if copy and file.suffix == ".md":
        path = path.removesuffix(".md") + f"-{copy}.md"
    content = _renamed(file.read_bytes(), copy)
    _write(target / path, content)
    return len(content)


def _renamed(content: bytes, copy: int) -> bytes:
    if copy == 0:
        return content
    return _ID.sub(lambda match: _other(match[0], copy), content)


def _other(name: bytes, copy: int) -> bytes:
    new = hashlib.blake2b(name, digest_size=16, key=str(copy).encode()).hexdigest()
    if name.startswith(b"msg_"):
        return b"msg_" + new[:24].encode()
    return f"{new[:8]}-{new[8:12]}-{new[12:16]}-{new[16:20]}-{new[20:]}".encode()


def _write(path: Path, content: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)


if __name__ == "__main__":
    size = repeat(Path(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3]))
    sys.stderr.write(f"{size / 1e6:.0f} MB\n")
