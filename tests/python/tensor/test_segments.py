"""Tensors stored in pieces (`TensorProto.segment`) are read as one if the pieces tile the tensor.

A piece has the dims and the type of the whole tensor. It stores the elements from `begin` up to but
not including `end`, in row-major order. Pieces belong together if they have the same name in the
same repeated field.
"""

from __future__ import annotations

import itertools
import random
from pathlib import Path

import numpy as np
import pytest
from support import wire_bytes as wire
from support.models.sample import floats
from support.oracles import tensor_encoder as encoder
from support.oracles.tensor_encoder import ELEMENT_TYPES, ElementType
from support.oracles.tensors import assert_same_array
from support.run_options import SANITIZED
from support.tensors.examples import STORAGES, example_of, storages_of

import onnxmap

GRAPH, INITIALIZER, NAME = 7, 5, 8
Range = tuple[int, int]


def segment(begin: int | None, end: int | None) -> bytes:
    """`TensorProto.segment`; a bound that is None is left out."""
    bounds = [wire.scalar(n, one) for n, one in ((1, begin), (2, end)) if one is not None]
    return wire.blob(encoder.SEGMENT, b"".join(bounds))


def head(kind: ElementType, shape: tuple[int, ...], name: str = "w") -> bytes:
    dims = b"".join(wire.scalar(encoder.DIMS, dim) for dim in shape)
    named = wire.blob(NAME, name.encode()) if name else b""
    return dims + wire.scalar(encoder.DATA_TYPE, kind.number) + named


def raw(kind: ElementType, elements: encoder.Elements) -> bytes:
    if kind.is_text:
        return b"".join(wire.blob(6, text) for text in elements)
    return wire.blob(9, encoder.raw_bytes(kind, elements))


def model_of(pieces: list[bytes], **options: object) -> onnxmap.Model:
    graph = b"".join(wire.blob(INITIALIZER, piece) for piece in pieces)
    return onnxmap.loads(wire.blob(GRAPH, graph), **options)


FLOAT = ELEMENT_TYPES["FLOAT"]
VALUES = np.arange(12, dtype=np.float32).reshape(3, 4)
CODES = [int(code) for code in VALUES.view(np.uint32).ravel()]


def piece(begin: int, end: int, stored: Range | None = None, name: str = "w") -> bytes:
    """A piece of VALUES. `stored` are the elements it has, if they are not those it claims."""
    first, last = stored or (begin, end)
    return head(FLOAT, (3, 4), name) + segment(begin, end) + raw(FLOAT, CODES[first:last])


GOOD = floats("good", 2).SerializeToString()
TILINGS: dict[str, list[Range]] = {
    "two": [(0, 5), (5, 12)],
    "backwards": [(7, 12), (0, 7)],
    "any order": [(4, 6), (0, 1), (11, 12), (6, 11), (1, 4)],
    "one by one": [(i, i + 1) for i in range(12)],
    "alone": [(0, 12)],
}


@pytest.mark.parametrize("name", TILINGS)
def test_pieces_that_tile_read_as_one(name: str) -> None:
    pieces = [piece(*one) for one in TILINGS[name]]
    model = model_of([pieces[0], GOOD, *pieces[1:]])
    tensor = model.initializers["w"]
    assert_same_array(tensor.numpy(), VALUES)
    assert (tensor.shape, tensor.size, tensor.dtype) == ((3, 4), 12, FLOAT.number)
    assert tensor.tobytes() == VALUES.tobytes()
    assert_same_array(tensor[1:, ::2], VALUES[1:, ::2])
    assert_same_array(np.asarray(tensor), VALUES)
    assert not tensor.numpy().flags.writeable
    views = model.views()
    assert sorted(views) == ["good", "w"]
    assert_same_array(views["w"], VALUES)
    assert sorted(model.initializers) == ["good", "w"]
    assert tensor.is_view == (len(pieces) == 1)


