"""`onnxmap.diff` with tolerances, with things that are ignored, and between types."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from onnx import helper, numpy_helper

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
