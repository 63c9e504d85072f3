"""`prune`, `sort`, `dedupe`, `strip` and `lift_constants` beside onnx_ir's passes."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import onnx_ir as ir
import pytest
from google.protobuf.message import Message
from onnx import AttributeProto, GraphProto, ModelProto, TensorProto, helper, numpy_helper
from onnx_ir.passes import common
from support.edits.models import EDIT_MODELS
from support.edits.rich_model import saved
from support.models.node_cases import node_cases
from support.processes.work import Work, too_steep
from support.run_options import EXHAUSTIVE
from support.surgery.models import floats
from support.surgery.random_models import random_model, shuffled

import onnxmap
from onnxmap import PruneReport

SEEDS = range(100 if EXHAUSTIVE else 6)


def loads(message: ModelProto) -> onnxmap.Model:
    return onnxmap.loads(message.SerializeToString())


def models() -> list[ModelProto]:
    return [*(random_model(seed) for seed in SEEDS), *list(node_cases().values())[::12]]


def graphs_of(message: Any) -> list[GraphProto]:
    """The graphs below a message, those in functions included."""
    found = [message] if isinstance(message, GraphProto) else []
    for field, value in message.ListFields():
        if field.message_type and field.message_type.name in _HOLDERS:
            for each in value if field.is_repeated else [value]:
                found += graphs_of(each)
    return found


_HOLDERS = ("GraphProto", "NodeProto", "AttributeProto", "FunctionProto", "TrainingInfoProto")


def nodes_of(message: Any) -> list[Any]:
    """What onnx_ir's pass and ours agree on: it also removes unused optional outputs."""
    return [
        (node.op_type, node.name, [name for name in node.input if name], node.output[0])
        for body in [*graphs_of(message), *message.functions]
        for node in body.node
    ]


def pruned_by_onnx_ir(message: ModelProto) -> ModelProto:
    """Again and again: it still counts the uses in subgraphs of nodes that it removed."""
    while True:
        theirs = ir.from_proto(message)
        for made in (
            common.RemoveUnusedNodesPass, common.RemoveUnusedFunctionsPass,
            common.RemoveUnusedOpsetsPass,
        ):  # fmt: skip
            made()(theirs)
        after = ir.to_proto(theirs)
        if nodes_of(after) == nodes_of(message):
            return after
        message = after


def test_unused_parts_go_as_with_onnx_ir() -> None:
    """It looks for unused initializers only in the main graph, and leaves value infos to itself."""
    removed = 0
    for original in models():
        expected = pruned_by_onnx_ir(original)
        model = loads(original)
        report = model.prune()
        ours = saved(model)
        assert nodes_of(ours) == nodes_of(expected)
        parameters = {
            entry.value
            for note in ours.graph.quantization_annotation
            for entry in note.quant_parameter_tensor_names
        }  # which onnx_ir does not count
        kept = {t.name for t in expected.graph.initializer}
        assert kept <= {t.name for t in ours.graph.initializer} <= kept | parameters
        assert [f.name for f in ours.functions] == [f.name for f in expected.functions]
        assert {o.domain for o in ours.opset_import} | {""} == {
            o.domain for o in expected.opset_import
        } | {""}
        removed += len(report.nodes)
        assert model.prune() == PruneReport([], [], [], [], [])  # nothing is left to remove
    assert removed > 10