@pytest.mark.parametrize("name", TILINGS)
def test_every_piece_s_own_tensor_reads_as_the_whole(name: str) -> None:
    model = model_of([GOOD, *(piece(*one) for one in TILINGS[name])])
    found = [tensor for tensor in model.initializers.all() if tensor.name == "w"]
    assert len(found) == len(TILINGS[name])
    for tensor in found:
        assert_same_array(tensor.numpy(), VALUES)
    walked = [tensor for where, tensor in model.tensors() if tensor.name == "w"]
    assert [one.numpy().tolist() for one in walked] == [VALUES.tolist()] * len(found)


def test_arguments_of_numpy() -> None:
    tensor = model_of([piece(0, 5), piece(5, 12)]).initializers["w"]
    with pytest.raises(ValueError, match="copy"):
        tensor.numpy(copy=False)
    out = np.zeros((4, 3), np.float64).T
    assert tensor.numpy(out=out) is out
    assert out.tolist() == VALUES.tolist()
    assert tensor.numpy(dtype=np.float16).tolist() == VALUES.tolist()
    writable = tensor.numpy(writable=True)
    writable[0, 0] = 7
    assert_same_array(tensor.numpy(), VALUES)


@pytest.mark.parametrize("name", ELEMENT_TYPES)
def test_each_type_in_each_storage(name: str, tmp_path: Path) -> None:
    """Each piece is packed separately, has an odd size, and uses any of the storages."""
    kind = ELEMENT_TYPES[name]
    rng = random.Random(name)
    whole = example_of(kind, (5, 7), "raw" if not kind.is_text else "unpacked")
    cuts = [0, 3, 4, 17, 34, 35]
    for shift in range(len(STORAGES)):
        pieces = []
        for index, (begin, end) in enumerate(itertools.pairwise(cuts)):
            storages = storages_of(kind)
            storage = storages[(index + shift) % len(storages)]
            elements = whole.elements[begin:end]
            if storage == "external":
                data = encoder.raw_bytes(kind, elements)
                (tmp_path / f"{shift}{index}").write_bytes(b"." * index + data + b"...")
                fields = encoder.external_fields(f"{shift}{index}", index, len(data))
            elif storage == "raw":
                fields = [raw(kind, elements)]
            else:
                fields = encoder.typed_fields(kind, elements, storage, rng)
            pieces.append(head(kind, (5, 7)) + segment(begin, end) + b"".join(fields))
        rng.shuffle(pieces)
        tensor = model_of(pieces, external_root=tmp_path).initializers["w"]
        assert_same_array(tensor.numpy(), whole.array)
        if not kind.is_text:
            assert tensor.tobytes() == encoder.raw_bytes(kind, whole.elements)


def other_head(kind: ElementType, shape: tuple[int, ...]) -> bytes:
    return head(kind, shape) + segment(5, 12) + raw(FLOAT, CODES[5:])


INT32 = ELEMENT_TYPES["INT32"]
TOGETHER_BAD: dict[str, list[bytes]] = {
    "a gap": [piece(0, 5), piece(6, 12)],
    "a gap at the start": [piece(1, 5), piece(5, 12)],
    "a gap at the end": [piece(0, 5), piece(5, 11)],
    "an overlap": [piece(0, 6), piece(5, 12)],
    "the same piece twice": [piece(0, 12), piece(0, 12)],
    "one piece of two twice": [piece(0, 5), piece(5, 12), piece(5, 12)],
    "past the end": [piece(0, 5), piece(5, 13, (5, 12))],
    "far past the end": [piece(0, 5), piece(5, (1 << 63) - 1, (5, 12))],
    "a negative begin": [piece(-1, 5, (0, 5)), piece(5, 12)],
    "a negative end": [piece(0, 5), piece(5, -12, (5, 12))],
    "end before begin": [piece(5, 0, (0, 5)), piece(5, 12)],
    "sums that only look right": [piece(0, 8), piece(4, 8)],
    "no end": [head(FLOAT, (3, 4)) + segment(0, None) + raw(FLOAT, CODES[:5]), piece(5, 12)],
    "other dims": [piece(0, 5), other_head(FLOAT, (4, 3))],
    "another rank": [piece(0, 5), other_head(FLOAT, (12,))],
    "another type": [piece(0, 5), other_head(INT32, (3, 4))],
    "alone at the start": [piece(0, 5)],
    "alone at the end": [piece(5, 12)],
    "alone and too long": [piece(0, 13, (0, 12))],
}  # fmt: skip


