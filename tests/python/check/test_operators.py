"""The signatures of operators that `check()` knows, against the schemas of the package onnx."""

from __future__ import annotations

import random
from collections import Counter
from typing import Any

import onnx
import pytest
from onnx import AttributeProto, GraphProto, NodeProto, TensorProto, defs, helper
from support.run_options import EXHAUSTIVE

import onnxmap

NODES = 40 if EXHAUSTIVE else 8  # of each schema
DOMAINS = sorted({schema.domain for schema in defs.get_all_schemas_with_history()})
# onnx describes these operators; the checker of nodes does not look at their subgraphs here.
VALUES: dict[Any, Any] = {
    AttributeProto.FLOAT: 1.5, AttributeProto.INT: 1, AttributeProto.STRING: "a",
    AttributeProto.TENSOR: TensorProto(data_type=1, dims=[1], float_data=[1]),
    AttributeProto.GRAPH: GraphProto(name="g"), AttributeProto.FLOATS: [1.5],
    AttributeProto.INTS: [1], AttributeProto.STRINGS: ["a"],
    AttributeProto.TYPE_PROTO: helper.make_tensor_type_proto(1, None),
    AttributeProto.SPARSE_TENSOR: None,
}  # fmt: skip


def attribute(name: str, kind: int) -> AttributeProto:
    value = VALUES[kind]
    if value is not None:
        return helper.make_attribute(name, value, attr_type=kind)
    values = TensorProto(data_type=1, dims=[1], float_data=[1])
    indices = TensorProto(data_type=7, dims=[1], int64_data=[0])
    return helper.make_attribute(name, helper.make_sparse_tensor(values, indices, [3]))


def names(rng: random.Random, parameters: Any, least: int, most: int, letter: str) -> list[str]:
    """Names for some parameters, mostly as many as there may be."""
    count = rng.randint(least, max(least, min(most, len(parameters) + 2)))
    if rng.random() < 0.2:
        count = rng.choice([max(least - 1, 0), min(most, len(parameters)) + 1, 0])
    return ["" if rng.random() < 0.1 else f"{letter}{i}" for i in range(count)]


def node_of(schema: defs.OpSchema, rng: random.Random) -> NodeProto:
    """A node of an operator that nearly fits its schema, or fits."""
    node = NodeProto(op_type=schema.name, domain=schema.domain)
    node.input.extend(names(rng, schema.inputs, schema.min_input, schema.max_input, "i"))
    node.output.extend(names(rng, schema.outputs, schema.min_output, schema.max_output, "o"))
    kinds = [kind for kind in VALUES if kind != AttributeProto.SPARSE_TENSOR]
    for name, one in schema.attributes.items():
        if rng.random() < (0.95 if one.required else 0.3):
            kind = int(one.type) if rng.random() < 0.9 else rng.choice(kinds)
            node.attribute.append(attribute(name, kind))
    if rng.random() < 0.1:
        node.attribute.append(attribute(rng.choice(["unknown", "__own", "axis"]), 2))
    return node


def is_accepted_by_onnx(node: NodeProto, version: int) -> bool:
    context = onnx.checker.C.CheckerContext()
    context.ir_version = 10
    context.opset_imports = {node.domain: version}
    try:
        onnx.checker.check_node(node, context)
    except onnx.checker.ValidationError:
        return False
    return True


def rules_broken_by(node: NodeProto, version: int) -> set[str]:
    """The rules of signatures that a node breaks, in a model that has its inputs."""
    model = onnx.ModelProto(ir_version=10)
    model.opset_import.add(domain=node.domain, version=version)
    model.graph.name = "g"
    model.graph.node.append(node)
    for name in filter(None, node.input):
        model.graph.input.add(name=name)
    report = onnxmap.loads(model.SerializeToString()).check(
        select="operator.*", ignore=["operator.type", "operator.body", "operator.attribute_value"]
    )
    return {each.rule for each in report}