def test_the_report_says_what_went() -> None:
    body = helper.make_graph(
        [helper.make_node("Neg", ["k"], ["kept"]), helper.make_node("Neg", ["d"], ["gone"])],
        "b", [], [helper.make_tensor_value_info("kept", 1, [2])],
        [numpy_helper.from_array(np.zeros(2, np.float32), "inner")],
    )  # fmt: skip
    nodes = [
        helper.make_node("Neg", ["x"], ["k"]), helper.make_node("Neg", ["x"], ["d"]),
        helper.make_node("If", ["c"], ["y"], then_branch=body, else_branch=body),
    ]  # fmt: skip
    values = [helper.make_tensor_value_info(name, 1, [2]) for name in ("x", "y", "d", "unknown")]
    graph = helper.make_graph(
        nodes, "g", [values[0], helper.make_tensor_value_info("c", 9, [])], [values[1]],
        [numpy_helper.from_array(np.zeros(2, np.float32), name) for name in ("w", "x")],
        value_info=values[2:],
    )  # fmt: skip
    graph.quantization_annotation.add(tensor_name="d")
    function = helper.make_function("f", "F", ["a"], ["a"], [], [])
    function.overload = "o"
    opsets = [helper.make_opsetid("", 21), helper.make_opsetid("f", 1)]
    message = helper.make_model(graph, functions=[function], opset_imports=opsets)
    model = loads(message)
    branch = 'graph.node[2].attribute["{}_branch"].g.node[1]'
    assert model.prune() == PruneReport(
        nodes=[branch.format("else"), branch.format("then"), "graph.node[1]"],
        initializers=["inner", "inner", "w"],
        value_infos=["d", "unknown"],
        functions=["f::F:o"],
        opset_imports=["f"],
    )
    assert not saved(model).graph.quantization_annotation
    assert list(model.initializers) == ["x"]  # the default of an input


def test_what_training_needs_stays() -> None:
    nodes = [helper.make_node("Neg", [f"w{i}"], [f"v{i}"]) for i in range(4)]
    tensors = [numpy_helper.from_array(np.zeros(2, np.float32), f"w{i}") for i in range(5)]
    graph = helper.make_graph(nodes, "g", [], [], tensors)
    message = helper.make_model(graph)
    algorithm = helper.make_graph(
        [helper.make_node("Neg", ["v0"], ["new"]), helper.make_node("Neg", ["v3"], ["dead"])],
        "a", [], [],
    )  # fmt: skip
    training = message.training_info.add()
    training.algorithm.CopyFrom(algorithm)
    training.update_binding.add(key="w4", value="new")
    training.update_binding.add(key="w1", value="v1")
    model = loads(message)
    report = model.prune()
    assert report.nodes == ["graph.node[2]", "graph.node[3]", "training_info[0].algorithm.node[1]"]
    assert list(model.initializers) == ["w0", "w1", "w4"]


def test_nodes_are_sorted_as_by_onnx_ir() -> None:
    for seed in SEEDS:
        original = random_model(seed)
        mixed = shuffled(original, seed)
        theirs = ir.from_proto(mixed)
        common.TopologicalSortPass()(theirs)
        model = loads(mixed)
        model.sort()
        ours = saved(model)
        seen = {tensor.name for tensor in ours.graph.initializer} | {"x", "c"}
        for node in ours.graph.node:
            assert seen >= set(node.input)
            seen |= set(node.output)
        names = sorted(node.name for node in ours.graph.node)
        assert names == sorted(node.name for node in ir.to_proto(theirs).graph.node)
        assert model.check().ok
        sorted_already = onnxmap.dumps(model)
        model.sort()
        assert onnxmap.dumps(model) == sorted_already


def test_subgraphs_and_functions_are_sorted() -> None:
    pair = [helper.make_node("Neg", ["a"], ["b"]), helper.make_node("Neg", ["i"], ["a"])]
    inner = helper.make_graph(pair, "inner", [], [])
    holder = helper.make_node("Op", ["z"], ["y"], name="holder", domain="d")
    holder.attribute.append(
        AttributeProto(name="gs", type=AttributeProto.GRAPHS, graphs=[inner, inner])
    )
    graph = helper.make_graph([holder, helper.make_node("Neg", ["i"], ["z"])], "g", [], [])
    function = helper.make_function("f", "F", ["i"], ["b"], pair, [])
    model = loads(helper.make_model(graph, functions=[function]))
    model.sort()
    ours = saved(model)
    bodies = [ours.graph.node[1].attribute[0].graphs[1], ours.functions[0]]
    assert [node.output[0] for body in bodies for node in body.node] == ["a", "b"] * 2


