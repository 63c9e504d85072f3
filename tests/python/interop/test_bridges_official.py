"""`infer_shapes()`, `convert_version()` and onnx.compose, all on structures without weights.

The oracle is what the package onnx makes of the whole model.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnx.checker
import onnx.compose
import onnx.shape_inference
import onnx.version_converter
import pytest
from onnx import ModelProto, TensorProto, helper, numpy_helper
from support.interop.bridged_models import (
    NAMES,
    WIDTH,
    message_of,
    opened,
    weighted_model,
    wheel_models,
    whole_message,
)
from support.models.sample import write
from support.processes.work import too_steep
from support.run_options import EXHAUSTIVE, SANITIZED
from support.saves.models import SAVE_MODELS

import onnxmap
from onnxmap.interop.official import _edits_of, official_fault

STEP = 1 if EXHAUSTIVE else 4  # between the models of the wheel; each mode begins at another one
CONVERTED = 2 if EXHAUSTIVE else 5  # of that many models, one is converted
MODES: list[dict[str, Any]] = [
    {}, {"data_prop": True}, {"check_type": True, "strict_mode": True, "data_prop": True},
]  # fmt: skip


def result(call: Any, *arguments: Any, **named: Any) -> Any:
    """What a call returns, or the text of its error."""
    try:
        return call(*arguments, **named)
    except Exception as error:  # noqa: BLE001 -- of any kind
        return str(error).partition("\n")[0]


def models(folder: Path, first: int = 0) -> Iterator[onnxmap.Model]:
    for i, name in enumerate(NAMES):
        (folder / str(i)).mkdir()
        yield opened(name, folder / str(i))
    for path in itertools.islice(wheel_models(), first % STEP, None, STEP):
        yield onnxmap.load(path)


@pytest.mark.parametrize("mode", MODES)
def test_shapes_are_those_of_the_whole_model(mode: dict[str, Any], tmp_path: Path) -> None:
    counts = {"changed": 0, "same": 0, "failed": 0}
    for model in models(tmp_path, MODES.index(mode)):
        before = onnxmap.dumps(model)
        expected = result(onnx.shape_inference.infer_shapes, whole_message(model), **mode)
        found = result(model.infer_shapes, **mode)
        if isinstance(expected, str):
            assert found == expected
            assert not model.edited
            counts["failed"] += 1
            continue
        assert found is None
        assert whole_message(model) == expected
        counts["changed" if model.edited else "same"] += 1
        model.revert()
        assert onnxmap.dumps(model) == before
    assert min(counts["changed"], counts["same"]) > 20


def test_untouched_messages_keep_their_bytes(tmp_path: Path) -> None:
    """Also those that protobuf would encode in another way."""
    model = onnxmap.load(SAVE_MODELS["unknown_fields"](tmp_path))
    before = onnxmap.dumps(model)
    model.infer_shapes()
    assert not model.edited
    model.graph.nodes.append(onnxmap.make_node("MatMul", ["w0", "w1"], ["y"]))
    model.opset_imports[""] = 13
    edited = onnxmap.dumps(model)
    model.infer_shapes()
    (info,) = model.graph.value_infos
    assert (info.name, info.shape) == ("y", None) or info.name == "y"
    added = [one.proto.SerializeToString() for one in model.graph.value_infos]
    assert len(onnxmap.dumps(model)) >= len(edited) + sum(map(len, added))
    model.graph.value_infos.clear()
    model.graph.nodes.clear()
    for tensor in model.initializers.values():
        assert tensor.proto.SerializeToString() in before


def test_shapes_follow_edits_and_data(tmp_path: Path) -> None:
    """The shape of a Reshape is read; that of a weight is known without its values."""
    model = onnxmap.load(write(weighted_model(), tmp_path / "model.onnx"))
    model.graph.outputs[0].shape = None
    model.infer_shapes()
    assert {info.name: info.shape for info in model.graph.value_infos} == {
        "h": (WIDTH, WIDTH), "c": (WIDTH, WIDTH), "a": (WIDTH, WIDTH), "u": (1, WIDTH, WIDTH),
        "r": (1, WIDTH, 1),
    }  # fmt: skip
    assert model.graph.outputs[0].shape == (WIDTH, 1)
    model.initializers["w"] = np.zeros((WIDTH, 7), np.float32)
    model.graph.value_infos.clear()
    model.graph.outputs[0].shape = None
    model.graph.nodes.remove(model.graph.nodes["add"])
    model.infer_shapes(data_prop=True)
    assert model.graph.value("h").shape == (WIDTH, 7)


def test_small_external_tensors_are_read(tmp_path: Path) -> None:
    """onnx would read the shape of a Reshape if it was in the model."""
    made = weighted_model()
    shape = made.graph.initializer[2]
    data = b"..." + shape.raw_data
    (tmp_path / "shape.data").write_bytes(data)
    shape.ClearField("raw_data")
    shape.data_location = TensorProto.EXTERNAL
    for key, value in {"location": "shape.data", "offset": "3", "length": "16"}.items():
        shape.external_data.add(key=key, value=value)
    made.graph.output[0].type.tensor_type.ClearField("shape")
    model = onnxmap.load(write(made, tmp_path / "model.onnx"))
    model.infer_shapes()
    assert model.graph.outputs[0].shape == (WIDTH, 1)
    assert model.initializers["shape"].is_external
    (tmp_path / "shape.data").unlink()
    model = onnxmap.load(tmp_path / "model.onnx")
    model.infer_shapes()
    assert model.graph.outputs[0].shape is None
    assert model.graph.value("r").shape == (1, WIDTH, 1)


VERSIONS = [9, 13, 18, 21, 22]


def has_forgotten(message: ModelProto) -> bool:
    """Whether onnx's converter changes a model even if the version stays."""
    versions = [one.version for one in message.opset_import if one.domain == ""]
    return bool(onnx.version_converter.convert_version(message, max(versions)) != message)


