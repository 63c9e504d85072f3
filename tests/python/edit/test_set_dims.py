"""`Model.set_dims` beside onnx.tools.update_model_dims."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import pytest
from onnx import ModelProto, TensorProto, helper, numpy_helper
from onnx.tools.update_model_dims import update_inputs_outputs_dims
from support.edits.rich_model import saved
from support.processes.work import Work, too_steep
from support.surgery.programs import errors

import onnxmap
from onnxmap import DimReport

Shape = list[Any]


def info(name: str, shape: Shape) -> onnx.ValueInfoProto:
    return helper.make_tensor_value_info(name, 1, shape)


def model_of(x: Shape, y: Shape, z: Shape) -> ModelProto:
    """x -> Neg -> y -> Reshape -> z, and a branch that tells the shape of what it takes."""
    branch = helper.make_graph(
        [helper.make_node("Neg", ["y"], ["b"]), helper.make_node("Neg", ["b"], ["o"])],
        "branch", [], [info("o", y)], value_info=[info("b", y)],
    )  # fmt: skip
    nodes = [
        helper.make_node("Neg", ["x"], ["y"]),
        helper.make_node("Constant", [], ["size"], value_ints=[32]),
        helper.make_node("Reshape", ["y", "shape"], ["z"]),
        helper.make_node("If", ["c"], ["i"], then_branch=branch, else_branch=branch),
        helper.make_node("Neg", ["other"], ["aside"]),
        helper.make_node("Neg", ["aside"], ["last"]),
    ]
    graph = helper.make_graph(
        nodes, "g",
        [info("x", x), helper.make_tensor_value_info("c", 9, []), info("other", ["batch", 32])],
        [info("z", z), info("i", y), info("last", ["batch", 32])],
        [numpy_helper.from_array(np.array([-1, 32], np.int64), "shape")],
        value_info=[info("y", y), info("aside", ["batch", 32])],
    )  # fmt: skip
    sequence = helper.make_tensor_sequence_value_info("s", 1, ["batch"])
    graph.value_info.append(sequence)
    neg = helper.make_node("Neg", ["a"], ["b"])
    function = helper.make_function("f", "F", ["a"], ["b"], [neg], [helper.make_opsetid("", 18)])
    function.value_info.append(info("b", ["batch"]))
    opsets = [helper.make_opsetid("", 18), helper.make_opsetid("f", 1)]
    return helper.make_model(graph, functions=[function], opset_imports=opsets, ir_version=10)


def loads(message: ModelProto) -> onnxmap.Model:
    return onnxmap.loads(message.SerializeToString())


def shapes(model: ModelProto) -> dict[str, Shape]:
    found = {}
    for value in [*model.graph.input, *model.graph.output, *model.graph.value_info]:
        if value.type.HasField("tensor_type"):
            dims = value.type.tensor_type.shape.dim
            found[value.name] = [
                dim.dim_value if dim.HasField("dim_value") else dim.dim_param or None
                for dim in dims
            ]
    return found


@pytest.mark.parametrize("new", [1, "N", 0])
def test_a_name_is_replaced_everywhere(new: int | str) -> None:
    given = (["batch", 32], ["batch", 32], ["batch", 32])
    model = loads(model_of(*given))
    assert model.set_dims({"batch": new}) == DimReport([], [], [])
    ours = saved(model)
    assert shapes(ours) == {
        "x": [new, 32], "c": [], "other": [new, 32], "z": [new, 32], "i": [new, 32],
        "last": [new, 32], "y": [new, 32], "aside": [new, 32],
    }  # fmt: skip
    sequence = helper.make_tensor_sequence_value_info("s", 1, [new])
    assert ours.graph.value_info[-1] == sequence
    assert ours.functions[0].value_info[0] == info("b", [new])
    branch = ours.graph.node[3].attribute[0].g
    assert branch.output[0].type.tensor_type == info("o", [new, 32]).type.tensor_type
    assert "batch" not in model.graph.dimension_params
    assert errors(model) == set()


def test_as_the_official_tool() -> None:
    """Which wants all inputs and outputs, and leaves the values between them."""
    message = model_of(["batch", 32], ["batch", 32], ["batch", 32])
    new = {"x": [5, 32], "c": [], "other": [5, 32]}
    outputs = {"z": [5, 32], "i": [5, 32], "last": [5, 32]}
    official = update_inputs_outputs_dims(message, new, outputs)
    model = loads(model_of(["batch", 32], ["batch", 32], ["batch", 32]))
    model.set_dims(inputs=new)
    ours = saved(model)
    assert ours.graph.input == official.graph.input
    assert ours.graph.output == official.graph.output


def test_a_number_makes_stored_shapes_stale() -> None:
    model = loads(model_of(["batch", 32], ["batch", 32], ["batch", 32]))
    report = model.set_dims({"batch": 2}, {"x": [2, 64]})
    assert report == DimReport(["y", "b", "b"], ["graph.node[2].input[1]"], [])
    ours = saved(model)
    found = shapes(ours)
    assert found["x"] == [2, 64]
    assert found["z"] == [2, None]
    assert found["i"] == [2, None]
    assert found["last"] == [2, 32]  # does not depend on x
    assert found["aside"] == [2, 32]
    assert "y" not in found
    output = ours.graph.node[3].attribute[0].g.output[0]
    assert not output.type.tensor_type.shape.dim[1].HasField("dim_value")
    model.infer_shapes()
    assert model.graph.value("y").shape == (2, 64)  # type: ignore[union-attr]
    model.revert()
    assert model.graph.inputs["x"].shape == ("batch", 32)


def test_unknown_dimensions_of_inputs() -> None:
    model = loads(model_of([None, 32], [None, 32], [None, 32]))
    assert model.set_dims(inputs={"x": ["N", 32]}) == DimReport([], [], [])
    assert model.graph.inputs["x"].shape == ("N", 32)
    assert model.graph.value("y").shape == (None, 32)  # type: ignore[union-attr]
    assert model.set_dims(inputs={"x": [None, 32]}).value_infos == ["y", "b", "b"]
    assert model.graph.inputs["x"].shape == (None, 32)


def test_names_are_swapped() -> None:
    model = loads(model_of(["a", "b"], ["b", "a"], ["a", "a"]))
    model.set_dims({"a": "b", "b": "a"})
    assert shapes(saved(model))["x"] == ["b", "a"]
    assert shapes(saved(model))["y"] == ["a", "b"]


@pytest.mark.parametrize(
    ("dims", "inputs", "error", "text"),
    [
        ({"nope": 1}, {}, KeyError, "no dimension 'nope'"),
        ({}, {"nope": [1]}, KeyError, "no input 'nope'"),
        ({}, {"x": [1]}, ValueError, "has 2 dimensions, not 1"),
        ({"batch": 2}, {"x": [3, 32]}, ValueError, "'batch' would get two different"),
        ({"batch": 2}, {"x": ["batch", 32]}, ValueError, "'batch' would get two different"),
        ({"batch": -2}, {}, ValueError, "not negative"),
        ({"batch": 1.5}, {}, TypeError, "float"),
        ({1: 2}, {}, TypeError, "str"),
    ],
)
def test_refused(
    dims: dict[Any, Any], inputs: dict[str, Shape], error: type[Exception], text: str
) -> None:
    model = loads(model_of(["batch", 32], ["batch", 32], ["batch", 32]))
    with pytest.raises(error, match=text):
        model.set_dims(dims, inputs)
    assert not model.edited


def test_a_name_that_stays_is_not_replaced_for_another_dimension() -> None:
    model = loads(model_of(["batch", "batch"], ["batch", 32], ["batch", 32]))
    for first in (2, "other"):
        with pytest.raises(ValueError, match="'batch' would get two different"):
            model.set_dims(inputs={"x": [first, "batch"]})
    model.set_dims(inputs={"x": ["batch", "batch"]})
    assert not model.edited


def in_model(nodes: list[Any], inputs: list[Any], outputs: list[Any], **parts: Any) -> Any:
    functions = parts.pop("functions", [])
    graph = helper.make_graph(nodes, "g", inputs, outputs, **parts)
    opsets = [helper.make_opsetid("", 18), helper.make_opsetid("f", 1)]
    message = helper.make_model(graph, functions=functions, opset_imports=opsets, ir_version=9)
    onnx.checker.check_model(message, full_check=True)
    return loads(message)


def test_bodies_of_scans_and_loops_keep_no_old_number() -> None:
    scan = helper.make_graph(
        [helper.make_node("Add", ["s", "t"], ["u"]), helper.make_node("Identity", ["u"], ["o"])],
        "scan", [info("s", [3]), info("t", [3])], [info("u", [3]), info("o", [3])],
    )  # fmt: skip
    loop = helper.make_graph(
        [helper.make_node("Neg", ["v"], ["w"]), helper.make_node("Identity", ["c"], ["d"])],
        "loop",
        [
            helper.make_tensor_value_info("i", 7, []), helper.make_tensor_value_info("c", 9, []),
            info("v", [3]),
        ],
        [helper.make_tensor_value_info("d", 9, []), info("w", [3])],
    )  # fmt: skip
    nodes = [
        helper.make_node("Scan", ["s0", "x"], ["last", "all"], body=scan, num_scan_inputs=1),
        helper.make_node("Loop", ["n", "", "last"], ["y"], body=loop),
    ]
    model = in_model(
        nodes, [info("s0", [3]), info("x", [5, 3])], [info("y", [3]), info("all", [5, 3])],
        initializer=[numpy_helper.from_array(np.array(2), "n")],
    )  # fmt: skip
    model.set_dims(inputs={"s0": [4], "x": [5, 4]})
    ours = saved(model)
    for node in ours.graph.node:
        body = node.attribute[0].g
        for value in [*body.input, *body.output]:
            assert not [d for d in value.type.tensor_type.shape.dim if d.HasField("dim_value")]
    onnx.checker.check_model(ours, full_check=True)
    model.infer_shapes()
    onnx.checker.check_model(saved(model), full_check=True)
    assert model.graph.outputs["all"].shape == (5, 4)


def test_called_functions_keep_no_old_number() -> None:
    def function(name: str, inner: onnx.NodeProto) -> onnx.FunctionProto:
        made = helper.make_function(
            "f", name, ["a"], ["b"], [inner, helper.make_node("Neg", ["t"], ["b"])],
            [helper.make_opsetid("", 18), helper.make_opsetid("f", 1)],
        )  # fmt: skip
        made.value_info.append(info("t", [2]))
        return made

    size = [
        helper.make_node("Constant", [], ["size"], value_ints=[2]),
        helper.make_node("Reshape", ["a", "size"], ["t"]),
    ]
    inside = function("Inner", size[1])
    inside.node.insert(0, size[0])
    outside = function("Outer", helper.make_node("Inner", ["a"], ["t"], domain="f"))
    other = function("Other", helper.make_node("Neg", ["a"], ["t"]))
    nodes = [
        helper.make_node("Outer", ["x"], ["y"], domain="f"),
        helper.make_node("Other", ["z"], ["o"], domain="f"),
    ]
    graph = helper.make_graph(
        nodes, "g", [info("x", [2]), info("z", [2])], [info("y", [2]), info("o", [2])]
    )
    opsets = [helper.make_opsetid("", 18), helper.make_opsetid("f", 1)]
    functions = [inside, other, outside]
    model = loads(
        helper.make_model(graph, functions=functions, opset_imports=opsets, ir_version=10)
    )
    report = model.set_dims(inputs={"x": [7]})
    assert report == DimReport(["t", "t"], ["functions[0].node[1].input[1]"], [])
    assert [len(f.value_info) for f in saved(model).functions] == [0, 1, 0]


def test_a_default_has_another_shape() -> None:
    x, y = info("x", [2, "N"]), info("y", [2, "N"])
    default = numpy_helper.from_array(np.zeros((2, 5), np.float32), "x")
    neg = helper.make_node("Neg", ["x"], ["y"])
    for dims, inputs, text in (
        ({}, {"x": [7, "N"]}, "'x' has a default of 2 in dimension 0, not 7"),
        ({"N": 6}, {}, "a default of 5 in dimension 1, not 6"),
        ({}, {"x": [2, 6]}, "a default of 5 in dimension 1, not 6"),
    ):
        model = loads(helper.make_model(helper.make_graph([neg], "g", [x], [y], [default])))
        with pytest.raises(ValueError, match=text):
            model.set_dims(dims, inputs)
        assert not model.edited
        model.set_dims(inputs={"x": ["B", 5]})


def constant(kind: str) -> dict[str, Any]:
    if kind in ("int32", "int64"):
        return {"initializer": [numpy_helper.from_array(np.array([2], kind), "s")]}
    if kind in ("int32_data", "int64_data"):
        types = {"int32_data": TensorProto.INT32, "int64_data": TensorProto.INT64}
        return {"initializer": [helper.make_tensor("s", types[kind], [1], [2])]}
    if kind == "ints":
        return {"node": helper.make_node("Constant", [], ["s"], value_ints=[2])}
    tensor = numpy_helper.from_array(np.array([2]), "")
    return {"node": helper.make_node("Constant", [], ["s"], value=tensor, domain="ai.onnx")}


@pytest.mark.parametrize("kind", ["int64", "int32", "int64_data", "int32_data", "ints", "tensor"])
@pytest.mark.parametrize(
    ("op_type", "inputs", "place"),
    [
        ("Reshape", ["x", "s"], 1), ("Slice", ["x", "q", "s"], 2), ("Slice", ["x", "s", "q"], 1),
        ("Split", ["x", "s"], 1), ("Pad", ["x", "s"], 1),
    ],
)  # fmt: skip
def test_constants_that_are_sizes(kind: str, op_type: str, inputs: list[str], place: int) -> None:
    given = constant(kind)
    before = [given["node"]] if "node" in given else []
    node = helper.make_node(op_type, inputs, ["y"], domain="ai.onnx")
    inner = helper.make_graph(
        [helper.make_node(op_type, inputs, ["t"])], "inner", [], [info("t", [None])]
    )
    hidden = helper.make_graph(
        [helper.make_node("Neg", ["x"], ["s"]), helper.make_node(op_type, inputs, ["t"])],
        "hidden", [], [info("t", [None])],
    )  # fmt: skip
    branch = helper.make_node("If", ["c"], ["z"], then_branch=inner, else_branch=hidden)
    flag = helper.make_tensor_value_info("c", 9, [])
    graph = helper.make_graph(
        [*before, node, branch], "g", [info("x", [2]), flag, info("q", [1])],
        [info("y", [None]), info("z", [None])], given.get("initializer", []),
    )  # fmt: skip
    at = len(before)
    assert loads(helper.make_model(graph)).set_dims(inputs={"x": [7]}).constants == [
        f"graph.node[{at}].input[{place}]",
        f'graph.node[{at + 1}].attribute["then_branch"].g.node[0].input[{place}]',
    ]


@pytest.mark.parametrize("count", [1, 100])
def test_a_size_with_another_number_of_values(count: int) -> None:
    size = TensorProto(name="s", data_type=TensorProto.INT64, dims=[count], int64_data=[2, 2])
    nodes = [helper.make_node("Reshape", ["x", "s"], ["y"])]
    graph = helper.make_graph(nodes, "g", [info("x", [2])], [info("y", [None])], [size])
    assert loads(helper.make_model(graph)).set_dims(inputs={"x": [7]}).constants == []


def test_very_many_inputs() -> None:
    def prepare(many: int) -> tuple[bytes, Work]:
        nodes = [helper.make_node("Neg", [f"x{i}"], [f"y{i}"]) for i in range(many)]
        values = [info(f"x{i}", [2]) for i in range(many)]
        graph = helper.make_graph(nodes, "g", values, [info("y0", [2])])
        data = helper.make_model(graph).SerializeToString()

        def work() -> None:
            model = onnxmap.loads(data)
            model.set_dims(inputs={f"x{i}": [3] for i in range(many)})
            assert model.graph.inputs[-1].shape == (3,)

        return data, work

    assert not too_steep(prepare, (100, 1_000))


@pytest.mark.parametrize(
    ("dims", "inputs", "error", "text"),
    [
        (["a"], {}, TypeError, "dims is a mapping with names as keys, not list"),
        ({}, [("x", [1])], TypeError, "inputs is a mapping"),
        ({"N": ""}, {}, ValueError, "a dimension needs a name, a number or None"),
        ({}, {"x": "ab"}, TypeError, "a shape is a sequence of dimensions, not str"),
        ({"\udcff": 1}, {}, KeyError, r"no dimension '\\xff'"),
        ({}, {"\udcff": [1]}, KeyError, r"no input '\\xff'"),
    ],
)
def test_wrong_arguments(dims: Any, inputs: Any, error: type[Exception], text: str) -> None:
    model = loads(model_of(["batch", 32], ["batch", 32], ["batch", 32]))
    with pytest.raises(error, match=text):
        model.set_dims(dims, inputs)
    assert not model.edited


def test_functions_that_call_very_many_others() -> None:
    """They are found while others are read."""
    names = [f"F{i}" for i in range(200)]
    opsets = [helper.make_opsetid("", 18), helper.make_opsetid("f", 1)]
    functions = []
    for i, name in enumerate(names):
        called = {2 * i + 1, 2 * i + 2} & set(range(len(names)))
        nodes = [helper.make_node(names[j], ["a"], [f"n{j}"], domain="f") for j in called]
        nodes.append(helper.make_node("Neg", ["a"], ["b"]))
        functions.append(helper.make_function("f", name, ["a"], ["b"], nodes, opsets))
        functions[-1].value_info.append(info(f"n{i}", [2]))
    call = helper.make_node("F0", ["x"], ["y"], domain="f")
    graph = helper.make_graph([call], "g", [info("x", [2])], [info("y", [2])])
    model = loads(
        helper.make_model(graph, functions=functions, opset_imports=opsets, ir_version=10)
    )
    assert len(model.set_dims(inputs={"x": [7]}).value_infos) == len(names)
    assert not any(function.value_info for function in saved(model).functions)


def test_many_defaults_of_many_dimensions() -> None:
    def prepare(many: int) -> tuple[bytes, Work]:
        graph = helper.make_graph([], "g", [info("x", [None] * many)], [])
        empty = onnx.SparseTensorProto(values=TensorProto(name="x", data_type=1))
        graph.sparse_initializer.extend([empty] * many)
        data = helper.make_model(graph).SerializeToString()
        return data, lambda: onnxmap.loads(data).set_dims(inputs={"x": [3] * many})

    assert not too_steep(prepare, (100, 1_000))


def test_an_empty_name_is_no_name() -> None:
    graph = helper.make_graph([], "g", [info("x", [None, "N"])], [info("y", [None])])
    model = loads(helper.make_model(graph))
    with pytest.raises(onnxmap.UnknownNameError, match="no dimension ''"):
        model.set_dims({"": 5})
    assert not model.edited


@pytest.mark.parametrize(("size", "dims", "inputs"), [("N", {"N": 5}, None), (3, None, {"x": [5]})])
def test_a_sparse_default_has_another_shape(size: Any, dims: Any, inputs: Any) -> None:
    values = numpy_helper.from_array(np.ones(1, np.float32), "x")
    places = numpy_helper.from_array(np.array([1]), "")
    nodes = [helper.make_node("Abs", ["x"], ["y"])]
    graph = helper.make_graph(nodes, "g", [info("x", [size])], [info("y", [size])])
    graph.sparse_initializer.append(helper.make_sparse_tensor(values, places, [3]))
    model = loads(helper.make_model(graph))
    with pytest.raises(ValueError, match="'x' has a default of 3 in dimension 0, not 5"):
        model.set_dims(dims, inputs)
    assert not model.edited
    model.set_dims(inputs={"x": [3]})


@pytest.mark.parametrize("used", ["t", "w"])
def test_training_keeps_no_old_number_of_what_it_uses(used: str) -> None:
    nodes = [helper.make_node("Abs", ["x"], ["t"]), helper.make_node("Abs", ["v"], ["w"])]
    inputs, outputs = [info("x", [3]), info("v", [3])], [info("t", [3]), info("w", [3])]
    message = helper.make_model(helper.make_graph(nodes, "g", inputs, outputs))
    steps = [helper.make_node("Abs", [used], ["u"]), helper.make_node("Neg", ["u"], ["o"])]
    message.training_info.add().algorithm.CopyFrom(
        helper.make_graph(steps, "a", [], [info("o", [3])], value_info=[info("u", [3])])
    )
    model = loads(message)
    is_stale = used == "t"
    assert model.set_dims(inputs={"x": [5]}).value_infos == ["u"] * is_stale
    algorithm = saved(model).training_info[0].algorithm
    assert len(algorithm.value_info) == 1 - is_stale
    size = algorithm.output[0].type.tensor_type.shape.dim[0]
    assert size.HasField("dim_value") != is_stale