@pytest.mark.parametrize("domain", DOMAINS)
def test_a_node_fits_if_onnx_says_so(domain: str) -> None:
    seen: Counter[str] = Counter()
    for schema in defs.get_all_schemas_with_history():
        if schema.domain != domain:
            continue
        rng = random.Random(f"{schema.name} {schema.since_version}")
        for _ in range(NODES):
            node = node_of(schema, rng)
            if len({each.name for each in node.attribute}) < len(node.attribute):
                continue  # the rule node.attribute_repeated
            if not any(node.output):
                continue  # the rule node.outputs
            broken = rules_broken_by(node, schema.since_version)
            accepted = is_accepted_by_onnx(node, schema.since_version)
            assert (not broken) == accepted, (broken, node, schema.since_version)
            seen.update(broken or {"fits"})
    assert seen["fits"] > 0
    if domain == "":
        assert {f"operator.{kind}" for kind in (
            "inputs", "outputs", "attribute_unknown", "attribute_missing", "attribute_type",
            "deprecated",
        )} <= set(seen)  # fmt: skip


def test_every_operator_is_unknown_before_its_first_version() -> None:
    first: dict[tuple[str, str], int] = {}
    for schema in defs.get_all_schemas_with_history():
        key = schema.domain, schema.name
        first[key] = min(schema.since_version, first.get(key, 1000))
    tried = 0
    for (domain, name), version in first.items():
        if version > 1:
            node = NodeProto(op_type=name, domain=domain, input=["x"], output=["y"])
            assert rules_broken_by(node, version - 1) == {"operator.unknown"}, name
            tried += 1
    assert tried > 50


def test_experimental_operators_of_old_models_are_not_judged() -> None:
    """They were never in a version of the default domain, and onnx.checker accepts them."""
    for name in ("ATen", "Crop", "ImageScaler", "ScaledTanh"):
        node = NodeProto(op_type=name, input=["x", "y", "z"], output=["a"])
        assert is_accepted_by_onnx(node, 7)
        assert rules_broken_by(node, 7) == set()


def typed_model(op_type: str, kinds: list[int], **attributes: Any) -> onnxmap.Model:
    """A node with an input of each element type."""
    infos = [
        helper.make_value_info(f"i{i}", helper.make_tensor_type_proto(kind, None))
        for i, kind in enumerate(kinds)
    ]
    node = helper.make_node(op_type, [info.name for info in infos], ["y"], **attributes)
    model = helper.make_model(
        helper.make_graph([node], "g", infos, [onnx.ValueInfoProto(name="y")]),
        opset_imports=[helper.make_opsetid("", 21)],
    )
    return onnxmap.loads(model.SerializeToString())


TYPED = [
    ("Add", 2), ("Conv", 2), ("Gemm", 3), ("Where", 3), ("Gather", 2), ("Concat", 3),
    ("Cast", 1), ("Resize", 3), ("QuantizeLinear", 3), ("LayerNormalization", 2), ("Clip", 3),
    ("Pow", 2), ("Mod", 2), ("ScatterND", 3), ("OneHot", 3), ("Loop", 3), ("SequenceInsert", 2),
]  # fmt: skip


@pytest.mark.parametrize(("op_type", "count"), TYPED, ids=[name for name, _ in TYPED])
def test_types_of_inputs(op_type: str, count: int) -> None:
    """Of all combinations of some types: those that the schema has are good, all others are not."""
    schema = defs.get_schema(op_type, 21)
    kinds = [1, 7, 9, 10, 11, 16]
    texts = {kind: f"tensor({TensorProto.DataType.Name(kind).lower()})" for kind in kinds}
    allowed = {one.type_param_str: set(one.allowed_type_strs) for one in schema.type_constraints}
    rng = random.Random(op_type)
    good = 0
    for _ in range(60):
        drawn = [rng.choice(kinds)] * count if rng.random() < 0.4 else rng.choices(kinds, k=count)
        bound: dict[str, int] = {}
        fits = True
        for i, kind in enumerate(drawn):
            parameter = schema.inputs[min(i, len(schema.inputs) - 1)]
            fits &= texts[kind] in allowed.get(parameter.type_str, {parameter.type_str})
            if parameter.is_homogeneous:
                fits &= bound.setdefault(parameter.type_str, kind) == kind
        found = typed_model(op_type, drawn).check(select="operator.type")
        assert (not found) == fits, (drawn, str(found))
        good += fits
    assert good > 0 or op_type in ("SequenceInsert", "QuantizeLinear", "OneHot", "Resize")


