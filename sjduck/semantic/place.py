"""Where the model is, and whether there is what runs it."""

from functools import lru_cache
from hashlib import file_digest, sha256
from importlib.util import find_spec
from pathlib import Path

import platformdirs

from sjduck.errors import SjduckError
from sjduck.semantic.models import MODELS, Known, Model, known
from sjduck.settings import Semantic

FILES = ("model.onnx", "tokenizer.json")
_PACKAGES = ("onnxruntime", "tokenizers")
_DIGEST_CHARACTERS = 12


class NoModel(SjduckError):
    """There is nothing that embeds, and the message says what to do about it."""


def folder(semantic: Semantic) -> Path:
    """Return where the model's files are: as configured, else in the user's cache."""
    if semantic.path is not None:
        return semantic.path
    name = semantic.model.replace("/", "--")
    return Path(platformdirs.user_cache_dir("sjduck")) / "models" / name


def lack(semantic: Semantic) -> str | None:
    """Return why nothing can be embedded here and what to do, None where it can."""
    if any(find_spec(package) is None for package in _PACKAGES):
        return "the extra is not installed: pip install 'sjduck[semantic]'"
    place = folder(semantic)
    missing = [name for name in FILES if not (place / name).is_file()]
    if not missing:
        return None
    if semantic.path is not None:
        return f"no {missing[0]} in {place}; see [semantic] path in the configuration"
    if semantic.model not in MODELS:
        return f"{semantic.model!r} is not a model that is known; name its folder: [semantic] path"
    return f"no model {semantic.model} here yet: sjduck semantic fetch"


def model_id(semantic: Semantic) -> str:
    """Return the id of the model that is there: its name, and a hash of what makes its vectors.

    Raises NoModel where a file can't be read, or is not what was published under its name.
    """
    place, use = folder(semantic), known(semantic)
    digest = sha256(f"{use.passage_prefix}\0{use.pooling}\0{use.max_tokens}".encode())
    for name in FILES:
        digest.update(bytes.fromhex(_digest_of(place / name)))
    if semantic.path is None:
        _check(place, use)
    return f"{semantic.model}:{digest.hexdigest()[:_DIGEST_CHARACTERS]}"


def _check(place: Path, use: Known) -> None:
    for file in use.files:
        if _digest_of(place / file.name) != file.sha256:
            raise NoModel(
                f"{place / file.name} is not what was published (its SHA-256 is another); "
                "fetch it again: sjduck semantic fetch"
            )


def _digest_of(file: Path) -> str:
    try:
        stat = file.stat()
        return _digest(file, stat.st_size, stat.st_mtime_ns)
    except OSError as error:
        raise NoModel(f"can't read {file}: {error.strerror}") from error


@lru_cache(maxsize=8)
def _digest(file: Path, _size: int, _modified_at_ns: int) -> str:
    with file.open("rb") as opened:
        return file_digest(opened, "sha256").hexdigest()


def open_model(semantic: Semantic) -> Model:
    """Return the configured model, opened once a process; raises NoModel."""
    if why := lack(semantic):
        raise NoModel(why)
    return _opened(semantic, model_id(semantic))


@lru_cache(maxsize=1)
def _opened(semantic: Semantic, id_: str) -> Model:
    from sjduck.semantic.onnxmodel import OnnxModel

    return OnnxModel(folder(semantic), id_, known(semantic))
