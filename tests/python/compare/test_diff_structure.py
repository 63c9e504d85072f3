"""`onnxmap.diff` of everything but values: each kind of difference, and where it is reported."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import AttributeProto, ModelProto, NodeProto, TensorProto, helper
from support.edits.models import EDIT_MODELS, rich_model
from support.wire_bytes import scalar

import onnxmap
from onnxmap import ModelDiff

PARTS = (
    "metadata", "opset_imports", "inputs", "outputs", "nodes", "functions", "tensors", "other",
)  # fmt: skip


def loaded(model: ModelProto) -> onnxmap.Model:
    return onnxmap.loads(model.SerializeToString())


def edited(edit: Callable[[Any], object]) -> ModelDiff:
    """What differs after an edit: of the message of protobuf, and in memory."""
    model = rich_model()
    edit(model)
    found = onnxmap.diff(loaded(rich_model()), loaded(model))
    in_memory = loaded(rich_model())
    edit(in_memory.proto)
    assert onnxmap.diff(loaded(rich_model()), in_memory) == found
    assert not found.same
    back = onnxmap.diff(loaded(model), loaded(rich_model()))
    swapped = {"added": "removed", "removed": "added"}
    for part in PARTS:
        kinds = sorted(swapped.get(one.kind, one.kind) for one in getattr(found, part))
        assert kinds == sorted(one.kind for one in getattr(back, part))
    return found


def only(found: ModelDiff, part: str) -> Any:
    """The one difference, which is in this part."""
    assert {name: len(getattr(found, name)) for name in PARTS} == {
        name: int(name == part) for name in PARTS
    }
    return getattr(found, part)[0]


def change(one: Any) -> tuple[Any, ...]:
    return (one.kind, one.where_a, one.where_b, one.a, one.b)


@pytest.mark.parametrize("name", EDIT_MODELS)
def test_each_model_equals_itself(name: str) -> None:
    data = EDIT_MODELS[name]
    found = onnxmap.diff(onnxmap.loads(data), onnxmap.loads(data))
    # A buffer has no folder: nobody can tell whether its external data are equal.
    external = {where for where, tensor in onnxmap.loads(data).tensors() if tensor.is_external}
    assert {one.where for one in found.tensors} <= external
    assert found.same or found.tensors
    model = onnxmap.loads(data)
    assert onnxmap.diff(model, model).same


def set_(path: str, value: object) -> Callable[[Any], object]:
    """An edit that sets a field of the model."""

    def edit(model: Any) -> None:
        *steps, last = path.split(".")
        for step in steps:
            model = model[int(step)] if step.isdigit() else getattr(model, step)
        setattr(model, last, value)

    return edit


@pytest.mark.parametrize(
    ("path", "value", "before"),
    [
        ("ir_version", 7, int(rich_model().ir_version)),
        ("producer_name", "q", "p"),
        ("producer_version", "1", None),
        ("domain", "d", None),
        ("model_version", -5, None),
        ("doc_string", "text", None),
        ("graph.name", "other", "main"),
        ("graph.doc_string", "text", None),
    ],
)
def test_metadata(path: str, value: object, before: object) -> None:
    kind = "added" if before is None else "changed"
    where = None if before is None else path
    assert change(only(edited(set_(path, value)), "metadata")) == (kind, where, path, before, value)


def test_entries_of_metadata() -> None:
    where = 'metadata_props["license"]'
    found = edited(set_("metadata_props.0.value", "GPL"))
    assert change(only(found, "metadata")) == ("changed", where, where, "MIT", "GPL")
    found = edited(lambda model: model.metadata_props.pop())
    assert change(only(found, "metadata")) == ("removed", where, None, "MIT", None)
    found = edited(lambda model: model.graph.metadata_props.add(key="k", value="v"))
    where = 'graph.metadata_props["k"]'
    assert change(only(found, "metadata")) == ("added", None, where, None, "v")


def test_operator_sets() -> None:
    found = edited(set_("opset_import.1.version", 2))
    where = 'opset_import["local"]'
    assert change(only(found, "opset_imports")) == ("changed", where, where, 1, 2)
    found = edited(lambda model: model.opset_import.add(domain="new", version=3))
    assert change(only(found, "opset_imports")) == ("added", None, 'opset_import["new"]', None, 3)


def test_order_of_entries_is_no_difference() -> None:
    model = rich_model()
    model.metadata_props.add(key="a", value="b")
    other = ModelProto.FromString(model.SerializeToString())
    for field in ("metadata_props", "opset_import", "functions"):
        values = list(getattr(other, field))
        other.ClearField(field)
        getattr(other, field).extend(reversed(values))
    for field in ("initializer", "value_info"):
        values = list(getattr(other.graph, field))
        other.graph.ClearField(field)
        getattr(other.graph, field).extend(reversed(values))
    attributes = list(other.graph.node[1].attribute)
    other.graph.node[1].ClearField("attribute")
    other.graph.node[1].attribute.extend(reversed(attributes))
    assert other != model
    assert onnxmap.diff(loaded(model), loaded(other)).same


@pytest.mark.parametrize(
    "path",
    ["producer_version", "graph.doc_string", "graph.node.0.domain", "graph.node.0.overload",
     "graph.input.0.doc_string", "model_version"],
)  # fmt: skip
def test_an_explicit_default_is_no_difference(path: str) -> None:
    model = rich_model()
    set_(path, 0 if path == "model_version" else "")(model)
    assert model != rich_model()
    assert onnxmap.diff(loaded(rich_model()), loaded(model)).same
    assert onnxmap.diff(loaded(model), loaded(rich_model())).same


def test_a_dimension_of_zero_is_not_an_unknown_one() -> None:
    model = rich_model()
    model.graph.input[0].type.tensor_type.shape.dim[0].ClearField("value")
    other = ModelProto.FromString(model.SerializeToString())
    other.graph.input[0].type.tensor_type.shape.dim[0].dim_value = 0
    assert len(onnxmap.diff(loaded(model), loaded(other)).inputs) == 1


def test_the_own_domain_has_three_names() -> None:
    model, other = rich_model(), rich_model()
    for each in (*model.opset_import, *model.graph.node, *model.functions[0].node):
        each.domain = each.domain or "ai.onnx"
    for each in (*other.opset_import, *other.graph.node):
        if not each.domain:
            each.domain = ""
    assert model != other
    assert onnxmap.diff(loaded(model), loaded(other)).same
    model.opset_import[0].version += 1
    assert len(onnxmap.diff(loaded(model), loaded(other)).opset_imports) == 1


def test_a_view_equals_its_source(tmp_path: Path) -> None:
    onnxmap.from_arrays({"w": np.arange(5000.0)}).save(tmp_path / "m.onnx")
    onnxmap.load(tmp_path / "m.onnx").save(tmp_path / "view.onnx", external_data="view")
    assert onnxmap.diff(tmp_path / "m.onnx", tmp_path / "view.onnx").same
    assert onnxmap.diff(tmp_path / "view.onnx", tmp_path / "m.onnx").same


def test_the_last_of_repeated_keys_counts() -> None:
    """Therefore the order of repeated keys is a difference."""
    model, other = rich_model(), rich_model()
    for value in "ab":
        model.metadata_props.add(key="k", value=value)
        other.metadata_props.insert(0, onnx.StringStringEntryProto(key="k", value=value))
    assert len(onnxmap.diff(loaded(model), loaded(other)).metadata) == 2


class TestValues:
    def test_changed(self) -> None:
        path = "graph.input.0.type.tensor_type.shape.dim.0.dim_value"
        value = only(edited(set_(path, 3)), "inputs")
        assert (value.kind, value.name, value.where) == ("changed", "x", 'graph.input["x"]')
        where = "type.tensor_type.shape.dim[0].dim_value"
        assert [change(one) for one in value.changes] == [("changed", where, where, 2, 3)]

    def test_added_and_removed(self) -> None:
        found = edited(lambda model: model.graph.output.add(name="new"))
        value = only(found, "outputs")
        assert (value.kind, value.name, value.where_a) == ("added", "new", None)
        found = edited(lambda model: model.graph.input.pop())
        assert only(found, "inputs").kind == "removed"

    def test_order_counts(self) -> None:
        model = rich_model()
        model.graph.input.add(name="second")
        other = ModelProto.FromString(model.SerializeToString())
        other.graph.input.reverse()
        value = only(onnxmap.diff(loaded(model), loaded(other)), "inputs")
        assert (value.kind, value.moved, value.changes) == ("moved", True, ())


def nodes(*made: NodeProto) -> onnxmap.Model:
    return loaded(ModelProto(graph=onnx.GraphProto(name="g", node=made)))


def node(op_type: str, output: str, name: str = "", **attributes: Any) -> NodeProto:
    return helper.make_node(op_type, ["x"], [output], name=name, **attributes)


class TestNodes:
    def test_attribute(self) -> None:
        found = only(edited(set_("graph.node.1.attribute.0.f", 0.25)), "nodes")
        assert (found.kind, found.name, found.op_type) == ("changed", "gemm", "Gemm")
        where = 'attribute["alpha"].f'
        assert [change(one) for one in found.changes] == [("changed", where, where, 0.5, 0.25)]

    def test_list_attribute(self) -> None:
        def edit(model: Any) -> None:
            (axes,) = (one for one in model.graph.node[2].attribute if one.name == "axes")
            axes.ints.append(7)

        (found,) = only(edited(edit), "nodes").changes
        assert (found.a, found.b) == ((0, -1), (0, -1, 7))

    def test_a_long_list_is_cut(self) -> None:
        a, b = (node("Op", "y", ints=[*range(5_000), last]) for last in (1, 2))
        (found,) = only(onnxmap.diff(nodes(a), nodes(b)), "nodes").changes
        assert found.a == (*range(1_000), ...)

    def test_added_attribute(self) -> None:
        def edit(model: Any) -> None:
            model.graph.node[1].attribute.add(name="n", type=AttributeProto.INT, i=5)

        (found,) = only(edited(edit), "nodes").changes
        assert change(found) == ("added", None, 'attribute["n"]', None, 5)

    @pytest.mark.parametrize("field", ["op_type", "domain", "overload", "name", "doc_string"])
    def test_texts(self, field: str) -> None:
        (found,) = only(edited(set_(f"graph.node.1.{field}", "new")), "nodes").changes
        assert (found.where, found.b) == (field, "new")

    def test_inputs(self) -> None:
        def edit(model: Any) -> None:
            model.graph.node[1].input[0] = "q"

        (found,) = only(edited(edit), "nodes").changes
        assert change(found) == ("changed", "input", "input", ("x", "w", ""), ("q", "w", ""))

    def test_subgraph(self) -> None:
        path = "graph.node.0.attribute.1.g.node.0.op_type"
        (found,) = only(edited(set_(path, "Abs")), "nodes").changes
        assert (found.kind, found.where[-18:], found.b) == ("changed", ".g.node[0].op_type", "Abs")

    def test_moved(self) -> None:
        made = [node("Op", f"y{i}", f"n{i}") for i in range(9)]
        moved = [*made[:2], *made[3:7], made[2], *made[7:]]
        found = only(onnxmap.diff(nodes(*made), nodes(*moved)), "nodes")
        places = ("graph.node[2]", "graph.node[6]")
        assert (found.kind, found.name, found.where_a, found.where_b) == ("moved", "n2", *places)

    def test_without_names(self) -> None:
        made = [node("Op", f"y{i}", a=i) for i in range(9)]
        other = [node("Op", f"y{i}", a=i + 10 * (i == 4)) for i in range(9)]
        found = only(onnxmap.diff(nodes(*made), nodes(*other)), "nodes")
        assert (found.kind, found.where) == ("changed", "graph.node[4]")
        found = only(onnxmap.diff(nodes(*made), nodes(*made[:4], *made[5:])), "nodes")
        assert (found.kind, found.where) == ("removed", "graph.node[4]")

    def test_all_values_renamed(self) -> None:
        """Nodes without names are then matched by their place."""
        made = [node(f"Op{i % 3}", f"y{i}") for i in range(9)]
        other = [node(f"Op{i % 3}", f"z{i}") for i in range(9)]
        found = onnxmap.diff(nodes(*made), nodes(*other)).nodes
        assert [one.kind for one in found] == ["changed"] * 9
        assert [one.where_a for one in found] == [one.where_b for one in found]

    def test_names_before_places(self) -> None:
        a = nodes(node("Op", "y", "first"), node("Op", "z", "second"))
        b = nodes(node("Op", "z", "first"), node("Op", "y", "second"))
        found = onnxmap.diff(a, b).nodes
        assert [(one.name, one.changes[0].where) for one in found] == [
            ("first", "output"),
            ("second", "output"),
        ]


class TestFunctions:
    def test_changed(self) -> None:
        found = only(edited(set_("functions.0.node.0.op_type", "Mul")), "functions")
        assert (found.kind, found.name) == ("changed", "twice")
        assert [one.where for one in found.changes] == ["node[0].op_type"]

    @pytest.mark.parametrize("field", ["name", "domain", "overload"])
    def test_their_names(self, field: str) -> None:
        found = edited(set_(f"functions.0.{field}", "new")).functions
        assert [one.kind for one in found] == ["removed", "added"]


@pytest.mark.parametrize(
    ("edit", "where"),
    [
        (set_("graph.value_info.0.name", "new"), 'graph.value_info["m"]'),
        (set_("graph.value_info.0.doc_string", "d"), 'graph.value_info["m"].doc_string'),
        (
            set_("graph.quantization_annotation.0.quant_parameter_tensor_names.0.value", "t"),
            'graph.quantization_annotation["w"].quant_parameter_tensor_names["SCALE_TENSOR"]',
        ),
        (
            set_("training_info.0.algorithm.node.0.op_type", "Abs"),
            "training_info[0].algorithm.node[0].op_type",
        ),
        (lambda model: model.configuration.add(name="c"), 'configuration["c"]'),
    ],
)
def test_everything_else(edit: Callable[[Any], object], where: str) -> None:
    assert where in [one.where for one in edited(edit).other]


def test_notes_of_tensors() -> None:
    tensor = only(edited(set_("graph.initializer.0.doc_string", "d")), "tensors")
    assert (tensor.kind, tensor.name, tensor.changed, tensor.shape_a) == (
        "changed",
        "w",
        None,
        (2, 3),
    )
    assert [one.where for one in tensor.changes] == ["doc_string"]


@pytest.mark.parametrize("at", ["model", "graph", "node", "tensor", "entry"])
def test_unknown_fields(at: str) -> None:
    def model(number: int) -> onnxmap.Model:
        made = rich_model()
        message = {
            "model": made,
            "graph": made.graph,
            "node": made.graph.node[1],
            "tensor": made.graph.initializer[0],
            "entry": made.metadata_props[0],
        }[at]
        message.MergeFromString(scalar(900, number))
        return loaded(made)

    assert onnxmap.diff(model(1), model(1)).same
    assert not onnxmap.diff(model(1), model(2)).same
    assert "unknown_fields" in str(onnxmap.diff(model(1), model(2)))


def test_a_model_without_a_graph() -> None:
    empty = loaded(rich_model())
    empty.proto.ClearField("graph")
    found = onnxmap.diff(empty, loaded(rich_model()))
    assert ("added", "graph") in [(one.kind, one.where) for one in found.other]


class TestResult:
    def test_it_has_no_truth_value(self) -> None:
        model = loaded(rich_model())
        for other in (model, nodes()):
            found = onnxmap.diff(model, other)
            with pytest.raises(TypeError, match=r"diff\.same"):
                bool(found)

    def test_text_and_json(self) -> None:
        made = [node("Op", f"y{i}", f"n{i}") for i in range(30)]
        found = onnxmap.diff(nodes(), nodes(*made))
        lines = str(found).splitlines()
        assert lines[:2] == ["nodes: 30 added", "  + Op 'n0' at graph.node[0]"]
        assert lines[-1] == "    ... and 20 more added"
        assert len(lines) == 12
        told = json.loads(json.dumps(found.to_dict(), allow_nan=False))
        assert told["same"] is False
        assert [one["name"] for one in told["nodes"]] == [one.name for one in made]
        same = onnxmap.diff(nodes(), nodes())
        assert (str(same), same.to_dict()["same"]) == ("no differences", True)
        assert repr(same) == "<onnxmap.ModelDiff: same>"

    def test_numbers_that_json_lacks(self) -> None:
        a, b = (
            loaded(ModelProto(graph=onnx.GraphProto(initializer=[TensorProto(
                name="t", dims=[1], data_type=1, float_data=[number])])))
            for number in (1.0, float("inf"))
        )  # fmt: skip
        told = json.loads(json.dumps(onnxmap.diff(a, b).to_dict(), allow_nan=False))
        assert told["tensors"][0]["max_abs"] == "Infinity"

    def test_text_of_a_file_is_escaped(self) -> None:
        a, b = nodes(node("Op", "y", "\x1b[31m")), nodes(node("Op", "z", "\x1b[31m"))
        assert "\x1b" not in str(onnxmap.diff(a, b))


class TestArguments:
    def test_paths_and_models(self, tmp_path: Path) -> None:
        path = tmp_path / "m.onnx"
        path.write_bytes(rich_model().SerializeToString())
        for each in (str(path), path, bytes(path), onnxmap.load(path)):
            assert onnxmap.diff(each, loaded(rich_model())).same

    @pytest.mark.parametrize("wrong", [None, 5, rich_model()])
    def test_wrong_types(self, wrong: Any) -> None:
        with pytest.raises(TypeError):
            onnxmap.diff(wrong, loaded(rich_model()))

    def test_a_closed_model(self) -> None:
        model = loaded(rich_model())
        model.close()
        with pytest.raises(ValueError, match="closed"):
            onnxmap.diff(model, loaded(rich_model()))

    def test_progress(self, tmp_path: Path) -> None:
        calls: list[tuple[int, int]] = []
        tensor = TensorProto(name="t", dims=[1 << 20], data_type=1, raw_data=bytes(4 << 20))
        made = ModelProto(graph=onnx.GraphProto(initializer=[tensor]))
        onnxmap.diff(loaded(made), loaded(made), progress=lambda *call: calls.append(call))
        assert (calls[0], calls[-1]) == ((0, 4 << 20), (4 << 20, 4 << 20))


PARTS_OF_ITEMS: dict[str, Callable[[Any], object]] = {
    "nodes": lambda model: model.graph.node[1].attribute.add(name="added", i=1, type=2),
    "inputs": lambda model: model.graph.input[0].metadata_props.add(key="k", value="v"),
    "tensors": lambda model: model.graph.initializer[0].metadata_props.add(key="k", value="v"),
    "functions": lambda model: model.functions[0].node.add(op_type="Neg", input=["x"]),
}


@pytest.mark.parametrize("part", PARTS_OF_ITEMS)
def test_an_item_of_which_a_part_was_added_is_changed(part: str) -> None:
    """The added part is the first change that is found in it."""
    before, after = loaded(rich_model()), loaded(rich_model())
    PARTS_OF_ITEMS[part](after.proto)
    for models, kind in (((before, after), "added"), ((after, before), "removed")):
        one = only(onnxmap.diff(*models), part)
        assert one.kind == "changed"
        assert one.where_a == one.where_b
        assert getattr(onnxmap.diff(*models), part).changed == (one,)
        assert [each.kind for each in one.changes] == [kind]


def test_names_are_escaped_once() -> None:
    model = onnxmap.from_arrays({"w\x1b[2J": np.ones(2)})
    other = onnxmap.from_arrays({"w\x1b[2J": np.zeros(2)})
    assert r"'w\x1b[2J'" in str(onnxmap.diff(model, other))