def essence(message: ModelProto) -> Any:
    """What the converter does not forget."""
    return (
        [
            (one.op_type, list(one.input), list(one.output), *map(str, one.attribute))
            for one in message.graph.node
        ],
        {one.name: (list(one.dims), one.raw_data) for one in message.graph.initializer if one.name},
        {(one.domain, one.version) for one in message.opset_import},
    )


@pytest.mark.parametrize("version", VERSIONS)
def test_versions_are_those_of_the_whole_model(version: int, tmp_path: Path) -> None:
    count = 0
    first = VERSIONS.index(version)
    for model in itertools.islice(models(tmp_path, first), first % CONVERTED, None, CONVERTED):
        if len(model.graph.nodes) == 0:
            continue
        before = onnxmap.dumps(model)
        message = whole_message(model)
        expected = result(onnx.version_converter.convert_version, message, version)
        found = result(model.convert_version, version)
        if "onnx does not convert functions" in str(found):
            assert onnxmap.dumps(model) == before
            continue
        if isinstance(expected, str):
            assert found == expected
            assert not model.edited
            continue
        if "that onnx.checker refuses" in str(found):
            assert not model.edited
            with pytest.raises((onnx.checker.ValidationError, onnx.shape_inference.InferenceError)):
                onnx.checker.check_model(expected, full_check=True)
            continue
        assert found is None
        if has_forgotten(message):
            assert essence(whole_message(model)) == essence(expected)
        else:
            assert whole_message(model) == expected
        count += model.edited
        model.revert()
        assert onnxmap.dumps(model) == before
    assert count > 40 // CONVERTED


