"""Inputs that cost other readers much memory are refused, or need little more than their size.

Memory is the growth of a child process's peak. Nothing here is timed.
"""

from __future__ import annotations

import pytest
from support import wire_bytes as wire
from support.processes.subprocesses import growth_kib
from support.run_options import SANITIZED

import onnxmap

MIB = 1024
# ASan's own memory makes peaks meaningless. The verdicts are still checked under ASan.
measures_memory = pytest.mark.skipif(SANITIZED, reason="memory is not measured under ASan")

EMPTY_INITIALIZERS = wire.blob(7, b"\x2a\x00" * 5_000_000)


def test_five_million_empty_initializers_are_over_the_limit() -> None:
    with pytest.raises(onnxmap.LimitError, match="tensors") as caught:
        onnxmap.loads(EMPTY_INITIALIZERS)
    assert caught.value.code == "limit.tensors"
    assert "1000000" in str(caught.value).replace("_", "").replace(",", "")
    assert "Limits" in str(caught.value)


def test_the_tensor_limit_is_exact() -> None:
    data = wire.blob(7, b"\x2a\x00" * 10)
    model = onnxmap.loads(data, limits=onnxmap.Limits(tensors=10))
    assert len(list(model.initializers.all())) == 10
    with pytest.raises(onnxmap.LimitError) as caught:
        onnxmap.loads(data, limits=onnxmap.Limits(tensors=9))
    assert caught.value.code == "limit.tensors"


def test_limits_have_the_documented_defaults() -> None:
    limits = onnxmap.Limits()
    assert (limits.tensors, limits.depth, limits.external_entries) == (1_000_000, 100, 64)
    with pytest.raises(TypeError):
        onnxmap.Limits(no_such_limit=1)


@measures_memory
def test_five_million_empty_initializers_with_the_limit_raised() -> None:
    facts = growth_kib(
        'wire.blob(7, b"\\x2a\\x00" * 5_000_000)',
        "model = onnxmap.loads(data, limits=onnxmap.Limits(tensors=5_000_000))",
    )
    assert facts["growth"] * 1024 < 64 * 5_000_000


@measures_memory
@pytest.mark.parametrize(
    "make",
    [
        'wire.blob(7, b"") * 5_000_000',
        '(wire.blob(7, b"") + wire.scalar(15, 1)) * 2_500_000',
        'wire.blob(7, b"") + wire.scalar(1, 1) * 5_000_000',
    ],
    ids=["empty graphs", "graphs and unknown fields", "one scalar over and over"],
)
def test_repeated_singular_fields_take_little(make: str) -> None:
    assert growth_kib(make)["growth"] < 16 * MIB


@measures_memory
@pytest.mark.parametrize(
    "make",
    [
        'wire.blob(7, b"") + wire.scalar(15, 1) * 5_000_000',
        'wire.blob(7, b"") + wire.blob(999, b"") * 3_333_333',
        'wire.blob(7, b"") + wire.group(15) * 5_000_000',
        "wire.blob(7, wire.scalar(3, 1) * 5_000_000)",
        "wire.blob(7, wire.blob(5, wire.scalar(99, 1) * 3_333_333))",
    ],
    ids=["varints", "empty lengths", "groups", "in the graph", "in a tensor"],
)
def test_unknown_fields_take_less_than_twice_their_bytes(make: str) -> None:
    facts = growth_kib(make)
    assert facts["growth"] < 2 * facts["size"]


