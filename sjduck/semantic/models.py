"""The models that are known by name: where their files are, and how they want to be asked."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Protocol

from sjduck.settings import Semantic

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    from numpy.typing import NDArray

_HUB = "https://huggingface.co"


class Model(Protocol):
    """Turns texts into vectors of length 1; what is alike in meaning lies close together.

    `id` names the model and its weights: vectors are compared only with those of the same id.
    """

    @property
    def id(self) -> str: ...

    @property
    def dimension(self) -> int: ...

    def embed(self, texts: Sequence[str], *, is_query: bool = False) -> NDArray[np.float32]:
        """Return a row for each text; what is asked may be put otherwise than what was said."""


@dataclass(frozen=True, slots=True)
class File:
    """A file of a model: its name here, its path where it is published, what it is known by."""

    name: str
    path: str
    bytes: int
    sha256: str


@dataclass(frozen=True, slots=True)
class Known:
    """Where a model is published, and how it is used.

    Below `least_cosine` two texts have nothing to do with each other.
    """

    base: str = ""
    files: tuple[File, ...] = ()
    query_prefix: str = ""
    passage_prefix: str = ""
    pooling: str = "mean"
    max_tokens: int = 256
    least_cosine: float = 0.0


def _files(weights: tuple[int, str], tokenizer: tuple[int, str]) -> tuple[File, ...]:
    return (
        File("model.onnx", "onnx/model_quantized.onnx", *weights),
        File("tokenizer.json", "tokenizer.json", *tokenizer),
    )


# At revisions that never change.
MODELS = {
    "all-MiniLM-L6-v2": Known(
        f"{_HUB}/Xenova/all-MiniLM-L6-v2/resolve/751bff37182d3f1213fa05d7196b954e230abad9",
        _files(
            (22_972_370, "afdb6f1a0e45b715d0bb9b11772f032c399babd23bfc31fed1c170afc848bdb1"),
            (711_661, "da0e79933b9ed51798a3ae27893d3c5fa4a201126cef75586296df9b4d2c62a0"),
        ),
        # At 0.3 an eighth of the paraphrased questions of benchmarks/semantic_quality.py is lost;
        # below 0.25 nothing is gained.
        least_cosine=0.25,
    ),
    "multilingual-e5-small": Known(
        f"{_HUB}/Xenova/multilingual-e5-small/resolve/761b726dd34fb83930e26aab4e9ac3899aa1fa78",
        _files(
            (118_308_185, "f80102d3f2a1229f387d3c81909990d8945513e347b0eab049f7de3c6f98c193"),
            (17_082_730, "0b44a9d7b51c3c62626640cda0e2c2f70fdacdc25bbbd68038369d14ebdf4c39"),
        ),
        query_prefix="query: ",
        passage_prefix="passage: ",
        least_cosine=0.75,
    ),
}


def known(semantic: Semantic) -> Known:
    """Return how the configured model is used: as is known of its name, but for what is set."""
    of_name = MODELS.get(semantic.model, Known())

    def set_or(name: str) -> Any:
        value = getattr(semantic, name)
        return getattr(of_name, name) if value is None else value

    names = ("query_prefix", "passage_prefix", "pooling", "max_tokens", "least_cosine")
    return replace(of_name, **{name: set_or(name) for name in names})