def test_a_version_that_stays_changes_shapes_alone(tmp_path: Path) -> None:
    for model in itertools.islice(models(tmp_path), 0, None, 5):
        version = model.opset_imports.get("", 0)
        if isinstance(result(model.convert_version, version), str):
            continue
        converted, _ = message_of(model), model.revert()
        original = message_of(model)
        for message in converted, original:
            message.graph.ClearField("value_info")
            for value in message.graph.output:
                value.ClearField("type")
        assert converted == original


def test_what_the_converter_forgets_stays(tmp_path: Path) -> None:
    made = weighted_model(13)
    body = [helper.make_node("Tanh", ["a"], ["b"])]  # the same in both versions
    function = helper.make_function("local", "F", ["a"], ["b"], body, [helper.make_opsetid("", 13)])
    made.functions.append(function)
    made.opset_import.add(domain="local", version=1)
    made.graph.metadata_props.add(key="graph", value="g")
    made.graph.initializer[0].doc_string = "weights"
    made.graph.initializer[0].metadata_props.add(key="tensor", value="t")
    made.graph.node[0].metadata_props.add(key="node", value="n")
    made.graph.node[4].doc_string = "changes"
    path = write(made, tmp_path / "model.onnx")
    assert not onnx.version_converter.convert_version(made, 18).functions
    model = onnxmap.load(path)
    model.convert_version(18)
    mean = model.graph.nodes["mean"]
    assert len(mean.inputs) == 2
    assert "axes" not in mean.attributes
    assert mean.doc_string == "changes"
    axes = model.graph.producer(mean.inputs[1])
    assert axes is not None
    assert axes.attributes["value"].value.numpy().tolist() == [-1]
    assert [(one.name, dict(one.opset_imports)) for one in model.functions] == [("F", {"": 18})]
    assert model.graph.metadata_props == {"graph": "g"}
    assert model.initializers["w"].doc_string == "weights"
    assert model.graph.nodes["first"].metadata_props == {"node": "n"}
    assert dict(model.opset_imports) == {"": 18, "local": 1}
    report = model.save(tmp_path / "saved.onnx", sync=False)
    assert [Path(file).name for file in report.files] == ["saved.onnx"]
    assert model.initializers["w"].proto.SerializeToString() in path.read_bytes()
    model.revert()
    assert onnxmap.dumps(model) == path.read_bytes()


def test_the_import_of_the_default_domain_stays_the_same_object() -> None:
    model = onnxmap.loads(weighted_model(13).SerializeToString())
    imported = next(each for each in model.proto.opset_import if not each.domain)
    model.convert_version(21)
    assert imported.version == 21
    imported.version = 20
    assert model.opset_imports[""] == 20


def test_converted_models_run_as_before(tmp_path: Path) -> None:
    onnxruntime = pytest.importorskip("onnxruntime")
    path = write(weighted_model(13), tmp_path / "model.onnx")
    model = onnxmap.load(path)
    model.convert_version(21)
    model.infer_shapes()
    model.save(tmp_path / "converted.onnx", sync=False)
    feed = {"x": np.random.default_rng(0).random((WIDTH, WIDTH), np.float32)}
    outputs = [
        onnxruntime.InferenceSession(file, providers=["CPUExecutionProvider"]).run(None, feed)[0]
        for file in (path, tmp_path / "converted.onnx")
    ]
    np.testing.assert_array_equal(*outputs)


def test_texts_that_are_not_utf_8(tmp_path: Path) -> None:
    made = weighted_model(13)
    made.graph.node[3].output[0] = made.graph.node[4].input[0] = "inner value"
    data = made.SerializeToString().replace(b"inner", b"in\xff\xfer")
    model = onnxmap.loads(data)
    model.convert_version(18)
    assert onnxmap.dumps(model).count(b"in\xff\xfer") == 3  # the shape is new
    assert [len(node.inputs) for node in model.graph.nodes if node.op_type == "ReduceMean"] == [2]