def test_a_cycle_is_an_error_that_names_it() -> None:
    loop = [helper.make_node("Neg", ["a"], ["b"]), helper.make_node("Neg", ["b"], ["a"])]
    branch = helper.make_graph(loop, "b", [], [])
    nodes = [
        helper.make_node("Neg", ["p"], ["q"]), helper.make_node("Neg", ["x"], ["p"]),
        helper.make_node("If", ["c"], ["y"], then_branch=branch),
    ]  # fmt: skip
    model = loads(helper.make_model(helper.make_graph(nodes, "g", [], [])))
    place = r'graph\.node\[2\]\.attribute\["then_branch"\]\.g\.node\[[01]\]'
    with pytest.raises(onnxmap.ParseError, match=f"{place} depends on its own") as caught:
        model.sort()
    assert caught.value.code == "model.cycle"
    assert caught.value.path in str(caught.value)
    assert not model.edited  # the graph around it was sorted neither


def test_a_value_that_two_nodes_make() -> None:
    nodes = [helper.make_node("Neg", ["x"], ["y"]) for _ in range(2)]
    model = loads(helper.make_model(helper.make_graph(nodes, "g", [], [])))
    for edit in (model.sort, model.prune):
        with pytest.raises(onnxmap.ParseError, match="'y'"):
            edit()
    assert not model.edited


def test_equal_initializers_are_one_as_with_onnx_ir() -> None:
    merged = 0
    for original in models():
        theirs = ir.from_proto(original)
        common.DeduplicateInitializersPass(size_limit=1 << 30)(theirs)
        model = loads(original)
        names = model.dedupe()
        merged += len(names)
        ours, expected = saved(model), ir.to_proto(theirs)
        assert nodes_of(ours) == nodes_of(expected)
        kept = {t.name for t in expected.graph.initializer}
        annotated = {note.tensor_name for note in original.graph.quantization_annotation}
        assert {t.name for t in ours.graph.initializer} - kept <= annotated
    assert merged > 10


def test_equal_means_the_same_bits_in_any_form() -> None:
    zeros = np.zeros(2000, np.float32)
    tensors = [
        numpy_helper.from_array(zeros, "raw"),
        TensorProto(name="typed", dims=[2000], data_type=1, float_data=zeros.tolist()),
        numpy_helper.from_array(-zeros, "minus"),
        numpy_helper.from_array(zeros.view(np.int32), "ints"),
        numpy_helper.from_array(zeros.reshape(2, -1), "reshaped"),
        numpy_helper.from_array(zeros, "output"),
        numpy_helper.from_array(zeros, "again"),
    ]
    node = helper.make_node("Sum", [tensor.name for tensor in tensors], ["y"])
    graph = helper.make_graph(
        [node], "g", [], [helper.make_tensor_value_info("output", 1, [2000])], tensors
    )
    model = loads(helper.make_model(graph))
    assert model.dedupe() == [("typed", "raw"), ("again", "raw")]
    assert list(model.graph.nodes[0].inputs) == [
        "raw", "raw", "minus", "ints", "reshaped", "output", "raw",
    ]  # fmt: skip
    assert list(model.initializers) == ["raw", "minus", "ints", "reshaped", "output"]


def branches_of(then: onnx.GraphProto, other: onnx.GraphProto) -> list[onnx.NodeProto]:
    return [helper.make_node("If", ["c"], ["y"], then_branch=then, else_branch=other)]


def test_pairs_of_all_graphs_are_told() -> None:
    ones = [numpy_helper.from_array(np.ones(2, np.float32), name) for name in "pqr"]
    p, q, r = ones
    then = helper.make_graph([helper.make_node("Add", ["p", "q"], ["t"])], "t", [], [], [p, q])
    other = helper.make_graph([helper.make_node("Add", ["r", "q"], ["e"])], "e", [], [], [r, q])
    model = loads(helper.make_model(helper.make_graph(branches_of(then, other), "g", [], [])))
    assert sorted(model.dedupe()) == [("q", "p"), ("q", "r")]


