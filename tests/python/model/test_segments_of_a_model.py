"""Segments in a model: names, sizes and places, and bytes that change after joining."""

from __future__ import annotations

import pickle
import resource
from pathlib import Path

import numpy as np
import pytest
from onnx import GraphProto, ModelProto, SparseTensorProto, TensorProto, helper

import onnxmap

COUNT = 4096


def piece(name: str, begin: int, end: int, count: int = COUNT) -> TensorProto:
    return TensorProto(
        name=name,
        data_type=TensorProto.FLOAT,
        dims=[count],
        raw_data=np.arange(begin, end, dtype=np.float32).tobytes(),
        segment=TensorProto.Segment(begin=begin, end=end),
    )


def model_of(*tensors: TensorProto) -> bytes:
    graph = GraphProto(name="g", initializer=tensors)
    return ModelProto(ir_version=13, graph=graph).SerializeToString()


def halves(name: str = "w") -> list[TensorProto]:
    return [piece(name, 0, COUNT // 2), piece(name, COUNT // 2, COUNT)]


@pytest.mark.parametrize("order", [0, 1, 2])
def test_a_plain_tensor_of_the_same_name_is_a_duplicate_at_any_place(order: int) -> None:
    tensors = halves()
    tensors.insert(order, TensorProto(name="w", data_type=1, dims=[1], float_data=[7]))
    model = onnxmap.loads(model_of(*tensors))
    for read in (model.views, lambda: model.views(["w"]), lambda: model.initializers["w"]):
        with pytest.raises(onnxmap.ParseError) as caught:
            read()
        assert caught.value.code == "model.duplicate_name"


def test_places_and_sizes_are_those_of_the_whole_tensor(tmp_path: Path) -> None:
    path = tmp_path / "m.onnx"
    path.write_bytes(model_of(*halves()))
    model = onnxmap.load(path)
    whole = model.initializers["w"]
    assert whole.nbytes == whole.numpy().nbytes == 4 * COUNT
    assert (whole.file, whole.offset) == (None, None)
    assert model.nbytes == sum(model.initializers.nbytes()) == 4 * COUNT


def test_typed_pieces_count_once() -> None:
    tensors = []
    for begin in range(0, 8, 2):
        made = piece("w", begin, begin + 2, 8)
        made.ClearField("raw_data")
        made.float_data.extend([begin, begin + 1])
        tensors.append(made)
    model = onnxmap.loads(model_of(*tensors))
    assert model.initializers.nbytes() == [8] * 4
    assert model.nbytes == model.initializers["w"].nbytes == 32


def small_pieces(count: int, dtype: int = TensorProto.INT32) -> bytes:
    """A tensor with a segment for each element."""
    tensors = []
    for i in range(count):
        made = TensorProto(name="w", data_type=dtype, dims=[count])
        made.segment.begin, made.segment.end = i, i + 1
        if dtype == TensorProto.STRING:
            made.string_data.append(b"s%d" % i)
        else:
            made.int32_data.append(i)
        tensors.append(made)
    return model_of(*tensors)


@pytest.mark.parametrize("dtype", [TensorProto.INT32, TensorProto.STRING, TensorProto.INT4])
def test_a_tensor_in_many_segments_is_read_through_the_first_only(dtype: int) -> None:
    data = small_pieces(17, dtype)
    model = onnxmap.loads(data)
    expected = model.initializers["w"].numpy()
    assert expected.shape == (17,)
    first, *others = model.initializers.all()
    assert first.numpy().tolist() == expected.tolist()
    for tensor in others:
        for read in (tensor.numpy, lambda t=tensor: t[3], lambda t=tensor: pickle.dumps(t)):
            with pytest.raises(onnxmap.LimitError, match="overlap") as caught:
                read()
            assert caught.value.code == "limit.overlap"
            assert "'w'" in str(caught.value)
        assert (tensor.nbytes, tensor.shape) == (first.nbytes, (17,))
        assert (tensor.is_view, tensor.offset) == (False, None)
    assert model.arrays()["w"].tolist() == model.views()["w"].tolist() == expected.tolist()
    raised = onnxmap.loads(data, limits=onnxmap.Limits(overlap=17))
    assert all(t.numpy().tolist() == expected.tolist() for t in raised.initializers.all())


def test_a_tensor_in_sixteen_segments_is_read_through_each() -> None:
    tensors = list(onnxmap.loads(small_pieces(16)).initializers.all())
    assert len(tensors) == 16
    assert all(tensor.numpy().tolist() == list(range(16)) for tensor in tensors)


def test_pieces_may_not_share_the_bytes_of_a_file(tmp_path: Path) -> None:
    (tmp_path / "w.data").write_bytes(bytes(4 * COUNT))
    tensors = []
    for i in range(3):
        made = piece("w", i * COUNT, (i + 1) * COUNT, 3 * COUNT)
        made.ClearField("raw_data")
        made.data_location = TensorProto.EXTERNAL
        made.external_data.add(key="location", value="w.data")
        tensors.append(made)
    (tmp_path / "m.onnx").write_bytes(model_of(*tensors))
    with pytest.raises(onnxmap.TensorError) as caught:
        onnxmap.load(tmp_path / "m.onnx").initializers["w"].numpy()
    assert caught.value.code == "tensor.segment"


@pytest.mark.parametrize("count", [1, 64, COUNT - 1, COUNT + 1, 1 << 20])
def test_a_shape_that_changes_after_joining(count: int) -> None:
    """The new shape has the same size, so no other byte moves."""
    buffer = bytearray(model_of(*halves()))
    model = onnxmap.loads(buffer)
    first, second = list(model.initializers.all())
    assert first.numpy()[-1] == COUNT - 1
    old = bytes([0x08, 0x80, 0x20])  # dims = [4096]
    new = bytes([0x08, count & 0x7F | 0x80, count >> 7 & 0x7F])
    assert buffer.count(old) == 2
    buffer[:] = buffer.replace(old, new)
    for tensor in (first, second):
        for read in (tensor.numpy, tensor.tobytes):
            with pytest.raises(onnxmap.OnnxMapError):
                read()


def test_a_type_that_changes_in_one_piece() -> None:
    buffer = bytearray(model_of(*halves()))
    model = onnxmap.loads(buffer)
    first, second = list(model.initializers.all())
    first.numpy()
    at = buffer.index(b"\x10\x01", buffer.index(b"\x10\x01") + 1)  # data_type of the second piece
    buffer[at + 1] = TensorProto.COMPLEX128
    for tensor in (first, second):
        with pytest.raises(onnxmap.FileChangedError):
            tensor.numpy()


def test_a_hundred_thousand_lone_segments_take_little_memory() -> None:
    buffer = model_of(*(TensorProto(segment=TensorProto.Segment(begin=0)) for _ in range(100_000)))
    model = onnxmap.loads(buffer)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with pytest.raises(onnxmap.TensorError):
        next(model.initializers.all()).numpy()
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 10 << 10  # KiB


def test_names_of_different_lists_are_different() -> None:
    """Two attributes have the same name, and each has a lone segment that is a whole tensor."""
    node = helper.make_node("N", [], [])
    for value in (1.0, 2.0):
        made = piece("w", 0, 1, 1)
        made.raw_data = np.float32(value).tobytes()
        node.attribute.append(helper.make_attribute("value", made))
    graph = GraphProto(name="g", node=[node])
    model = onnxmap.loads(ModelProto(ir_version=13, graph=graph).SerializeToString())
    assert [tensor.numpy().tolist() for _, tensor in model.tensors()] == [[1.0], [2.0]]


def test_a_sparse_tensor_of_many_dimensions_is_not_unfolded() -> None:
    sparse = SparseTensorProto(dims=[1] * 64)
    sparse.values.CopyFrom(helper.make_tensor("s", TensorProto.FLOAT, [1], [5]))
    sparse.indices.CopyFrom(helper.make_tensor("", TensorProto.INT64, [1], [0]))
    graph = GraphProto(name="g", sparse_initializer=[sparse])
    buffer = ModelProto(ir_version=13, graph=graph).SerializeToString()
    model = onnxmap.loads(buffer, limits=onnxmap.Limits(dense_bytes=511))
    with pytest.raises(onnxmap.LimitError) as caught:
        model.graph.sparse_initializers["s"].to_scipy()
    assert caught.value.code == "limit.dense_bytes"
