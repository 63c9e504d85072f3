"""`onnxmap.diff` of tensors: the numbers against NumPy, storage forms, other names, faults."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from onnx import TensorProto, helper, numpy_helper
from support.models.sample import external, floats, model_of, write
from support.oracles.diff import expected_numbers
from support.oracles.tensor_encoder import ELEMENT_TYPES, expected_array, raw_bytes, typed_fields
from support.run_options import EXHAUSTIVE

import onnxmap
from onnxmap import Model, ModelDiff, TensorDiff

EXAMPLES = 500 if EXHAUSTIVE else 10

NUMBERS = [kind for kind in ELEMENT_TYPES.values() if not kind.is_text]


def loaded(*tensors: TensorProto) -> Model:
    return onnxmap.loads(model_of(list(tensors)).SerializeToString())


def only_tensor(found: ModelDiff) -> TensorDiff:
    assert found.same is False
    assert [found.nodes, found.metadata, found.other, found.inputs, found.functions] == [()] * 5
    (tensor,) = found.tensors
    assert isinstance(tensor, TensorDiff)
    return tensor


def facts(tensor: TensorDiff) -> dict[str, Any]:
    names = (
        "changed", "changed_share", "nan_changed", "max_abs", "max_abs_at", "max_rel", "max_rel_at",
    )  # fmt: skip
    return {name: getattr(tensor, name) for name in names}


def stored(kind: Any, shape: list[int], elements: list[int], form: str) -> TensorProto:
    tensor = TensorProto(name="t", dims=shape, data_type=kind.number)
    if form == "raw":
        tensor.raw_data = raw_bytes(kind, elements)
    else:
        tensor.MergeFromString(b"".join(typed_fields(kind, elements, form, random.Random(1))))
    return tensor


def bits_of(kind: Any) -> st.SearchStrategy[int]:
    if kind.name == "BOOL":
        return st.integers(0, 1)
    top = (1 << kind.bits) - 1
    # Ones and zeros at the top are infinities, NaNs and zeros of both signs.
    odd = [0, 1, top, top >> 1, 1 << (kind.bits - 1)]
    if kind.name in ("FLOAT", "DOUBLE", "FLOAT16", "BFLOAT16"):
        infinity = {"FLOAT": 0x7F80_0000, "DOUBLE": 0x7FF << 52, "FLOAT16": 0x7C00}
        odd += [
            infinity.get(kind.name, 0x7F80),
            infinity.get(kind.name, 0x7F80) | 1 << kind.bits - 1,
        ]
    return st.one_of(st.integers(0, top), st.sampled_from(odd))


@pytest.mark.parametrize("kind", NUMBERS, ids=lambda kind: kind.name)
@settings(max_examples=EXAMPLES, deadline=None)
@given(data=st.data())
def test_numbers_are_those_of_numpy(kind: Any, data: st.DataObject) -> None:
    rows = data.draw(st.integers(1, 8))
    a = data.draw(st.lists(bits_of(kind), min_size=3 * rows, max_size=3 * rows))
    b = list(a)
    for at in data.draw(st.lists(st.integers(0, len(a) - 1), max_size=12)):
        b[at] = data.draw(bits_of(kind))
    forms = [data.draw(st.sampled_from(["raw", "packed", "unpacked"])) for _ in "ab"]
    shape = [rows, 3]
    found = onnxmap.diff(
        loaded(stored(kind, shape, a, forms[0])), loaded(stored(kind, shape, b, forms[1]))
    )
    if a == b:
        assert found.same
        return
    arrays = [expected_array(kind, shape, elements) for elements in (a, b)]
    expected = expected_numbers(*arrays)
    tensor = only_tensor(found)
    for name, fact in facts(tensor).items():
        if isinstance(fact, float):
            assert fact == pytest.approx(expected[name], rel=1e-12, abs=0), name
        else:
            assert fact == expected[name], name
    if not kind.name.startswith(("FLOAT", "BFLOAT", "DOUBLE", "COMPLEX")):
        assert type(tensor.max_abs) is int
        assert tensor.max_abs == expected["max_abs"]  # exactly


def test_large_tensors_are_compared_in_parts(tmp_path: Path) -> None:
    values = np.random.default_rng(0).standard_normal((3_000, 1_000)).astype(np.float32)
    other = values.copy()
    other[2_999, 999] += 1
    other[1_234, 56] = np.nan
    other[7, 8] -= 5
    paths = [
        write(model_of([numpy_helper.from_array(array, "w"), floats("v", 9)]), tmp_path / name)
        for name, array in (("a.onnx", values), ("b.onnx", other))
    ]
    expected = {
        "changed": 3, "changed_share": 1e-6, "nan_changed": 1,
        "max_abs": float(abs(np.float64(other[7, 8]) - np.float64(values[7, 8]))),
        "max_abs_at": (7, 8),
    }  # fmt: skip
    for io in ("mmap", "read"):
        for threads in (1, 2, 5):
            a, b = (onnxmap.load(path, io=io) for path in paths)
            tensor = only_tensor(onnxmap.diff(a, b, threads=threads))
            assert {name: getattr(tensor, name) for name in expected} == expected
    assert onnxmap.diff(paths[0], paths[0]).same


def test_int64_is_exact() -> None:
    a = np.array([2**63 - 1, -(2**63), 5], np.int64)
    b = np.array([2**63 - 2, 2**63 - 1, 5], np.int64)
    tensor = only_tensor(
        onnxmap.diff(
            loaded(numpy_helper.from_array(a, "t")), loaded(numpy_helper.from_array(b, "t"))
        )
    )
    assert tensor.max_abs == 2**64 - 1
    assert tensor.max_abs_at == (1,)
    assert tensor.changed == 2


def test_texts_are_counted() -> None:
    a = TensorProto(name="t", dims=[2, 2], data_type=8, string_data=[b"a", b"", b"\xff", b"d"])
    b = TensorProto(name="t", dims=[2, 2], data_type=8, string_data=[b"a", b"\xff", b"", b"d"])
    assert onnxmap.diff(loaded(a), loaded(a)).same
    tensor = only_tensor(onnxmap.diff(loaded(a), loaded(b)))
    assert (tensor.changed, tensor.changed_share, tensor.max_abs) == (2, 0.5, None)


def test_zeros_of_both_signs_differ_by_zero() -> None:
    a, b = (numpy_helper.from_array(np.array([zero], np.float32), "t") for zero in (0.0, -0.0))
    tensor = only_tensor(onnxmap.diff(loaded(a), loaded(b)))
    assert (tensor.changed, tensor.max_abs, tensor.max_rel) == (1, 0.0, 0.0)


@pytest.mark.parametrize("bits", [0x7FC00000, 0x7F800001])
def test_nan_of_the_same_bits_is_equal(bits: int) -> None:
    nan = TensorProto(name="t", dims=[1], data_type=1, raw_data=bits.to_bytes(4, "little"))
    other = TensorProto(
        name="t", dims=[1], data_type=1, raw_data=(bits | 1 << 31).to_bytes(4, "little")
    )
    assert onnxmap.diff(loaded(nan), loaded(nan)).same
    tensor = only_tensor(onnxmap.diff(loaded(nan), loaded(other)))
    assert (tensor.changed, tensor.nan_changed, tensor.max_abs) == (1, 0, None)


def test_unused_bits_are_no_difference() -> None:
    a = TensorProto(name="t", dims=[1], data_type=TensorProto.UINT4, raw_data=b"\x05")
    b = TensorProto(name="t", dims=[1], data_type=TensorProto.UINT4, raw_data=b"\xf5")
    assert onnxmap.diff(loaded(a), loaded(b)).same


def test_every_storage_form_is_the_same(tmp_path: Path) -> None:
    values = np.arange(300_000, dtype=np.int64)
    inline = loaded(numpy_helper.from_array(values, "t"), floats("f", 5))
    typed = TensorProto(name="t", dims=[300_000], data_type=7, int64_data=values.tolist())
    parts = []
    for begin, end in ((100_000, 300_000), (0, 100_000)):
        part = numpy_helper.from_array(values[begin:end], "t")
        del part.dims[:]
        part.dims.append(300_000)
        part.segment.begin, part.segment.end = begin, end
        parts.append(part)
    onnxmap.save(inline, tmp_path / "external.onnx", "w.data", size_threshold_bytes=1)
    models = [
        inline,
        loaded(floats("f", 5), typed),
        loaded(parts[0], floats("f", 5), parts[1]),
        onnxmap.load(tmp_path / "external.onnx"),
        onnxmap.load(tmp_path / "external.onnx", io="read"),
    ]
    for a in models:
        for b in models:
            assert onnxmap.diff(a, b).same
    typed.int64_data[77] = -1
    changed = loaded(typed, floats("f", 5))
    for model in models:
        tensor = only_tensor(onnxmap.diff(model, changed))
        assert (tensor.changed, tensor.max_abs, tensor.max_abs_at) == (1, 78, (77,))


def test_types_and_shapes() -> None:
    a, b = (numpy_helper.from_array(np.zeros((2, 3), kind), "t") for kind in (np.int8, np.uint8))
    tensor = only_tensor(onnxmap.diff(loaded(a), loaded(b)))
    assert (tensor.kind, tensor.changed, tensor.max_abs) == ("changed", None, None)
    assert (tensor.dtype_a, tensor.dtype_b) == (onnxmap.DataType.INT8, onnxmap.DataType.UINT8)
    del b.dims[:]
    b.dims.extend([3, 2])
    b.data_type = TensorProto.INT8
    tensor = only_tensor(onnxmap.diff(loaded(a), loaded(b)))
    assert (tensor.shape_a, tensor.shape_b, tensor.changed) == ((2, 3), (3, 2), None)


class TestNames:
    def test_added_and_removed(self) -> None:
        found = onnxmap.diff(
            loaded(floats("a", 3), floats("b", 4)), loaded(floats("b", 4), floats("c", 5))
        )
        assert [one.name for one in found.tensors.removed] == ["a"]
        assert [one.name for one in found.tensors.added] == ["c"]
        (removed,), (added,) = found.tensors.removed, found.tensors.added
        assert (removed.where_b, removed.name_b, removed.shape_a) == (None, None, (3,))
        assert (added.where_a, added.name_b, added.shape_b) == (None, "c", (5,))

    @pytest.mark.parametrize("count", [1, 300_000, 1_000_000])
    def test_renamed(self, count: int) -> None:
        found = onnxmap.diff(
            loaded(floats("a", count), floats("k", 2)), loaded(floats("k", 2), floats("b", count))
        )
        tensor = only_tensor(found)
        assert found.tensors.renamed == (tensor,)
        assert (tensor.kind, tensor.name, tensor.name_b) == ("renamed", "a", "b")
        assert (tensor.where_a, tensor.where_b) == ("graph.initializer[0]", "graph.initializer[1]")

    def test_what_differs_in_one_element_is_not_renamed(self) -> None:
        a = np.zeros(100_000, np.float32)
        for at in (0, 33_333, 50_001, 99_999):
            b = a.copy()
            b[at] = 1
            found = onnxmap.diff(
                loaded(numpy_helper.from_array(a, "a")), loaded(numpy_helper.from_array(b, "b"))
            )
            assert [one.kind for one in found.tensors] == ["removed", "added"]

    def test_renamed_in_another_form_and_with_another_note(self) -> None:
        a = numpy_helper.from_array(np.arange(9, dtype=np.int64), "a")
        b = TensorProto(name="b", dims=[9], data_type=7, int64_data=range(9), doc_string="new")
        tensor = only_tensor(onnxmap.diff(loaded(a), loaded(b)))
        assert tensor.kind == "renamed"
        assert [(one.where, one.b) for one in tensor.changes] == [("doc_string", "new")]

    def test_many_of_one_shape(self) -> None:
        arrays = [np.full(4, number, np.int32) for number in range(20_000)]
        a = loaded(*(numpy_helper.from_array(one, f"a{i}") for i, one in enumerate(arrays)))
        b = loaded(*(numpy_helper.from_array(one, f"b{i}") for i, one in enumerate(arrays[::-1])))
        found = onnxmap.diff(a, b).tensors
        assert len(found) == len(found.renamed) == 20_000
        assert all(int(one.name[1:]) + int(str(one.name_b)[1:]) == 19_999 for one in found)

    def test_repeated_names_are_matched_in_order(self) -> None:
        a = loaded(floats("x", 3), floats("x", 3, 5.0), floats("", 2))
        b = loaded(floats("x", 3), floats("x", 3, 6.0), floats("", 2))
        assert onnxmap.diff(a, a).same
        tensor = only_tensor(onnxmap.diff(a, b))
        assert (tensor.where, tensor.max_abs) == ("graph.initializer[1]", 1.0)

    def test_order_is_no_difference(self) -> None:
        a, b = floats("a", 3), floats("b", 4)
        assert onnxmap.diff(loaded(a, b), loaded(b, a)).same


class TestFaults:
    BAD = TensorProto(name="t", dims=[3], data_type=1, raw_data=b"1234567")
    UNKNOWN = TensorProto(name="t", dims=[1], data_type=99, raw_data=b"12")

    @pytest.mark.parametrize("bad", [BAD, UNKNOWN], ids=["size", "type"])
    def test_equal_bytes_are_the_same(self, bad: TensorProto) -> None:
        assert onnxmap.diff(loaded(bad), loaded(bad)).same

    @pytest.mark.parametrize("bad", [BAD, UNKNOWN], ids=["size", "type"])
    def test_other_bytes_are_an_error(self, bad: TensorProto) -> None:
        other = TensorProto.FromString(bad.SerializeToString())
        other.raw_data = bad.raw_data[::-1]
        tensor = only_tensor(onnxmap.diff(loaded(bad), loaded(other)))
        assert tensor.error is not None
        assert "tensor 't'" in tensor.error
        assert (tensor.changed, tensor.max_abs) == (None, None)

    def test_a_missing_file_is_never_the_same(self, tmp_path: Path) -> None:
        model = model_of([external("t", [3], {"location": "gone.data"})])
        paths = [write(model, tmp_path / name) for name in ("a.onnx", "b.onnx")]
        tensor = only_tensor(onnxmap.diff(*paths))
        assert "gone.data" in str(tensor.error)

    def test_an_unsafe_file_is_an_error(self, tmp_path: Path) -> None:
        model = model_of([external("t", [3], {"location": "../../etc/passwd"})])
        paths = [write(model, tmp_path / name) for name in ("a.onnx", "b.onnx")]
        assert "etc/passwd" in str(only_tensor(onnxmap.diff(*paths)).error)

    def test_tensors_that_share_bytes_too_often(self, tmp_path: Path) -> None:
        """A small model that names the same megabytes again and again costs no hours."""
        for name, byte in (("a", b"\0"), ("b", b"\0")):
            (tmp_path / f"{name}.data").write_bytes(byte * (4 << 20))
            tensors = [
                external(f"t{i}", [1 << 20], {"location": f"{name}.data"}) for i in range(300)
            ]
            write(model_of(tensors), tmp_path / f"{name}.onnx")
        with pytest.raises(onnxmap.LimitError, match=r"limits=Limits\(overlap=") as caught:
            onnxmap.diff(tmp_path / "a.onnx", tmp_path / "b.onnx")
        assert caught.value.code == "limit.overlap"
        limits = onnxmap.Limits(overlap=1_000)
        models = (onnxmap.load(tmp_path / f"{name}.onnx", limits=limits) for name in "ab")
        assert onnxmap.diff(*models).same


def test_segments_that_share_bytes_too_often(tmp_path: Path) -> None:
    for name in "ab":
        (tmp_path / f"{name}.data").write_bytes(bytes(4 << 20))
        pieces = []
        for tensor in range(300):
            for begin in (0, 2 << 20):
                entries = {
                    "location": f"{name}.data", "offset": str(begin), "length": str(2 << 20),
                }  # fmt: skip
                piece = external(f"t{tensor}", [4 << 20], entries, TensorProto.UINT8)
                piece.segment.begin, piece.segment.end = begin, begin + (2 << 20)
                pieces.append(piece)
        write(model_of(pieces), tmp_path / f"{name}.onnx")
    with pytest.raises(onnxmap.LimitError) as caught:
        onnxmap.diff(tmp_path / "a.onnx", tmp_path / "b.onnx")
    assert caught.value.code == "limit.overlap"


def test_the_same_range_of_one_file_is_not_read(tmp_path: Path) -> None:
    """It may be larger than the disk could deliver in a year."""
    with (tmp_path / "w.data").open("wb") as file:
        file.truncate(1 << 40)
    tensor = external("t", [1 << 38], {"location": "w.data"})
    paths = [
        write(model_of([tensor], producer_name=name), tmp_path / f"{name}.onnx") for name in "ab"
    ]
    found = onnxmap.diff(*paths)
    assert not found.tensors
    assert [one.where for one in found.metadata] == ["producer_name"]


def test_attributes_and_sparse_tensors() -> None:
    def model(value: float) -> Model:
        sparse = onnx.SparseTensorProto(
            values=floats("s", 2, value),
            indices=numpy_helper.from_array(np.array([1, 5], np.int64)),
            dims=[9],
        )
        node = helper.make_node("Constant", [], ["c"], name="k", value=floats("v", 3, value))
        graph = onnx.GraphProto(name="g", node=[node], sparse_initializer=[sparse])
        return onnxmap.loads(onnx.ModelProto(ir_version=10, graph=graph).SerializeToString())

    found = onnxmap.diff(model(0), model(2))
    assert [(one.where, one.max_abs) for one in found.tensors] == [
        ('graph.node[0].attribute["value"].t', 2.0),
        ("graph.sparse_initializer[0].values", 2.0),
    ]
    (node,) = found.nodes
    assert [one.where for one in node.changes] == ['attribute["value"].t']
    assert [one.where for one in found.other] == ["graph.sparse_initializer[0].values"]
