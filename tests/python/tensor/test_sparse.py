"""`SparseTensor`: both forms of indices, dense and SciPy forms, and invalid indices."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse as scipy_sparse
from support import wire_bytes as wire
from support.models.sample import floats
from support.oracles import tensor_encoder as encoder
from support.oracles.tensor_encoder import ELEMENT_TYPES, ElementType
from support.oracles.tensors import assert_same_array
from support.processes.subprocesses import growth_kib
from support.run_options import SANITIZED
from support.tensors.examples import example_of, storages_of

import onnxmap

GRAPH, INITIALIZER, SPARSE_INITIALIZER = 7, 5, 15
VALUES, INDICES, DIMS = 1, 2, 3
INT64, FLOAT = ELEMENT_TYPES["INT64"], ELEMENT_TYPES["FLOAT"]
Shape = tuple[int, ...]


def tensor(
    kind: ElementType, shape: Sequence[int], data: list[bytes], name: str = ""
) -> bytes:  # fmt: skip
    dims = b"".join(wire.scalar(encoder.DIMS, dim) for dim in shape)
    named = wire.blob(encoder.NAME, name.encode()) if name else b""
    return named + dims + wire.scalar(encoder.DATA_TYPE, kind.number) + b"".join(data)


def stored(
    kind: ElementType, shape: Shape, elements: encoder.Elements, storage: str, name: str = ""
) -> bytes:
    """A tensor stored in one of the ways inside the file."""
    if storage == "raw":
        return tensor(kind, shape, [wire.blob(9, encoder.raw_bytes(kind, elements))], name)
    rng = random.Random(str(elements))
    return tensor(kind, shape, encoder.typed_fields(kind, elements, storage, rng), name)


def int64(values: Sequence[int]) -> list[int]:
    return [value & ((1 << 64) - 1) for value in values]


def floats_at(count: int, name: str = "s") -> bytes:
    codes = [int(code) for code in np.arange(1, count + 1, dtype=np.float32).view(np.uint32)]
    return stored(FLOAT, (count,), codes, "raw", name)


def linear(*positions: int) -> bytes:
    return stored(INT64, (len(positions),), int64(positions), "packed")


def tuples(*positions: Shape, rank: int | None = None) -> bytes:
    width = len(positions[0]) if rank is None else rank
    flat = [index for position in positions for index in position]
    return stored(INT64, (len(positions), width), int64(flat), "raw")


def sparse(dims: Sequence[int], values: bytes, indices: bytes) -> bytes:
    shape = b"".join(wire.scalar(DIMS, dim) for dim in dims)
    return wire.blob(VALUES, values) + wire.blob(INDICES, indices) + shape


def load(message: bytes, **options: object) -> onnxmap.Model:
    good = floats("good", 2).SerializeToString()
    graph = wire.blob(INITIALIZER, good) + wire.blob(SPARSE_INITIALIZER, message)
    return onnxmap.loads(wire.blob(GRAPH, graph), **options)


def sparse_of(message: bytes, **options: object) -> onnxmap.SparseTensor:
    return load(message, **options).graph.sparse_initializers["s"]


def placed(shape: Shape, positions: Sequence[Shape]) -> np.ndarray:
    """The dense form of `floats_at(len(positions))`."""
    dense = np.zeros(shape, np.float32)
    for number, position in enumerate(positions, 1):
        dense[position] = number
    return dense


PLACES: dict[str, tuple[Shape, list[Shape]]] = {
    "vector": ((5,), [(0,), (3,)]),
    "matrix": ((3, 4), [(0, 1), (0, 3), (2, 0)]),
    "every element": ((2, 2), [(0, 0), (0, 1), (1, 0), (1, 1)]),
    "cube": ((2, 3, 4), [(0, 0, 3), (0, 2, 0), (1, 0, 0), (1, 2, 3)]),
    "rank 6": ((2, 1, 3, 1, 1, 2), [(0, 0, 1, 0, 0, 1), (1, 0, 2, 0, 0, 0)]),
    "last one alone": ((7, 9), [(6, 8)]),
    "nothing": ((3, 4), []),
    "no elements": ((0, 4), []),
}


@pytest.mark.parametrize("form", ["linear", "tuples"])
@pytest.mark.parametrize("name", PLACES)
def test_both_forms_of_indices(name: str, form: str) -> None:
    shape, positions = PLACES[name]
    if form == "linear":
        indices = linear(*(int(np.ravel_multi_index(p, shape)) for p in positions))
    else:
        indices = tuples(*positions, rank=len(shape))
    found = sparse_of(sparse(shape, floats_at(len(positions)), indices))
    assert (found.name, found.shape, found.nnz) == ("s", shape, len(positions))
    assert found.dtype == onnxmap.DataType.FLOAT
    assert found.values.numpy().tolist() == list(range(1, len(positions) + 1))
    assert found.indices.numpy().size == len(positions) * (1 if form == "linear" else len(shape))
    dense, expected = found.to_dense(), placed(shape, positions)
    assert_same_array(dense, expected)
    assert dense.flags.writeable
    dense[...] = 9
    assert_same_array(found.to_dense(), expected)
    coo = found.to_scipy()
    assert isinstance(coo, scipy_sparse.coo_array)
    assert (coo.shape, coo.nnz, coo.dtype) == (shape, len(positions), np.float32)
    assert_same_array(coo.toarray(), expected)


@pytest.mark.parametrize("name", [name for name in ELEMENT_TYPES if name != "FLOAT8E8M0"])
def test_every_type_of_values_in_every_storage(name: str) -> None:
    """All types except FLOAT8E8M0, which has no zero for the gaps."""
    kind = ELEMENT_TYPES[name]
    elements = example_of(kind, (3,), "raw").elements
    dense = encoder.expected_array(kind, (6,), [b""] * 6 if kind.is_text else [0] * 6).copy()
    for position, value in zip(
        (1, 2, 5), encoder.expected_array(kind, (3,), elements), strict=True
    ):
        dense[position] = value
    if not kind.is_text:  # NumPy may quiet a NaN when it copies single elements
        width = dense.itemsize
        flat = bytearray(6 * width)
        data = encoder.expected_array(kind, (3,), elements).tobytes()
        for number, position in enumerate((1, 2, 5)):
            flat[position * width : (position + 1) * width] = data[number * width :][:width]
        dense = np.frombuffer(flat, kind.dtype)
    for storage in set(storages_of(kind)) - {"external"}:
        values = stored(kind, (3,), elements, storage, "s")
        for storage_of_indices in ("raw", "packed", "unpacked", "mixed"):
            indices = stored(INT64, (3,), [1, 2, 5], storage_of_indices)
            found = sparse_of(sparse((2, 3), values, indices))
            assert_same_array(found.to_dense(), dense.reshape(2, 3))


def test_external_values_and_indices(tmp_path: Path) -> None:
    (tmp_path / "w.bin").write_bytes(np.float32([1, 2]).tobytes() + np.int64([4, 7]).tobytes())
    values = tensor(FLOAT, [2], encoder.external_fields("w.bin", 0, 8), "s")
    indices = tensor(INT64, [2], encoder.external_fields("w.bin", 8, 16))
    found = sparse_of(sparse((3, 3), values, indices), external_root=tmp_path)
    assert_same_array(found.to_dense(), placed((3, 3), [(1, 1), (2, 1)]))


@pytest.mark.parametrize("name", ["INT8", "UINT16", "INT64", "DOUBLE", "COMPLEX64", "BOOL"])
def test_scipy_s_own_types(name: str) -> None:
    kind = ELEMENT_TYPES[name]
    values = stored(kind, (2,), [1, 1], "raw", "s")
    coo = sparse_of(sparse((2, 3), values, tuples((0, 2), (1, 0)))).to_scipy()
    assert coo.dtype == kind.dtype
    assert [axis.tolist() for axis in coo.coords] == [[0, 1], [2, 0]]
    assert coo.data.tobytes() == encoder.raw_bytes(kind, [1, 1])


def test_in_an_attribute() -> None:
    message = sparse((4,), floats_at(1), linear(2))
    attribute = wire.blob(1, b"a") + wire.blob(22, message) + wire.blob(23, message) * 2
    model = onnxmap.loads(wire.blob(GRAPH, wire.blob(1, wire.blob(5, attribute))))
    fields = model.proto.graph.node[0].attribute[0]
    for found in map(onnxmap.wrap, [fields.sparse_tensor, *fields.sparse_tensors]):
        assert found.to_dense().tolist() == [0.0, 0.0, 1.0, 0.0]
        assert (found.name, found.nnz) == ("s", 1)
    assert len(fields.sparse_tensors) == 2


@dataclass(frozen=True)
class Bad:
    message: bytes
    code: str


def bad(code: str, dims: Sequence[int], values: bytes, indices: bytes) -> Bad:
    return Bad(sparse(dims, values, indices), code)


def reshaped(shape: Shape) -> bytes:
    """As many INT64 zeros as a tensor of this shape has elements."""
    return stored(INT64, shape, [0] * math.prod(shape), "raw")


INDEX_TYPES = ["FLOAT", "INT32", "UINT64", "DOUBLE", "INT4", "BOOL"]
CODE_COUNT, CODE_RANGE, CODE_RANK = (
    "tensor.sparse_count",
    "tensor.sparse_range",
    "tensor.sparse_rank",
)
MATRIX = stored(FLOAT, (2, 1), [0, 0], "raw", "s")
BAD: dict[str, Bad] = {
    **{
        f"indices of {name}": bad(
            "tensor.sparse_dtype", [9], floats_at(2),
            stored(ELEMENT_TYPES[name], (2,), [0, 1], "raw"),
        )
        for name in INDEX_TYPES
    },
    "indices of strings": bad(
        "tensor.sparse_dtype", [9], floats_at(1),
        stored(ELEMENT_TYPES["STRING"], (1,), [b"0"], "unpacked"),
    ),
    "values of rank 2": bad(CODE_RANK, [9], MATRIX, linear(0, 1)),
    "values of rank 0": bad(CODE_RANK, [9], stored(FLOAT, (), [0], "raw", "s"), linear(0)),
    "indices of rank 0": bad(CODE_RANK, [9], floats_at(1), reshaped(())),
    "indices of rank 3": bad(CODE_RANK, [9], floats_at(2), reshaped((2, 1, 1))),
    "too few indices in a tuple": bad(CODE_RANK, [3, 3], floats_at(2), reshaped((2, 1))),
    "too many indices in a tuple": bad(CODE_RANK, [3, 3], floats_at(2), reshaped((2, 3))),
    "transposed tuples": bad(CODE_RANK, [3, 3, 3], floats_at(2), reshaped((3, 2))),
    "fewer indices": bad(CODE_COUNT, [9], floats_at(3), linear(0, 1)),
    "more indices": bad(CODE_COUNT, [9], floats_at(1), linear(0, 1)),
    "no indices": bad(CODE_COUNT, [9], floats_at(1), linear()),
    "no values": bad(CODE_COUNT, [9], floats_at(0), linear(1)),
    "fewer tuples": bad(CODE_COUNT, [3, 3], floats_at(3), tuples((0, 0), (1, 1))),
    "negative": bad(CODE_RANGE, [9], floats_at(2), linear(-1, 1)),
    "lowest": bad(CODE_RANGE, [9], floats_at(1), linear(-(1 << 63))),
    "at the end": bad(CODE_RANGE, [9], floats_at(2), linear(0, 9)),
    "at the end of a matrix": bad(CODE_RANGE, [3, 4], floats_at(1), linear(12)),
    "far": bad(CODE_RANGE, [9], floats_at(1), linear((1 << 63) - 1)),
    "into the next row": bad(CODE_RANGE, [3, 4], floats_at(1), tuples((0, 4))),
    "past the rows": bad(CODE_RANGE, [3, 4], floats_at(1), tuples((3, 0))),
    "negative column": bad(CODE_RANGE, [3, 4], floats_at(1), tuples((1, -1))),
    "wraps around 2^64": bad(CODE_RANGE, [4, 4], floats_at(1), tuples(((1 << 62), 0))),
    "in no elements": bad(CODE_RANGE, [0], floats_at(1), linear(0)),
    "falling": bad("tensor.sparse_order", [9], floats_at(2), linear(3, 1)),
    "falling later": bad("tensor.sparse_order", [9], floats_at(4), linear(0, 3, 5, 4)),
    "falling rows": bad("tensor.sparse_order", [3, 3], floats_at(2), tuples((2, 1), (1, 2))),
    "falling columns": bad("tensor.sparse_order", [3, 3], floats_at(2), tuples((1, 2), (1, 1))),
    "twice": bad("tensor.sparse_duplicate", [9], floats_at(2), linear(3, 3)),
    "tuple twice": bad("tensor.sparse_duplicate", [3, 3], floats_at(2), tuples((1, 2), (1, 2))),
    "product past 2^63": bad("tensor.sparse_overflow", [1 << 32, 1 << 32], floats_at(1), linear(0)),
    "product of 2^63": bad("tensor.sparse_overflow", [1 << 62, 2], floats_at(1), tuples((0, 0))),
    "product of many": bad("tensor.sparse_overflow", [2] * 63, floats_at(1), linear(0)),
    "negative dim": bad("tensor.negative_dim", [-1], floats_at(1), linear(0)),
    "rank 65": bad("tensor.rank", [1] * 65, floats_at(1), linear(0)),
    "values too short": bad(
        "tensor.data_size", [9], tensor(FLOAT, [2], [wire.blob(9, b"1234")], "s"), linear(0, 1)
    ),
    "indices too short": bad(
        "tensor.data_size", [9], floats_at(2), tensor(INT64, [2], [wire.blob(7, b"\1")])
    ),
    "values of no type": bad(
        "tensor.dtype", [9], wire.blob(8, b"s") + wire.scalar(1, 1) + wire.blob(9, b"1234"),
        linear(0),
    ),
    "values in two places": bad(
        "tensor.ambiguous_data", [9], floats_at(1) + wire.blob(4, b"1234"), linear(0)
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", BAD)
def test_refused_with_its_code(name: str) -> None:
    case = BAD[name]
    model = load(case.message)
    found = model.graph.sparse_initializers["s"]
    assert found.name == "s"
    assert "\n" not in repr(found)
    for read in (found.to_dense, found.to_scipy, lambda: found.to_dense(max_bytes=1 << 62)):
        with pytest.raises(onnxmap.TensorError) as caught:
            read()
        assert caught.value.code == case.code
        assert caught.value.tensor
    if case.code.startswith("tensor.sparse"):
        assert caught.value.tensor == "s"
        assert "'s'" in str(caught.value)
    assert model.initializers["good"].numpy().tolist() == [0.0, 1.0]
    assert len(model.tensors()) == 3


@pytest.mark.parametrize(
    ("fields", "code"),
    [
        (wire.blob(INDICES, linear(1)), "tensor.dtype"),
        (wire.blob(VALUES, floats_at(1)), "tensor.sparse_dtype"),
        (b"", "tensor.dtype"),
    ],
    ids=["no values", "no indices", "nothing"],
)
def test_without_values_or_indices(fields: bytes, code: str) -> None:
    graph = wire.blob(SPARSE_INITIALIZER, fields + wire.scalar(DIMS, 4))
    (found,) = onnxmap.loads(wire.blob(GRAPH, graph)).proto.graph.sparse_initializer
    with pytest.raises(onnxmap.TensorError) as caught:
        onnxmap.wrap(found).to_dense()
    assert caught.value.code == code
    assert caught.value.tensor in ("s", "graph.sparse_initializer[0]")


def test_many_indices_without_coordinates() -> None:
    """Indices of shape [n, 0] have no bytes, so a small file can claim any number of them."""
    many = 1 << 50
    message = sparse((), tensor(FLOAT, [many], [], "s"), tensor(INT64, [many, 0], []))
    with pytest.raises(onnxmap.TensorError) as caught:
        sparse_of(message).to_dense()
    assert caught.value.code == "tensor.sparse_duplicate"


def test_an_unnamed_sparse_tensor_is_named_by_its_path() -> None:
    message = sparse((4,), floats_at(1, name=""), linear(9))
    attribute = wire.blob(1, b"a") + wire.blob(22, message)
    model = onnxmap.loads(wire.blob(GRAPH, wire.blob(1, wire.blob(5, attribute))))
    with pytest.raises(onnxmap.TensorError) as caught:
        model.graph.nodes[0].attributes["a"].value.to_dense()
    assert caught.value.code == "tensor.sparse_range"
    assert caught.value.tensor == 'graph.node[0].attribute["a"].sparse_tensor'


def test_messages_have_the_numbers() -> None:
    """They name the bad entry, and the range that is allowed."""
    words = {"fewer indices": "3 2", "at the end": "9", "falling later": "4 5", "twice": "3"}
    for name, numbers in words.items():
        with pytest.raises(onnxmap.TensorError) as caught:
            sparse_of(BAD[name].message).to_dense()
        for number in numbers.split():
            assert number in str(caught.value), (name, str(caught.value))


def test_the_dense_form_has_a_limit() -> None:
    huge = sparse((1 << 20, 1 << 20), floats_at(1), tuples((7, 1 << 19)))
    found = sparse_of(huge)
    assert (found.shape, found.nnz, found.dtype) == ((1 << 20, 1 << 20), 1, 1)
    for arguments in ({}, {"max_bytes": None}, {"max_bytes": (4 << 40) - 1}, {"max_bytes": 0}):
        with pytest.raises(onnxmap.LimitError, match="dense_bytes") as caught:
            found.to_dense(**arguments)
        assert caught.value.code == "limit.dense_bytes"
        assert str(4 << 40) in str(caught.value)
        assert "max_bytes" in str(caught.value)
    coo = found.to_scipy()
    assert (coo.shape, coo.nnz) == ((1 << 20, 1 << 20), 1)
    assert [axis.tolist() for axis in coo.coords] == [[7], [1 << 19]]


def test_the_limit_is_exact() -> None:
    message = sparse((10, 10), floats_at(1), linear(3))
    with pytest.raises(onnxmap.LimitError):
        sparse_of(message).to_dense(max_bytes=399)
    assert sparse_of(message).to_dense(max_bytes=400).sum() == 1.0
    tight, enough = onnxmap.Limits(dense_bytes=399), onnxmap.Limits(dense_bytes=400)
    with pytest.raises(onnxmap.LimitError):
        sparse_of(message, limits=tight).to_dense()
    assert sparse_of(message, limits=enough).to_dense().shape == (10, 10)
    assert sparse_of(message, limits=tight).to_dense(max_bytes=400).shape == (10, 10)
    assert onnxmap.Limits().dense_bytes == 1 << 30


@pytest.mark.skipif(SANITIZED, reason="memory is not measured under ASan")
def test_nothing_is_allocated_for_a_dense_form_that_is_refused() -> None:
    facts = growth_kib(
        f"wire.blob(7, wire.blob(15, {BAD['indices too short'].message!r}) + wire.blob(15, "
        f"{sparse((1 << 20, 1 << 20), floats_at(1), linear(5))!r}))",
        """
    refused = 0
    for sparse in onnxmap.loads(data).graph.proto.sparse_initializer:
        try:
            onnxmap.wrap(sparse).to_dense()
        except (onnxmap.TensorError, onnxmap.LimitError):
            refused += 1
    assert refused == 2, refused
    """,
    )
    assert facts["growth"] < 1024