@pytest.mark.parametrize("name", ["chain", "chain_outside"])
def test_tensors_that_a_change_moves(name: str, tmp_path: Path) -> None:
    """A new message gets the values that its token stands for, from where they are."""
    model = onnxmap.load(SAVE_MODELS[name](tmp_path))
    first, *others = model.initializers

    def moved(structure: ModelProto) -> ModelProto:
        changed = ModelProto()
        changed.CopyFrom(structure)
        tensor = changed.graph.initializer.add()
        tensor.CopyFrom(structure.graph.initializer[0])
        tensor.name = "moved"
        node = changed.graph.node.add(op_type="Constant", output=["c"])
        node.attribute.append(helper.make_attribute("value", structure.graph.initializer[0]))
        del changed.graph.initializer[0]
        return changed

    before = model.initializers[first]
    values, is_external = before.tobytes(), before.is_external
    _edits_of(model._open(), (moved, None))(model._open())
    assert list(model.initializers) == [*others, "moved"]
    constant = model.graph.nodes[-1].attributes["value"].value
    for tensor in (model.initializers["moved"], constant):
        assert tensor.tobytes() == values
        assert tensor.is_external == is_external
    report = model.save(tmp_path / "saved.onnx", sync=False)
    assert [Path(file).name for file in report.files] == ["saved.onnx"]
    assert onnxmap.load(tmp_path / "saved.onnx").initializers["moved"].tobytes() == values


def test_errors_change_nothing(tmp_path: Path) -> None:
    model = onnxmap.load(write(weighted_model(13), tmp_path / "model.onnx"))
    for version in (5, 1_000):
        with pytest.raises(RuntimeError):
            model.convert_version(version)
    model.graph.inputs[0].shape = (WIDTH, 7)
    bytes_before = onnxmap.dumps(model)
    with pytest.raises(onnx.shape_inference.InferenceError):
        model.infer_shapes(strict_mode=True)
    assert onnxmap.dumps(model) == bytes_before
    model.close()
    for call in (model.infer_shapes, lambda: model.convert_version(18)):
        with pytest.raises(ValueError, match="closed"):
            call()


def two_models(folder: Path) -> tuple[ModelProto, ModelProto, list[onnxmap.Model]]:
    """Two whole models, the outputs of one fit the inputs of the other; and both on disk."""
    one, two = weighted_model(), weighted_model()
    two.graph.input[0].type.tensor_type.shape.dim[1].dim_value = 1
    two.graph.initializer[0].CopyFrom(numpy_helper.from_array(np.ones((1, WIDTH), np.float32), "w"))
    two.graph.initializer.append(
        numpy_helper.from_array(np.arange(5000, dtype=np.float32), "large")
    )
    paths = [write(made, folder / f"{i}.onnx") for i, made in enumerate((one, two))]
    return one, two, [onnxmap.load(path) for path in paths]


def test_a_prefix(tmp_path: Path) -> None:
    one, _, (model, _) = two_models(tmp_path)
    prefixed = onnx.compose.add_prefix(model.to_proto("reference"), "p_")
    back = onnxmap.from_proto(prefixed, model)
    expected = onnx.compose.add_prefix(one, "p_")
    assert onnxmap.dumps(back) == expected.SerializeToString()


def test_merged_graphs(tmp_path: Path) -> None:
    one, two, (first, second) = two_models(tmp_path)
    pairs = [("a_y", "b_x")]

    def merged(x: ModelProto, y: ModelProto) -> onnx.GraphProto:
        parts = [onnx.compose.add_prefix_graph(g, p) for g, p in ((x.graph, "a_"), (y.graph, "b_"))]
        return onnx.compose.merge_graphs(*parts, io_map=pairs)

    structure = helper.make_model(
        merged(first.to_proto("reference"), second.to_proto("reference")),
        opset_imports=one.opset_import, ir_version=10,
    )  # fmt: skip
    back = onnxmap.from_proto(structure, [first, second])
    expected = helper.make_model(merged(one, two), opset_imports=one.opset_import, ir_version=10)
    assert onnxmap.dumps(back) == expected.SerializeToString()
    assert np.shares_memory(back.views()["b_large"], second.views()["large"])
    official = onnx.compose.merge_models(one, two, [("y", "x")], prefix1="a_", prefix2="b_")
    assert back.to_proto().graph.node == official.graph.node
    back.save(tmp_path / "merged.onnx", sync=False)
    onnx.checker.check_model(tmp_path / "merged.onnx")