def test_a_node_with_very_many_equal_initializers() -> None:
    def prepare(many: int) -> tuple[bytes, Work]:
        names = [f"w{i}" for i in range(many)]
        one = np.ones(1, np.float32)
        tensors = [numpy_helper.from_array(one, name) for name in names]
        node = helper.make_node("Concat", names, ["y"], axis=0)
        graph = helper.make_graph([node], "g", [], [], tensors)
        data = helper.make_model(graph).SerializeToString()

        def work() -> None:
            model = onnxmap.loads(data)
            assert len(model.dedupe()) == many - 1
            assert set(model.graph.nodes[0].inputs) == {"w0"}

        return data, work

    assert not too_steep(prepare, (100, 1_000))


def without(message: Any, fields: set[str]) -> Any:
    for field, value in message.ListFields():
        if field.name in fields:
            message.ClearField(field.name)
        elif field.message_type:
            for each in value if field.is_repeated else [value]:
                without(each, fields)
    return message


@pytest.mark.parametrize(
    ("options", "fields"),
    [
        ({}, {"doc_string"}),
        ({"doc_strings": False, "metadata": True}, {"metadata_props"}),
        ({"value_infos": True}, {"doc_string", "value_info"}),
        ({"doc_strings": False}, set()),
    ],
)
def test_words_go_from_every_message(options: dict[str, bool], fields: set[str]) -> None:
    for data in (*list(EDIT_MODELS.values())[::5], random_model(1).SerializeToString()):
        model = onnxmap.loads(data)
        model.strip(**options)
        assert saved(model) == without(ModelProto.FromString(data), fields)


def test_constants_are_lifted_as_by_onnx_ir() -> None:
    lifted = 0
    for original in models():
        theirs = ir.from_proto(original)
        common.LiftConstantsToInitializersPass(lift_all_constants=True, size_limit=0)(theirs)
        model = loads(original)
        lifted += len(model.lift_constants())
        ours, expected = saved(model), ir.to_proto(theirs)
        assert nodes_of(ours) == nodes_of(expected)
        for a, b in zip(graphs_of(ours.graph), graphs_of(expected.graph), strict=True):
            assert {t.name: numpy_helper.to_array(t).tobytes() for t in a.initializer} == {
                t.name: numpy_helper.to_array(t).tobytes() for t in b.initializer
            }
    assert lifted > 5


def test_constants_that_stay() -> None:
    eight = numpy_helper.from_array(np.zeros(2, np.float32), "own name")
    nodes = [
        helper.make_node("Constant", [], ["a"], value=eight),
        helper.make_node("Constant", [], ["output"], value=eight),
        helper.make_node("Constant", [], ["text"], value_string="s"),
        helper.make_node("Constant", [], ["other"], value=eight, domain="d"),
    ]
    graph = helper.make_graph(
        nodes, "g", [], [helper.make_tensor_value_info("output", 1, [2])],
    )  # fmt: skip
    message = helper.make_model(graph)
    model = loads(message)
    assert model.lift_constants(9) == []
    assert not model.edited
    assert model.lift_constants(8) == ["a"]
    assert model.initializers["a"].numpy().tolist() == [0, 0]
    assert [node.outputs[0] for node in model.graph.nodes] == ["output", "text", "other"]
    message.ir_version = 3
    early = loads(message)
    with pytest.raises(ValueError, match="IR version 3"):
        early.lift_constants()


def test_numbers_of_constants_are_lifted() -> None:
    """They have the types that the operator gives them."""
    values: dict[str, Any] = {
        "value_float": 1.5, "value_floats": [1.0, -2.5], "value_int": -7, "value_ints": [2**40, -1],
    }  # fmt: skip
    nodes = [helper.make_node("Constant", [], [name], **{name: values[name]}) for name in values]
    nodes.append(helper.make_node("Constant", [], ["zero"], value_float=0.0))
    nodes[-1].attribute[0].ClearField("f")  # the default
    inner = helper.make_graph(nodes, "g", [], [])
    model = loads(helper.make_model(helper.make_graph(branches_of(inner, inner), "g", [], [])))
    before = saved(model)
    assert model.lift_constants(9) == ["value_ints", "value_ints"]
    model.revert()
    assert saved(model) == before
    model.lift_constants()
    for each in list(graphs_of(saved(model).graph))[1:]:
        found = {tensor.name: numpy_helper.to_array(tensor) for tensor in each.initializer}
        assert {str(array.dtype) for array in found.values()} == {"float32", "int64"}
        assert found.pop("zero").shape == ()
        assert {name: array.tolist() for name, array in found.items()} == values
        assert not each.node


