"""A model as an ONNX file with its tokenizer: BERT and its kind, on this machine's processor."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sjduck.semantic.models import Known
from sjduck.semantic.place import NoModel

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_BATCH = 16
# Far more than any model takes in: what is longer is not even cut into tokens.
_CHARACTERS_A_TOKEN = 16


class OnnxModel:
    """Embeds texts with the model of a folder.

    Raises NoModel where its files are none of a model.
    """

    def __init__(self, folder: Path, id_: str, use: Known) -> None:
        import onnxruntime
        from tokenizers import Tokenizer

        self.id = id_
        self._use = use
        options = onnxruntime.SessionOptions()
        options.log_severity_level = 4
        # Threads that wait for work would keep a core busy that others want.
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")
        try:
            self._tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
            self._tokenizer.enable_truncation(use.max_tokens)
            self._tokenizer.enable_padding()
            self._session = onnxruntime.InferenceSession(
                str(folder / "model.onnx"), options, providers=["CPUExecutionProvider"]
            )
            self._inputs = {entry.name for entry in self._session.get_inputs()}
            self.dimension = int(self._embedded(["a word"]).shape[1])
        # Both libraries raise what they please for a file that is not theirs.
        except Exception as error:
            reason = str(error).split("\n", 1)[0][:120]
            raise NoModel(
                f"the model in {folder} can't be used ({reason}); fetch it again, or see "
                "[semantic] path in the configuration"
            ) from error

    def embed(self, texts: Sequence[str], *, is_query: bool = False) -> NDArray[np.float32]:
        """Return a row of length 1 for each text, whose end is left out where it is too long."""
        import numpy as np

        prefix = self._use.query_prefix if is_query else self._use.passage_prefix
        most = self._use.max_tokens * _CHARACTERS_A_TOKEN
        asked = [prefix + text[:most] for text in texts]
        rows = np.empty((len(asked), self.dimension), np.float32)
        # Texts of a length together: shorter ones are filled up to the longest.
        order = sorted(range(len(asked)), key=lambda number: len(asked[number]))
        for start in range(0, len(order), _BATCH):
            batch = order[start : start + _BATCH]
            rows[batch] = self._embedded([asked[number] for number in batch])
        return rows

    def _embedded(self, texts: Sequence[str]) -> Any:
        import numpy as np

        encoded = self._tokenizer.encode_batch(list(texts))
        ids = np.array([entry.ids for entry in encoded], np.int64)
        mask = np.array([entry.attention_mask for entry in encoded], np.int64)
        given = {"input_ids": ids, "attention_mask": mask, "token_type_ids": np.zeros_like(ids)}
        tokens = self._session.run(None, {n: v for n, v in given.items() if n in self._inputs})[0]
        if tokens.ndim != 3:
            raise ValueError("it gives no vector a token")
        if self._use.pooling == "cls":
            pooled = tokens[:, 0]
        else:
            counted = mask[:, :, None].astype(np.float32)
            pooled = (tokens * counted).sum(axis=1) / np.maximum(counted.sum(axis=1), 1)
        return pooled / np.maximum(np.linalg.norm(pooled, axis=1, keepdims=True), 1e-9)