def test_merged_models(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """merge_models checks its result, and onnx's checker refuses absolute locations."""
    one, two, (first, second) = two_models(tmp_path)
    structures = [first.to_proto("reference"), second.to_proto("reference")]

    def merge(x: ModelProto, y: ModelProto) -> ModelProto:
        return onnx.compose.merge_models(x, y, [("y", "x")], prefix1="a_", prefix2="b_")

    expected = merge(one, two)
    with pytest.raises(onnx.checker.ValidationError, match="absolute path"):
        merge(*structures)
    monkeypatch.setattr(onnx.compose.checker, "check_model", lambda model: None)
    back = onnxmap.from_proto(merge(*structures), [first, second])
    assert message_of(back) == expected


@pytest.mark.parametrize("name", ["inference", "converter"])
def test_the_official_calls_on_a_structure(name: str, tmp_path: Path) -> None:
    """Without our methods: on a structure whose weights are rejoined afterwards."""
    made = weighted_model()
    model = onnxmap.load(write(made, tmp_path / "model.onnx"))
    for weights in ("reference", "none"):
        given = model.to_proto(weights)
        if name == "inference":
            changed = onnx.shape_inference.infer_shapes(given)
            expected = onnx.shape_inference.infer_shapes(made)
        else:
            changed = onnx.version_converter.convert_version(given, 21)
            expected = onnx.version_converter.convert_version(made, 21)
        back = onnxmap.from_proto(changed, model)
        assert message_of(back) == expected


def test_what_the_checker_says(tmp_path: Path) -> None:
    model = onnxmap.load(write(weighted_model(), tmp_path / "model.onnx"))
    for name in ("chain_outside", "sparse", "nested"):
        (tmp_path / name).mkdir()
        assert official_fault(onnxmap.load(SAVE_MODELS[name](tmp_path / name))._open()) is None
    assert official_fault(model._open()) is None
    model.graph.nodes["add"].inputs.append("x")
    assert "Add" in (official_fault(model._open()) or "")


@pytest.mark.parametrize("number", [-100, 99])
def test_an_error_that_the_checker_does_not_document(number: int) -> None:
    """It raises a ValueError for some numbers of element types."""
    values = [onnx.helper.make_tensor_value_info(name, 1, [2]) for name in "xy"]
    node = onnx.helper.make_node("Cast", ["x"], ["y"], to=number)
    graph = onnx.helper.make_graph([node], "g", values[:1], values[1:])
    data = onnx.helper.make_model(graph, ir_version=10).SerializeToString()
    report = onnxmap.loads(data).check(full=True)
    assert [each.rule for each in report.errors] == ["operator.type", "onnx.checker"]


@pytest.mark.skipif(SANITIZED, reason="nothing is counted under ASan")
def test_an_edited_model_is_walked_over_a_fixed_number_of_times() -> None:
    """However many tensors it has, each of which may be of a sparse one."""

    def prepare(count: int) -> tuple[bytes, Callable[[], object]]:
        graph = helper.make_graph(
            [helper.make_node("Identity", ["w0"], ["y"])], "g", [],
            [helper.make_tensor_value_info("y", 1, [2])],
            [helper.make_tensor(f"w{i}", 1, [2], [1, 2]) for i in range(count)],
        )  # fmt: skip
        data = helper.make_model(graph, ir_version=8).SerializeToString()
        model = onnxmap.loads(data)
        model.doc_string = "edited"
        return data, lambda: model.check(full=True)

    assert not too_steep(prepare, (25, 250))