@measures_memory
@pytest.mark.parametrize(
    "make",
    [
        'wire.blob(7, wire.blob(5, wire.scalar(2, 6) + wire.blob(5, b"\\x01" * 10_000_000)))',
        'wire.blob(7, wire.blob(5, wire.scalar(2, 7) + wire.blob(1, b"\\x01" * 10_000_000)))',
        'wire.blob(7, wire.blob(5, wire.scalar(2, 8) + wire.blob(6, b"") * 5_000_000))',
        'wire.blob(7, b"") + wire.blob(14, b"") * 5_000_000',
        'wire.blob(7, wire.blob(10, b"x" * 10**8) + wire.blob(5, wire.blob(8, b"x" * 10**6)))',
    ],
    ids=["int32_data", "dims", "string_data", "metadata_props", "doc_string and name"],
)
def test_nothing_is_decoded_at_load(make: str) -> None:
    facts = growth_kib(make)
    assert facts["growth"] < max(2 * 10_000, 0.1 * facts["size"])


@measures_memory
@pytest.mark.parametrize("length", ["1 << 31", "(1 << 32) + 3", "(1 << 63) - 1", "(1 << 64) - 1"])
def test_a_declared_length_allocates_nothing(length: str) -> None:
    facts = growth_kib(
        f'wire.tag(2, 2) + wire.varint({length}) + b"abc"',
        """
    try:
        onnxmap.loads(data)
    except onnxmap.ParseError:
        pass
    else:
        raise SystemExit("accepted")
    """,
    )
    assert facts["growth"] < MIB


@measures_memory
def test_declared_dims_allocate_nothing() -> None:
    facts = growth_kib(
        """wire.blob(
            7, wire.blob(5, wire.scalar(1, 1 << 40) + wire.scalar(2, 1) + wire.blob(9, b"1234"))
        )""",
        """
    tensor = next(iter(onnxmap.loads(data).initializers.all()))
    try:
        tensor.numpy()
    except onnxmap.TensorError as error:
        assert error.code == "tensor.data_size", error.code
        assert str(4 << 40) in str(error) and "4" in str(error), str(error)
    else:
        raise SystemExit("accepted")
    """,
    )
    assert facts["growth"] < MIB


def test_external_entries_are_limited() -> None:
    def model(count: int) -> bytes:
        entry = wire.blob(13, wire.blob(1, b"k") + wire.blob(2, b"v"))
        return wire.blob(7, wire.blob(5, wire.scalar(14, 1) + wire.scalar(2, 1) + entry * count))

    def read(count: int, limits: onnxmap.Limits | None = None) -> object:
        return next(iter(onnxmap.loads(model(count), limits=limits).initializers.all())).external

    for count, limits in ((65, None), (100_000, None), (9, onnxmap.Limits(external_entries=8))):
        with pytest.raises(onnxmap.LimitError) as caught:
            read(count, limits)
        assert caught.value.code == "limit.external_entries"
        assert "external_entries" in str(caught.value)
    with pytest.raises(onnxmap.ExternalDataError):  # within the limit: no location
        read(64)


def test_a_million_initializers_of_one_name() -> None:
    count = 100_000 if SANITIZED else 1_000_000
    data = wire.blob(7, wire.blob(5, wire.blob(8, b"same")) * count)
    model = onnxmap.loads(data)
    assert sum(1 for _ in model.initializers.all()) == count
    with pytest.raises(onnxmap.OnnxMapError) as caught:
        model.initializers["same"]
    assert caught.value.code == "model.duplicate_name"


def test_a_graph_in_too_many_pieces() -> None:
    data = wire.blob(7, wire.blob(10, b"")) * 3
    assert onnxmap.loads(data, limits=onnxmap.Limits(pieces=3)).graph.doc_string == ""
    with pytest.raises(onnxmap.LimitError, match="pieces") as caught:
        onnxmap.loads(data, limits=onnxmap.Limits(pieces=2))
    assert caught.value.code == "limit.pieces"


def test_limits_are_whole_numbers_in_range() -> None:
    for bad in ({"tensors": -1}, {"depth": 201}, {"tensors": 1 << 70}):
        with pytest.raises(ValueError, match=next(iter(bad))):
            onnxmap.Limits(**bad)
    with pytest.raises(TypeError):
        onnxmap.Limits(tensors=1.5)
