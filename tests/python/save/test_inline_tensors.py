"""Values that other programs read only in the model stay in the model, whatever a save moves."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import GraphProto, ModelProto, NodeProto, TensorProto, helper, numpy_helper
from support.models.node_cases import node_cases, with_one_outside

import onnxmap

onnxruntime = pytest.importorskip("onnxruntime")  # its newest release needs Python 3.11
INTEGERS_64_KIB = 8192  # of INT64
FLOATS = helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 1, 4, 4])
RESULT = helper.make_tensor_value_info("y", TensorProto.FLOAT, None)


def refusal(path: Path) -> str | None:
    """What onnxruntime says against a model."""
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.intra_op_num_threads = 1
    try:
        onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    except Exception as error:  # noqa: BLE001 -- onnxruntime has classes of its own
        return str(error)
    return None


def shapes(model: ModelProto, **options: Any) -> Any:
    """What onnx infers, or why it does not."""
    try:
        inferred = onnx.shape_inference.infer_shapes(model, strict_mode=True, **options)
    except onnx.shape_inference.InferenceError as error:
        return str(error)
    return [output.SerializeToString() for output in inferred.graph.output]


def external_names(path: Path) -> set[str]:
    model = onnxmap.load(path)
    return {tensor.name for _, tensor in model._open().tensors() if tensor.is_external}


def model_of(nodes: list[NodeProto], *tensors: TensorProto, opset: int = 21) -> ModelProto:
    graph = helper.make_graph(nodes, "g", [FLOATS], [RESULT], list(tensors))
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=10)


def constant(name: str, values: Any, dtype: Any = np.float32) -> TensorProto:
    return numpy_helper.from_array(np.asarray(values, dtype), name)


def test_each_operator_can_be_read_after_a_save(tmp_path: Path) -> None:
    """All inputs are constants, and all that may move is in a data file."""
    inside, outside = tmp_path / "inside.onnx", tmp_path / "outside.onnx"
    moved = 0
    for name, model in node_cases().items():
        inside.write_bytes(model.SerializeToString())
        onnxmap.save(model, outside, "w.data", size_threshold_bytes=0, attributes=True, sync=False)
        moved += bool(external_names(outside))
        saved = onnx.load(outside, load_external_data=False)
        assert shapes(saved, data_prop=True) == shapes(model, data_prop=True), name
        if refusal(inside) is None:
            assert refusal(outside) is None, name
    assert moved > len(node_cases()) / 2


def test_check_warns_of_what_a_reader_refuses(tmp_path: Path) -> None:
    """Each input of each operator in turn is external. The table of operators is judged by this."""
    inside, outside = tmp_path / "inside.onnx", tmp_path / "outside.onnx"
    refused = 0
    for case, model in node_cases().items():
        inside.write_bytes(model.SerializeToString())
        is_readable, inferred = refusal(inside) is None, shapes(model)
        for name, changed, values in with_one_outside(model):
            (tmp_path / "w.data").write_bytes(values)
            outside.write_bytes(changed.SerializeToString())
            if shapes(changed) == inferred and not (is_readable and refusal(outside)):
                continue
            refused += 1
            found = {finding.rule for finding in onnxmap.load(outside).check()}
            assert "ext.decides_shape" in found, (case, name)
    assert refused > 10


def test_sizes_of_a_split_stay_by_default(tmp_path: Path) -> None:
    """As many sizes as exporters write for 200 heads; they have 1600 bytes."""
    sizes = constant("sizes", [1] * 200, np.int64)
    outputs = [f"y{i}" for i in range(200)]
    node = helper.make_node("Split", ["x", "sizes"], outputs, axis=0)
    infos = [helper.make_tensor_value_info(each, TensorProto.FLOAT, None) for each in outputs]
    given = helper.make_tensor_value_info("x", TensorProto.FLOAT, [200, 1])
    weight = constant("w", np.ones(1000))
    graph = helper.make_graph([node], "g", [given], infos, [sizes, weight])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)
    path = tmp_path / "saved.onnx"
    onnxmap.save(model, path, "w.data", sync=False)
    assert external_names(path) == {"w"}
    assert refusal(path) is None
    onnxmap.save_all({path: model}, "w.data", sync=False)
    assert external_names(path) == {"w"}
    inline = tmp_path / "inline.onnx"
    onnxmap.save(model, inline, sync=False)
    onnxmap.load(inline).save(path, "view", size_threshold_bytes=0, sync=False)
    assert external_names(path) == {"w"}
    assert refusal(path) is None


@pytest.mark.parametrize("count", [INTEGERS_64_KIB - 1, INTEGERS_64_KIB])
@pytest.mark.parametrize("dtype", [np.int64, np.int32])
def test_integers_of_less_than_64_kib_stay(dtype: Any, count: int, tmp_path: Path) -> None:
    """Nodes may make a shape of them. Larger ones move."""
    numbers = constant("numbers", np.arange(count * 8 // np.dtype(dtype).itemsize), dtype)
    cast = helper.make_node("Cast", ["numbers"], ["y"], to=TensorProto.FLOAT)
    path = tmp_path / "saved.onnx"
    onnxmap.save(model_of([cast], numbers), path, "w.data", size_threshold_bytes=0, sync=False)
    assert external_names(path) == ({"numbers"} if count == INTEGERS_64_KIB else set())


def test_sizes_of_64_kib_stay(tmp_path: Path) -> None:
    sizes = constant("sizes", [1] * INTEGERS_64_KIB, np.int64)
    other = constant("other", [1] * INTEGERS_64_KIB, np.int64)
    nodes = [
        helper.make_node("SplitToSequence", ["x", "sizes"], ["s"]),
        helper.make_node("Cast", ["other"], ["y"], to=TensorProto.FLOAT),
    ]
    path = tmp_path / "saved.onnx"
    onnxmap.save(model_of(nodes, sizes, other), path, "w.data", sync=False)
    assert external_names(path) == {"other"}


def resize(scales: str, output: str = "y") -> NodeProto:
    return helper.make_node("Resize", ["x", "", scales], [output])


def branch(*nodes: NodeProto, tensors: tuple[TensorProto, ...] = ()) -> GraphProto:
    result = helper.make_tensor_value_info("y", TensorProto.FLOAT, None)
    return helper.make_graph(list(nodes), "branch", [], [result], list(tensors))


SCALES = constant("scales", [1, 1, 2, 2])
FLAG = constant("flag", True, np.bool_)
# Of each model, the tensors that may be external.
PLACES: dict[str, tuple[ModelProto, set[str]]] = {
    "initializer": (model_of([resize("scales")], SCALES, constant("w", [1])), {"w"}),
    "Constant node": (
        model_of([helper.make_node("Constant", [], ["s"], value=SCALES), resize("s")]),
        set(),
    ),
    "Constant node after its use": (
        model_of([resize("s"), helper.make_node("Constant", [], ["s"], value=SCALES)]),
        set(),
    ),
    "Constant node of no operator": (
        model_of([helper.make_node("Constant", [], ["s"], value=SCALES)]),
        {"scales"},
    ),
    "input of an old version": (
        model_of([helper.make_node("Resize", ["x", "scales"], ["y"])], SCALES, opset=10),
        set(),
    ),
    "operator of another domain": (
        model_of([helper.make_node("Resize", ["x", "", "scales"], ["y"], domain="mine")], SCALES),
        {"scales"},
    ),
    "graph around": (
        model_of(
            [
                helper.make_node(
                    "If",
                    ["flag"],
                    ["y"],
                    then_branch=branch(resize("scales")),
                    else_branch=branch(helper.make_node("Identity", ["x"], ["y"])),
                )
            ],
            SCALES,
            FLAG,
        ),
        set(),
    ),
    "another tensor of that name": (
        model_of(
            [
                helper.make_node(
                    "If",
                    ["x"],
                    ["y"],
                    then_branch=branch(resize("scales"), tensors=(SCALES,)),
                    else_branch=branch(helper.make_node("Identity", ["x"], ["y"])),
                ),
                resize("later", "z"),
            ],
            constant("scales", [3]),
            constant("later", [1, 1, 1, 1]),
        ),
        {"scales"},
    ),
}


@pytest.mark.parametrize("name", PLACES)
def test_numbers_that_decide_shapes(name: str, tmp_path: Path) -> None:
    model, expected = PLACES[name]
    path = tmp_path / "saved.onnx"
    onnxmap.save(model, path, "w.data", size_threshold_bytes=0, attributes=True, sync=False)
    assert external_names(path) == expected
    if name == "another tensor of that name":
        names = onnxmap.load(path)._open().tensors()
        assert [where for where, tensor in names if tensor.is_external] == ["graph.initializer[0]"]


def test_tensors_of_functions(tmp_path: Path) -> None:
    nodes = [helper.make_node("Constant", [], ["s"], value=SCALES), resize("s")]
    opsets = [helper.make_opsetid("", 21)]
    function = helper.make_function("mine", "Double", ["x"], ["y"], nodes, opsets)
    model = model_of([helper.make_node("Double", ["x"], ["y"], domain="mine")])
    model.functions.append(function)
    model.opset_import.append(helper.make_opsetid("mine", 1))
    path = tmp_path / "saved.onnx"
    onnxmap.save(model, path, "w.data", size_threshold_bytes=0, attributes=True, sync=False)
    assert external_names(path) == set()
    assert refusal(path) is None


def training_model() -> ModelProto:
    model = model_of([helper.make_node("Identity", ["x"], ["y"])], constant("w", np.ones(1000)))
    info = model.training_info.add()
    info.algorithm.CopyFrom(branch(tensors=(constant("rate", np.ones(1000)),)))
    large = constant("large", np.ones(1000))
    info.initialization.CopyFrom(branch(helper.make_node("Constant", [], ["y"], value=large)))
    return model


@pytest.mark.parametrize("external_data", ["w.data", "view"])
def test_tensors_of_training_info_stay(external_data: str, tmp_path: Path) -> None:
    """onnx.load reads external data of the graph and of functions alone."""
    source, path = tmp_path / "source.onnx", tmp_path / "saved.onnx"
    source.write_bytes(training_model().SerializeToString())
    onnxmap.load(source).save(path, external_data, attributes=True, sync=False)
    assert external_names(path) == {"w"}
    loaded = onnx.load(path)
    rate = loaded.training_info[0].algorithm.initializer[0]
    np.testing.assert_array_equal(numpy_helper.to_array(rate), np.ones(1000, np.float32))
    assert "ext.training" not in {finding.rule for finding in onnxmap.load(path).check()}


def test_training_info_comes_back_into_the_model(tmp_path: Path) -> None:
    model = training_model()
    tensor = model.training_info[0].algorithm.initializer[0]
    (tmp_path / "rate.data").write_bytes(tensor.raw_data)
    tensor.ClearField("raw_data")
    tensor.data_location = TensorProto.EXTERNAL
    tensor.external_data.add(key="location", value="rate.data")
    path = tmp_path / "model.onnx"
    path.write_bytes(model.SerializeToString())
    opened = onnxmap.load(path)
    assert "ext.training" in {finding.rule for finding in opened.check()}
    opened.save(path, "w.data", sync=False)
    assert external_names(path) == {"w"}


def test_new_integers_of_an_external_tensor_go_into_the_model(tmp_path: Path) -> None:
    """The next save would else put them into a side file."""
    path = tmp_path / "model.onnx"
    sizes = constant("sizes", [1] * 200, np.int64)
    node = helper.make_node("SplitToSequence", ["x", "sizes"], ["s"])
    _, changed, values = next(iter(with_one_outside(model_of([node], sizes))))
    (tmp_path / "w.data").write_bytes(values)
    path.write_bytes(changed.SerializeToString())
    model = onnxmap.load(path)
    model.initializers["sizes"] = np.full(200, 2, np.int64)
    assert model.save(path, sync=False).files == [str(path)]
    assert external_names(path) == set()


@pytest.mark.parametrize("weights", ["reference", "none"])
def test_structures_have_what_decides_shapes(weights: Any, tmp_path: Path) -> None:
    """The sizes are larger than the integers that always stay."""
    sizes = constant("sizes", [1] * INTEGERS_64_KIB, np.int64)
    other = constant("other", [1] * INTEGERS_64_KIB, np.int64)
    node = helper.make_node("SplitToSequence", ["x", "sizes"], ["s"])
    path = tmp_path / "model.onnx"
    path.write_bytes(model_of([node], sizes, other).SerializeToString())
    structure = onnxmap.load(path).to_proto(weights)
    assert [len(each.raw_data) for each in structure.graph.initializer] == [INTEGERS_64_KIB * 8, 0]


def test_shapes_are_inferred_from_external_values(tmp_path: Path) -> None:
    model = model_of([resize("scales")], SCALES)
    _, changed, values = next(iter(with_one_outside(model)))
    (tmp_path / "w.data").write_bytes(values)
    path = tmp_path / "model.onnx"
    path.write_bytes(changed.SerializeToString())
    opened = onnxmap.load(path)
    opened.infer_shapes(strict_mode=True)
    assert opened.graph.outputs[0].shape == (1, 1, 8, 8)


def test_sessions_have_what_decides_shapes(tmp_path: Path) -> None:
    sizes = constant("sizes", [1] * INTEGERS_64_KIB, np.int64)
    node = helper.make_node("SplitToSequence", ["x", "sizes"], ["s"], axis=0)
    given = helper.make_tensor_value_info("x", TensorProto.FLOAT, [INTEGERS_64_KIB])
    result = helper.make_tensor_sequence_value_info("s", TensorProto.FLOAT, None)
    graph = helper.make_graph([node], "g", [given], [result], [sizes])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)
    path = tmp_path / "model.onnx"
    path.write_bytes(model.SerializeToString())
    session = onnxmap.load(path).session(["CPUExecutionProvider"])
    assert (
        len(session.run(None, {"x": np.ones(INTEGERS_64_KIB, np.float32)})[0])
        == len(sizes.raw_data) // 8
    )