def test_a_constant_whose_name_a_subgraph_has_stays() -> None:
    """An initializer is seen by all subgraphs, a Constant by those behind it."""
    two = numpy_helper.from_array(np.zeros(2, np.float32), "")
    value = helper.make_tensor_value_info("k", 1, [2])
    inner = helper.make_graph([helper.make_node("Neg", ["x"], ["k"])], "g", [], [value])
    nodes = [
        *branches_of(inner, inner),
        helper.make_node("Constant", [], ["k"], value=two),
        helper.make_node("Constant", [], ["other"], value=two),
    ]
    model = loads(helper.make_model(helper.make_graph(nodes, "g", [], [])))
    assert model.lift_constants() == ["other"]


def test_constants_in_functions() -> None:
    """A function has no initializers, its subgraphs have."""
    two = numpy_helper.from_array(np.zeros(2, np.float32), "")
    inner = helper.make_graph([helper.make_node("Constant", [], ["k"], value=two)], "g", [], [])
    nodes = [*branches_of(inner, inner), helper.make_node("Constant", [], ["own"], value=two)]
    opset = helper.make_opsetid("", 18)
    function = helper.make_function("f", "F", ["c"], ["y", "own"], nodes, [opset])
    graph = helper.make_graph([], "g", [], [])
    model = loads(helper.make_model(graph, functions=[function]))
    assert model.lift_constants() == ["k", "k"]
    assert [node.op_type for node in model.functions[0].nodes] == ["If", "Constant"]


@pytest.mark.parametrize(
    ("given", "error", "text"),
    [
        (-1, ValueError, "min_bytes is a number of bytes, 0 or more"),
        (1.5, TypeError, "'float' object cannot be interpreted as an integer"),
        (2**64, ValueError, "cannot fit"),
    ],
)
def test_wrong_sizes_of_constants(given: Any, error: type[Exception], text: str) -> None:
    model = loads(helper.make_model(helper.make_graph([], "g", [], [])))
    with pytest.raises(error, match=text):
        model.lift_constants(given)


def test_deep_subgraphs() -> None:
    graph: Message = helper.make_graph([helper.make_node("Neg", ["x"], ["y"])], "g", [], [])
    for _ in range(20):
        node = helper.make_node("If", ["c"], ["y"], then_branch=graph)
        graph = helper.make_graph([node], "g", [], [])
    model = loads(helper.make_model(graph))
    assert model.prune().nodes == ["graph.node[0]"]
    model.revert()
    model.sort()
    model.strip()
    assert onnx.load_from_string(onnxmap.dumps(model)).graph.node


@pytest.mark.parametrize("annotated", ["a", "b"])
def test_tensors_that_a_subgraph_annotates_are_no_duplicates(annotated: str) -> None:
    def branch(output: str) -> onnx.GraphProto:
        return helper.make_graph(
            [helper.make_node("Add", ["a", "b"], [output])], output, [], floats(output)
        )

    graph = helper.make_graph(
        [helper.make_node("If", ["c"], ["y"], then_branch=branch("t"), else_branch=branch("e"))],
        "g", [helper.make_tensor_value_info("c", TensorProto.BOOL, [])], floats("y"),
        [numpy_helper.from_array(np.ones(2, np.float32), name) for name in ("a", "b", "d")],
    )  # fmt: skip
    note = graph.node[0].attribute[0].g.quantization_annotation.add(tensor_name=annotated)
    note.quant_parameter_tensor_names.add(key="SCALE_TENSOR", value="d")
    model = loads(helper.make_model(graph))
    before = saved(model)
    assert model.dedupe() == [("d", "b" if annotated == "a" else "a")]
    after = saved(model)
    for mine, theirs in zip(
        after.graph.node[0].attribute, before.graph.node[0].attribute, strict=True
    ):
        assert mine.g.node == theirs.g.node
    notes = after.graph.node[0].attribute[0].g.quantization_annotation
    assert [each.tensor_name for each in notes] == [annotated]