@pytest.mark.parametrize("name", TOGETHER_BAD)
def test_pieces_that_do_not_tile_are_refused(name: str) -> None:
    model = model_of([*TOGETHER_BAD[name], GOOD])
    tensors = [one for one in model.initializers.all() if one.name == "w"]
    for read in (model.initializers["w"].numpy, model.views, *(one.numpy for one in tensors)):
        with pytest.raises(onnxmap.TensorError) as caught:
            read()
        assert (caught.value.code, caught.value.tensor) == ("tensor.segment", "w")
        assert "'w'" in str(caught.value)
    for read in (tensors[0].tobytes, lambda: tensors[0][:1], lambda: np.asarray(tensors[0])):
        with pytest.raises(onnxmap.TensorError):
            read()
    assert not tensors[0].is_view
    assert model.initializers["good"].numpy().tolist() == [0.0, 1.0]
    assert model.views(["good"])["good"].tolist() == [0.0, 1.0]


BAD_PIECES = {
    "too few elements": (piece(5, 12, (5, 11)), "tensor.data_size"),
    "too many elements": (piece(5, 12, (4, 12)), "tensor.data_size"),
    "no data": (head(FLOAT, (3, 4)) + segment(5, 12), "tensor.data_size"),
    "the whole tensor's data": (piece(5, 12, (0, 12)), "tensor.data_size"),
    "data in two places": (piece(5, 12) + wire.blob(4, bytes(28)), "tensor.ambiguous_data"),
    "the wrong field": (
        head(FLOAT, (3, 4)) + segment(5, 12) + wire.blob(5, b"\1" * 7), "tensor.wrong_field",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", BAD_PIECES)
def test_a_bad_piece_affects_only_its_tensor(name: str) -> None:
    bad, code = BAD_PIECES[name]
    model = model_of([piece(0, 5), bad, GOOD])
    with pytest.raises(onnxmap.TensorError) as caught:
        model.initializers["w"].numpy()
    assert (caught.value.code, caught.value.tensor) == (code, "w")
    assert model.initializers["good"].numpy().tolist() == [0.0, 1.0]


def test_a_missing_file_of_one_piece(tmp_path: Path) -> None:
    outside = head(FLOAT, (3, 4)) + segment(5, 12)
    outside += b"".join(encoder.external_fields("missing.bin", 0, None))
    tensor = model_of([piece(0, 5), outside], external_root=tmp_path).initializers["w"]
    with pytest.raises(onnxmap.ExternalDataError) as caught:
        tensor.numpy()
    assert caught.value.code == "ext.missing"


def test_a_name_that_is_shared_with_a_whole_tensor_stays_a_duplicate() -> None:
    whole = head(FLOAT, (3, 4)) + raw(FLOAT, CODES)
    model = model_of([piece(0, 5), whole, piece(5, 12)])
    for read in (lambda: model.initializers["w"], lambda: model.views(["w"])):
        with pytest.raises(onnxmap.ParseError) as caught:
            read()
        assert caught.value.code == "model.duplicate_name"
    assert_same_array(list(model.initializers.all())[1].numpy(), VALUES)


def test_unnamed_pieces_do_not_belong_together() -> None:
    tensors = list(model_of([piece(0, 5, name=""), piece(5, 12, name="")]).initializers.all())
    for index, tensor in enumerate(tensors):
        with pytest.raises(onnxmap.TensorError) as caught:
            tensor.numpy()
        assert caught.value.code == "tensor.segment"
        assert caught.value.tensor == f"graph.initializer[{index}]"
    (alone,) = model_of([piece(0, 12, name="")]).initializers.all()
    assert_same_array(alone.numpy(), VALUES)


def test_pieces_of_other_graphs_do_not_belong_here() -> None:
    """In a subgraph, an initializer of the same name is another tensor."""
    inner = wire.blob(INITIALIZER, piece(5, 12))
    node = wire.blob(5, wire.blob(1, b"g") + wire.blob(6, inner))
    graph = wire.blob(INITIALIZER, piece(0, 5)) + wire.blob(1, node)
    model = onnxmap.loads(wire.blob(GRAPH, graph))
    with pytest.raises(onnxmap.TensorError) as caught:
        model.initializers["w"].numpy()
    assert caught.value.code == "tensor.segment"
    both = wire.blob(INITIALIZER, piece(0, 5)) + inner
    node = wire.blob(5, wire.blob(1, b"g") + wire.blob(6, both))
    graph = onnxmap.loads(wire.blob(GRAPH, wire.blob(1, node))).graph.nodes[0].attributes["g"].value
    assert_same_array(graph.initializers["w"].numpy(), VALUES)


def test_pieces_in_the_tensors_of_an_attribute() -> None:
    pieces = b"".join(wire.blob(10, one) for one in (piece(5, 12), GOOD, piece(0, 5)))
    node = wire.blob(5, wire.blob(1, b"a") + pieces)
    model = onnxmap.loads(wire.blob(GRAPH, wire.blob(1, node)))
    tensors = model.graph.nodes[0].attributes["a"].value
    assert [one.numpy().tolist() for one in tensors] == [
        VALUES.tolist(),
        [0.0, 1.0],
        VALUES.tolist(),
    ]
    walked = dict(model.tensors())
    assert_same_array(walked['graph.node[0].attribute["a"].tensors[2]'].numpy(), VALUES)


def test_pieces_in_a_graph_that_is_stored_in_two() -> None:
    """The repeated `graph` fields are merged, so the pieces are in one list."""
    parts = [wire.blob(GRAPH, wire.blob(INITIALIZER, one)) for one in (piece(0, 5), piece(5, 12))]
    model = onnxmap.loads(b"".join(parts))
    assert_same_array(model.initializers["w"].numpy(), VALUES)


def test_a_segment_that_says_nothing_means_nothing() -> None:
    whole = head(FLOAT, (3, 4)) + segment(None, None) + raw(FLOAT, CODES)
    model = model_of([whole, GOOD])
    assert_same_array(model.initializers["w"].numpy(), VALUES)
    assert model.initializers["w"].is_view
    assert_same_array(model.views()["w"], VALUES)
    assert model.check(select="tensor.segment").ok


def test_a_piece_in_a_field_or_file_of_its_own(tmp_path: Path) -> None:
    node = wire.blob(1, wire.blob(5, wire.blob(1, b"a") + wire.blob(5, piece(0, 5))))
    tensor = onnxmap.loads(wire.blob(GRAPH, node)).graph.nodes[0].attributes["a"].value
    with pytest.raises(onnxmap.TensorError) as caught:
        tensor.numpy()
    assert caught.value.code == "tensor.segment"
    (tmp_path / "piece.pb").write_bytes(piece(0, 5))
    (tmp_path / "whole.pb").write_bytes(piece(0, 12))
    with pytest.raises(onnxmap.TensorError) as caught:
        onnxmap.load_tensor(tmp_path / "piece.pb").numpy()
    assert caught.value.code == "tensor.segment"
    assert_same_array(onnxmap.load_tensor(tmp_path / "whole.pb").numpy(), VALUES)


@pytest.mark.parametrize("io", ["mmap", "read"])
def test_from_a_file_after_the_model_is_gone(io: str, tmp_path: Path) -> None:
    path = tmp_path / "model.onnx"
    graph = b"".join(wire.blob(INITIALIZER, one) for one in (piece(5, 12), piece(0, 5)))
    path.write_bytes(wire.blob(GRAPH, graph))
    with onnxmap.load(path, io=io) as model:
        tensor = model.initializers["w"]
        names = model.initializers.names()
    assert names == ["w", "w"]
    assert_same_array(tensor.numpy(), VALUES)


def test_very_many_pieces() -> None:
    """The work grows with the number of pieces, not with its square."""
    count = 10_000 if SANITIZED else 100_000
    kind = ELEMENT_TYPES["UINT8"]
    start = head(kind, (count,))
    pieces = [start + segment(i, i + 1) + wire.blob(9, bytes([i % 251])) for i in range(count)]
    random.Random(1).shuffle(pieces)
    model = model_of(pieces)
    expected = (np.arange(count) % 251).astype(np.uint8)
    assert_same_array(model.initializers["w"].numpy(), expected)
    assert list(model.views()) == ["w"]