def test_types_go_forward_through_the_graph() -> None:
    nodes = [
        helper.make_node("Relu", ["x"], ["a"]),
        helper.make_node("Cast", ["a"], ["b"], to=TensorProto.FLOAT16),
        helper.make_node("Abs", ["b"], ["c"]),
        helper.make_node("Shape", ["c"], ["s"]),
        helper.make_node("Constant", [], ["k"], value_floats=[1.0]),
        helper.make_node("Add", ["c", "k"], ["d"]),
        helper.make_node("Sqrt", ["s"], ["e"]),
        helper.make_node("SplitToSequence", ["c"], ["q"]),
        helper.make_node("SequenceAt", ["q", "s"], ["f"]),
    ]
    info = helper.make_tensor_value_info("x", TensorProto.FLOAT, [None])
    graph = helper.make_graph(nodes, "g", [info], [])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)])
    found = onnxmap.loads(model.SerializeToString()).check(select="operator.*")
    assert [(each.where, each.message) for each in found] == [
        ("graph.node[5].input[1]",
         "'k' is FLOAT, and 'c' is FLOAT16; Add takes both in one type"),
        ("graph.node[6].input[0]", "'s' is INT64, which Sqrt of version 13 does not take"),
    ]  # fmt: skip


def test_types_of_values_around_a_subgraph() -> None:
    inner = helper.make_graph(
        [helper.make_node("Add", ["w", "x"], ["z"])], "inner", [],
        [helper.make_tensor_value_info("z", TensorProto.FLOAT, None)],
    )  # fmt: skip
    nodes = [helper.make_node("If", ["c"], ["y"], then_branch=inner, else_branch=inner)]
    inputs = [
        helper.make_tensor_value_info("c", TensorProto.BOOL, []),
        helper.make_tensor_value_info("x", TensorProto.FLOAT, [2]),
    ]
    weight = helper.make_tensor("w", TensorProto.DOUBLE, [2], [1.0, 2.0])
    outputs = [helper.make_tensor_value_info("y", TensorProto.FLOAT, [2])]
    graph = helper.make_graph(nodes, "g", inputs, outputs, [weight])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)])
    found = onnxmap.loads(model.SerializeToString()).check()
    assert {each.rule for each in found.errors} == {"operator.type", "value.type"}
    # In each branch, another type than w, and than z; and another type than y.
    assert len(found.errors) == 5


def test_a_newer_operator_set_is_not_judged() -> None:
    model = typed_model("Relux", [1])
    assert [each.rule for each in model.check(select="operator.*")] == ["operator.unknown"]
    model.opset_imports[""] = 999
    report = model.check(select="operator.*")
    assert [(each.rule, each.severity) for each in report] == [("operator.not_described", "hint")]
    assert "newer" in report[0].message


def test_left_out_on_request() -> None:
    model = typed_model("Relux", [1])
    assert "operator.unknown" in model.check().counts
    assert "operator.unknown" not in model.check(operators=False).counts
    assert model.check(operators=False, select=["operator.*", "value.type"]).counts == {}


def test_nodes_that_nobody_describes_are_one_line() -> None:
    nodes = [helper.make_node("Magic", ["x"], [f"y{i}"], domain="org.example") for i in range(2000)]
    info = helper.make_tensor_value_info("x", TensorProto.FLOAT, [2])
    graph = helper.make_graph(nodes, "g", [info], [])
    imports = [helper.make_opsetid("", 21), helper.make_opsetid("org.example", 1)]
    report = onnxmap.loads(
        helper.make_model(graph, opset_imports=imports).SerializeToString()
    ).check()
    assert report.counts == {"operator.not_described": 1}
    assert report[0].message == "2000 nodes have operators of the domain 'org.example'"


