"""The model: what it makes of texts, and files that are none."""

from pathlib import Path

import pytest
from onnx import TensorProto, helper, save

from sjduck.semantic.place import NoModel, model_id, open_model
from sjduck.settings import Semantic

PRESSED = "The button is pressed twice and the order is sent twice."
CHARGED = "A customer clicked again, so we charged them two times."
SOIL = "The soil sensor drifts with temperature."


def test_what_is_alike_in_meaning_lies_close_together(minilm: Path) -> None:
    model = open_model(Semantic(path=minilm))

    pressed, charged, soil = model.embed([PRESSED, CHARGED, SOIL])

    # As torch has it with the published weights: 0.537, 0.038 and -0.019.
    assert float(pressed @ charged) == pytest.approx(0.537, abs=0.05)
    assert float(pressed @ soil) == pytest.approx(0.038, abs=0.05)
    assert float(charged @ soil) == pytest.approx(-0.019, abs=0.05)
    assert model.dimension == 384


def test_a_vector_does_not_depend_on_what_is_embedded_beside_it(minilm: Path) -> None:
    model = open_model(Semantic(path=minilm))

    among = model.embed([SOIL, PRESSED * 40, "", "备份", "x " * 20_000])[0]

    assert float(among @ model.embed([SOIL])[0]) > 0.98


def test_vectors_of_another_use_of_the_model_are_others(minilm: Path) -> None:
    ids = {
        model_id(Semantic(path=minilm)),
        model_id(Semantic(path=minilm, passage_prefix="passage: ")),
        model_id(Semantic(path=minilm, pooling="cls")),
        model_id(Semantic(path=minilm, max_tokens=128)),
        model_id(Semantic(model="mine", path=minilm)),
    }

    assert len(ids) == 5
    assert model_id(Semantic(path=minilm, query_prefix="query: ")) in ids


def test_a_model_that_is_not_there_says_how_to_get_it(tmp_path: Path) -> None:
    with pytest.raises(NoModel, match="sjduck semantic fetch"):
        open_model(Semantic())
    with pytest.raises(NoModel, match=r"no model\.onnx in .*empty"):
        open_model(Semantic(path=tmp_path / "empty"))
    with pytest.raises(NoModel, match="'mine' is not a model that is known"):
        open_model(Semantic(model="mine"))


@pytest.mark.parametrize("broken", ["model.onnx", "tokenizer.json"])
def test_a_file_that_is_no_model_is_one_line(minilm: Path, tmp_path: Path, broken: str) -> None:
    for name in ("model.onnx", "tokenizer.json"):
        content = (minilm / name).read_bytes()
        (tmp_path / name).write_bytes(b"no such thing" if name == broken else content)

    with pytest.raises(NoModel, match="can't be used") as failure:
        open_model(Semantic(path=tmp_path))

    assert "\n" not in str(failure.value)


def test_a_model_of_another_kind_is_one_line(minilm: Path, tmp_path: Path) -> None:
    shape = ["batch", "tokens"]
    ids = helper.make_tensor_value_info("input_ids", TensorProto.INT64, shape)
    out = helper.make_tensor_value_info("out", TensorProto.INT64, shape)
    node = helper.make_node("Identity", ["input_ids"], ["out"])
    graph = helper.make_graph([node], "other", [ids], [out])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=9)
    save(model, tmp_path / "model.onnx")
    (tmp_path / "tokenizer.json").write_bytes((minilm / "tokenizer.json").read_bytes())

    with pytest.raises(NoModel, match="gives no vector a token"):
        open_model(Semantic(path=tmp_path))


def test_a_file_in_the_cache_that_is_not_the_published_one_is_not_used(
    minilm: Path, home: Path
) -> None:
    cached = home / ".cache" / "sjduck" / "models" / "all-MiniLM-L6-v2"
    cached.mkdir(parents=True)
    for name in ("model.onnx", "tokenizer.json"):
        (cached / name).write_bytes((minilm / name).read_bytes())

    with pytest.raises(NoModel, match="is not what was published"):
        open_model(Semantic())
