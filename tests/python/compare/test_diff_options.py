"""`onnxmap.diff` with tolerances, with things that are ignored, and between types."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from onnx import TensorProto, helper, numpy_helper

import onnxmap

FLOATS: dict[str, Any] = {
    "float16": np.float16, "float32": np.float32, "float64": np.float64,
    "bfloat16": ml_dtypes.bfloat16, "float8_e4m3fn": ml_dtypes.float8_e4m3fn,
}  # fmt: skip


def one_tensor(array: np.ndarray[Any, Any]) -> onnxmap.Model:
    return onnxmap.from_arrays({"w": array})


def model_of(names: list[str], doc: str = "", **fields: Any) -> onnxmap.Model:
    """A chain of two nodes with these names."""
    nodes = [
        helper.make_node("Relu", ["x"], ["y"], name=names[0], doc_string=doc),
        helper.make_node("Relu", ["y"], ["z"], name=names[1]),
    ]
    graph = helper.make_graph(nodes, names[0], [], [])
    return onnxmap.loads(helper.make_model(graph, **fields).SerializeToString())


@given(st.lists(st.tuples(st.floats(width=32), st.floats(width=32)), min_size=1, max_size=80))
def test_a_tolerance_is_that_of_numpy(pairs: list[tuple[float, float]]) -> None:
    a, b = (np.array(side, np.float32) for side in zip(*pairs, strict=True))
    for atol, rtol in ((0.0, 0.1), (0.5, 0.0), (1e-3, 1e-3)):
        found = onnxmap.diff(one_tensor(a), one_tensor(b), atol=atol, rtol=rtol)
        close = np.isclose(a.astype(float), b.astype(float), rtol, atol, equal_nan=True)
        assert found.same == bool(close.all())
        if not found.same:
            assert found.tensors[0].changed == int((~close).sum())


@pytest.mark.parametrize("dtype", [np.int8, np.uint64, np.complex64, np.bool_, *FLOATS.values()])
def test_every_type_has_a_tolerance(dtype: Any) -> None:
    a, b = one_tensor(np.array([1, 1], dtype)), one_tensor(np.array([1, 0], dtype))
    assert not onnxmap.diff(a, b, atol=0.5).same
    assert onnxmap.diff(a, b, atol=1).same


@pytest.mark.parametrize("wrong", [{"atol": -1}, {"rtol": float("nan")}, {"ignore": "docks"}])
def test_wrong_options(wrong: dict[str, Any]) -> None:
    model = one_tensor(np.ones(2))
    with pytest.raises(ValueError, match=next(iter(wrong))):
        onnxmap.diff(model, model, **wrong)


@pytest.mark.parametrize("typed", [False, True])
@pytest.mark.parametrize("other", FLOATS)
@pytest.mark.parametrize("dtype", FLOATS)
def test_values_of_two_types(dtype: str, other: str, typed: bool) -> None:
    """In an attribute, too, and from typed fields."""
    values = np.array([0.5, -2, 0.25, np.nan, 448], np.float64)
    models = []
    for kind in (FLOATS[dtype], FLOATS[other]):
        tensor = numpy_helper.from_array(values.astype(kind), "w")
        if typed:
            tensor = helper.make_tensor("w", tensor.data_type, [5], values.astype(kind).tolist())
        node = helper.make_node("Constant", [], ["c"], value=tensor)
        graph = helper.make_graph([node], "g", [], [], [tensor])
        models.append(onnxmap.loads(helper.make_model(graph).SerializeToString()))
    assert onnxmap.diff(*models).same == (dtype == other)
    assert onnxmap.diff(*models, cast=True, atol=1e-9).same
    models[1].initializers["w"] = np.array([0.5, -2, 0.375, 1, 448]).astype(FLOATS[other])
    found = onnxmap.diff(*models, cast=True).tensors[0]
    assert (found.changed, found.nan_changed, found.max_abs) == (2, 1, 0.125)


def test_integers_are_not_cast() -> None:
    a, b = one_tensor(np.ones(2, np.int32)), one_tensor(np.ones(2, np.float32))
    assert not onnxmap.diff(a, b, cast=True).same


def test_large_tensors_of_two_types(tmp_path: Path) -> None:
    values = np.random.default_rng(1).normal(size=3_000_000).astype(np.float32)
    one_tensor(values).save(tmp_path / "a.onnx", external_data="a.data")
    one_tensor(values.astype(np.float16)).save(tmp_path / "b.onnx")
    paths = tmp_path / "a.onnx", tmp_path / "b.onnx"
    assert onnxmap.diff(*paths, cast=True, rtol=1e-3, atol=1e-6).same
    found = onnxmap.diff(*paths, cast=True).tensors[0]
    expected = np.abs(values - values.astype(np.float16).astype(np.float32))
    assert found.max_abs == pytest.approx(float(expected.max()))
    assert found.changed == int((expected != 0).sum())


def test_ignored_metadata() -> None:
    model = model_of(["a", "b"], producer_name="p")
    other = model_of(["a", "b"], producer_version="7", domain="d", model_version=4)
    other.metadata_props["k"] = "v"
    other.graph.nodes[0].metadata_props["k"] = "v"
    assert len(onnxmap.diff(model, other).metadata) == 5
    assert onnxmap.diff(model, other, ignore="metadata").same
    other.proto.ir_version -= 1
    assert not onnxmap.diff(model, other, ignore="metadata").same


def test_ignored_docs() -> None:
    model, other = model_of(["a", "b"]), model_of(["a", "b"], "text")
    assert not onnxmap.diff(model, other, ignore=["metadata", "names"]).same
    assert onnxmap.diff(model, other, ignore=["docs"]).same


@pytest.mark.parametrize("names", [["b", "a"], ["c", "d"], ["", ""], ["b", "c"]])
def test_ignored_names(names: list[str]) -> None:
    """Nodes are matched by what they do, also if the names were exchanged."""
    model, other = model_of(["a", "b"]), model_of(names)
    assert not onnxmap.diff(model, other).same
    assert onnxmap.diff(model, other, ignore="names").same
    other.graph.nodes[1].op_type = "Neg"
    found = onnxmap.diff(model, other, ignore="names")
    assert [node.where for node in found.nodes.changed] == ["graph.node[1]"]


def copies(folder: Path) -> dict[str, onnxmap.Model]:
    """A model with a subgraph, and copies with other types."""
    value = helper.make_tensor_value_info("t", 1, [4])
    own = [numpy_helper.from_array(np.float32([0.1, 0.2, 0.3, 1e-3]), "inner")]
    branch = helper.make_graph(
        [helper.make_node("Add", ["w", "inner"], ["t"])], "b", [], [value], own
    )
    graph = helper.make_graph(
        [
            helper.make_node("Cast", ["x"], ["c"], to=9),
            helper.make_node("If", ["c"], ["y"], then_branch=branch, else_branch=branch),
        ],
        "g",
        [helper.make_tensor_value_info("x", 1, [])],
        [helper.make_tensor_value_info("y", 1, [4])],
        [numpy_helper.from_array(np.float32([0.7, 1 / 3, 100.1, 2]), "w")],
    )
    imports = [helper.make_opsetid("", 21)]
    model = helper.make_model(graph, opset_imports=imports, ir_version=10)
    made = {"float32": onnxmap.loads(model.SerializeToString())}
    for name in ("float16", "bfloat16", "float64"):
        onnxmap.save(model, folder / "m.onnx", dtype=name, sync=False)
        made[name] = onnxmap.loads((folder / "m.onnx").read_bytes())
    return made


def test_a_copy_with_another_type_is_the_model(tmp_path: Path) -> None:
    """Its tensors are compared with those of the same names, and its nodes Cast do not count."""
    made = copies(tmp_path)
    for name, precision in (("float16", 2.0**-11), ("bfloat16", 2.0**-8), ("float64", 0.0)):
        for a, b in ((made["float32"], made[name]), (made[name], made["float32"])):
            assert onnxmap.diff(a, b, cast=True, rtol=2 * precision, atol=2.0**-25).same
            found = onnxmap.diff(a, b, cast=True, rtol=precision / 64)
            assert found.same == (name == "float64")
            assert [
                (each.name, each.kind) for each in found.tensors if each.name.startswith("w")
            ] == ([] if found.same else [(next(iter(a.initializers)), "changed")])
            assert not found.nodes or name != "float64"
            plain = onnxmap.diff(a, b)
            assert {each.kind for each in plain.tensors} == {"added", "removed"}
            assert plain.nodes
    assert onnxmap.diff(made["float16"], made["bfloat16"], cast=True, rtol=2.0**-7).same
    changed = made["float16"]
    changed.initializers["w.float16"] = np.float16([0.7, 1 / 3, 100, 9])
    (tensor,) = onnxmap.diff(made["float32"], changed, cast=True, rtol=2.0**-8).tensors
    assert (tensor.name, tensor.name_b, tensor.changed) == ("w", "w.float16", 1)
    assert (tensor.max_abs, tensor.max_abs_at) == (7.0, (3,))


@pytest.mark.parametrize(
    ("to", "more"), [(TensorProto.FLOAT8E4M3FN, {}), (TensorProto.INT64, {}), (1, {"saturate": 0})]
)
def test_a_cast_to_another_type_counts(to: int, more: dict[str, int]) -> None:
    """The models compute other values, though their stored ones are the same."""
    weight = numpy_helper.from_array(np.float16([0.37, 0.74]), "w.float16")

    def model(to: int, **more: int) -> onnxmap.Model:
        nodes = [
            helper.make_node("Cast", ["w.float16"], ["w"], "w.float16", to=to, **more),
            helper.make_node("Cast", ["w"], ["y"], to=1),
        ]
        graph = helper.make_graph(
            nodes, "g", [], [helper.make_tensor_value_info("y", 1, [2])], [weight]
        )
        imports = [helper.make_opsetid("", 21)]
        return onnxmap.loads(helper.make_model(graph, opset_imports=imports).SerializeToString())

    assert onnxmap.diff(model(1), model(1), cast=True).same
    for a, b in ((model(1), model(to, **more)), (model(to, **more), model(1))):
        assert not onnxmap.diff(a, b, cast=True).same


def test_a_cast_of_the_model_itself_counts() -> None:
    weight = numpy_helper.from_array(np.ones(4, np.float16), "w")
    imports = [helper.make_opsetid("", 21)]
    pair = []
    for to in (1, 11):
        graph = helper.make_graph(
            [helper.make_node("Cast", ["w"], ["y"], to=to)], "g", [], [], [weight]
        )
        pair.append(
            onnxmap.loads(helper.make_model(graph, opset_imports=imports).SerializeToString())
        )
    assert len(onnxmap.diff(*pair, cast=True).nodes) == 1