def findings(model: onnx.ModelProto) -> list[tuple[str, str]]:
    report = onnxmap.loads(model.SerializeToString()).check(
        select=["operator.*", "value.type", "value.shape"], ignore="operator.not_described"
    )
    return [(each.rule, each.where) for each in report]


def test_a_type_that_the_caller_of_a_function_decides() -> None:
    nodes = [
        helper.make_node("ConstantOfShape", ["s"], ["z"]),
        helper.make_node("Cast", ["x"], ["i"], to=7),
        helper.make_node("Add", ["z", "i"], ["y"]),
    ]
    nodes[0].attribute.add(name="value", ref_attr_name="v", type=4)
    imports = [helper.make_opsetid("", 21), helper.make_opsetid("d", 1)]
    function = helper.make_function("d", "F", ["s", "x"], ["y"], nodes, imports[:1], ["v"])
    graph = helper.make_graph([helper.make_node("F", ["s", "x"], ["y"], domain="d")], "g", [], [])
    model = helper.make_model(graph, opset_imports=imports, functions=[function])
    assert findings(model) == []
    del model.functions[0].node[0].attribute[:]
    assert findings(model) == [("operator.type", "functions[0].node[2].input[1]")]


def test_the_type_of_a_loop_goes_into_its_subgraph() -> None:
    """The subgraph does not say which types its inputs have."""
    body = helper.make_graph(
        [helper.make_node("Add", ["v", "w"], ["z"]), helper.make_node("Identity", ["c"], ["d"])],
        "body", [onnx.ValueInfoProto(name=name) for name in "icv"],
        [onnx.ValueInfoProto(name=name) for name in "dz"],
        [helper.make_tensor("w", TensorProto.DOUBLE, [1], [1.0])],
    )  # fmt: skip
    node = helper.make_node("Loop", ["", "", "x"], ["y"], body=body)
    graph = helper.make_graph([node], "g", [helper.make_tensor_value_info("x", 1, [1])], [])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)])
    (found,) = onnxmap.loads(model.SerializeToString()).check(select="operator.*")
    assert found.message == "'w' is DOUBLE, and 'v' is FLOAT; Add takes both in one type"


@pytest.mark.parametrize("op_type", ["If", "Loop"])
def test_before_version_4_initializers_are_inputs_of_subgraphs(op_type: str) -> None:
    """They stand among the inputs that the node gives values, here before them."""
    own = [onnx.ValueInfoProto(name=name) for name in "icv"] if op_type == "Loop" else []
    body = helper.make_graph(
        [helper.make_node("Add", ["x", "w"], ["z"]), helper.make_node("Not", ["k"], ["d"])],
        "body", [helper.make_tensor_value_info("w", 1, [1]), *own],
        [onnx.ValueInfoProto(name=name) for name in ("dz" if own else "z")],
        [helper.make_tensor("w", TensorProto.FLOAT, [1], [1.0])],
    )  # fmt: skip
    bodies = {"body": body} if own else {"then_branch": body, "else_branch": body}
    inputs = ["", "k", "x"] if own else ["k"]
    inputs_of_all = [helper.make_tensor_value_info("x", 1, [1])]
    inputs_of_all.append(helper.make_tensor_value_info("k", TensorProto.BOOL, []))
    graph = helper.make_graph(
        [helper.make_node(op_type, inputs, ["y"], **bodies)], "g", inputs_of_all, []
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 8)], ir_version=3)
    assert not list(onnxmap.loads(model.SerializeToString()).check(select="operator.*"))


def test_an_input_of_an_unknown_type_decides_the_type_of_the_output() -> None:
    nodes = [
        helper.make_node("Op", [], ["zero"], domain="d"),
        helper.make_node("QuantizeLinear", ["x", "x", "zero"], ["y"]),
    ]
    inputs = [helper.make_tensor_value_info("x", 1, [])]
    outputs = [helper.make_tensor_value_info("y", TensorProto.INT8, [])]
    graph = helper.make_graph(nodes, "g", inputs, outputs)
    model = helper.make_model(
        graph, opset_imports=[helper.make_opsetid("", 13), helper.make_opsetid("d", 1)]
    )
    assert findings(model) == []


def test_types_that_are_usual() -> None:
    """If no attribute says another type."""
    nodes = [
        helper.make_node("ConstantOfShape", ["s"], ["a"]),
        helper.make_node("RandomNormal", [], ["b"], shape=[2]),
        helper.make_node("SequenceEmpty", [], ["c"]),
        helper.make_node("QuantizeLinear", ["x", "x"], ["d"]),
        helper.make_node("QuantizeLinear", ["x", "x"], ["e"], output_dtype=3),
    ]
    infos = [helper.make_tensor_value_info(name, 9, None) for name in "abde"]
    infos.append(helper.make_tensor_sequence_value_info("c", 9, None))
    inputs = [helper.make_tensor_value_info("s", 7, [1]), helper.make_tensor_value_info("x", 1, [])]
    graph = helper.make_graph(nodes, "g", inputs, [], value_info=infos)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)])
    assert findings(model) == [("value.type", f"graph.node[{i}].output[0]") for i in range(5)]
    made = {"a": 1, "b": 1, "d": 2, "e": 3}
    for info in model.graph.value_info:
        if info.name == "c":
            info.type.sequence_type.elem_type.tensor_type.elem_type = 1
        else:
            info.type.tensor_type.elem_type = made[info.name]
    assert findings(model) == []


def test_an_output_that_no_node_makes() -> None:
    inputs = [helper.make_tensor_value_info("x", 1, [2])]
    outputs = [
        helper.make_tensor_value_info("x", 7, [2]),
        helper.make_tensor_value_info("w", 1, [5]),
    ]
    weights = [helper.make_tensor("w", 1, [2], [1, 2])]
    model = helper.make_model(helper.make_graph([], "g", inputs, outputs, weights))
    assert findings(model) == [
        ("value.type", "graph.output[0]"),
        ("value.shape", "graph.output[1]"),
    ]


def test_a_function_of_a_standard_name_does_not_hide_the_operator() -> None:
    function = helper.make_function(
        "", "Relu", ["a", "k"], ["y"], [helper.make_node("Add", ["a", "k"], ["y"])],
        [helper.make_opsetid("", 21)],
    )  # fmt: skip
    inputs = [helper.make_tensor_value_info("x", 1, [2])]
    graph = helper.make_graph([helper.make_node("Relu", ["x", "x"], ["y"])], "g", inputs, [])
    imports = [helper.make_opsetid("", 21)]
    model = helper.make_model(graph, opset_imports=imports, functions=[function])
    assert findings(model) == [("operator.inputs", "graph.node[0]")]


def test_a_missing_import_is_not_a_finding_for_each_node() -> None:
    nodes = [helper.make_node("LayerNormalization", ["x", "x"], [f"y{i}"]) for i in range(5)]
    inputs = [helper.make_tensor_value_info("x", 1, [2])]
    model = helper.make_model(helper.make_graph(nodes, "g", inputs, []))
    del model.opset_import[:]
    assert findings(model) == []
    model.opset_import.add(domain="", version=0)
    assert findings(model) == []


def test_shapes_of_many_dimensions_cost_little() -> None:
    """Each of many nodes would walk over them, and print them."""
    shape = [2] * 40_000
    inputs = [
        helper.make_tensor_value_info("a", 1, shape),
        helper.make_tensor_value_info("b", 1, [*shape[:-1], 3]),
    ]
    nodes = [helper.make_node("Add", ["a", "b"], [f"y{i}"]) for i in range(4_000)]
    graph = helper.make_graph(nodes, "g", inputs, [])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)])
    assert findings(model) == []
    del inputs[0].type.tensor_type.shape.dim[64:], inputs[1].type.tensor_type.shape.dim[64:]
    inputs[1].type.tensor_type.shape.dim[-1].dim_value = 3
    graph = helper.make_graph(nodes, "g", inputs, [])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)])
    assert len(findings(model)) == 1000
