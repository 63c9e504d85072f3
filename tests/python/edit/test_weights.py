"""Assigned weights: arrays of every kind, held by reference; deletion."""

from __future__ import annotations

import gc
import weakref
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from onnx import NodeProto, TensorProto, helper, numpy_helper
from support.edits.rich_model import rich, saved
from support.models.sample import floats, model_of
from support.oracles.tensors import FIXED_WIDTH

import onnxmap
from onnxmap import DataType

LARGE = 5_000  # elements: more than are copied


def array_of(kind: DataType, shape: tuple[int, ...]) -> np.ndarray[Any, Any]:
    """Random elements of a type of ONNX."""
    rng = np.random.default_rng(int(kind))
    dtype = kind.numpy()
    if kind == DataType.BOOL:
        return rng.integers(0, 2, shape).astype(bool)
    if kind.bits < 8:
        codes = rng.integers(0, 1 << kind.bits, shape).astype(np.uint8)
        if np.dtype(dtype).name.startswith("int"):
            half = 1 << (kind.bits - 1)
            return (codes.astype(np.int8) - half).astype(dtype)
        return codes.astype(dtype) if "uint" in dtype.name else codes.view(dtype)
    data = rng.bytes(int(np.prod(shape, dtype=int)) * dtype.itemsize)
    return np.frombuffer(data, dtype).reshape(shape)


NUMERIC = [kind for kind in DataType if kind not in (DataType.UNDEFINED, DataType.STRING)]


def same(found: Any, expected: Any) -> bool:
    """Whether two arrays have the same type, shape and bits."""
    found, expected = np.asarray(found), np.asarray(expected)
    return (
        found.dtype == expected.dtype.newbyteorder("=")
        and found.shape == expected.shape
        and found.tobytes() == expected.astype(found.dtype, copy=False).tobytes()
    )


@pytest.mark.parametrize("kind", NUMERIC, ids=lambda kind: kind.name)
def test_every_type_and_shape(kind: DataType) -> None:
    model = rich()
    arrays = {}
    for shape in ((), (0, 3), (1,), (3, 5), (LARGE,)):
        arrays["w"] = arrays[f"new {shape}"] = array = array_of(kind, shape)
        for name in ("w", f"new {shape}"):
            model.initializers[name] = array
            tensor = model.initializers[name]
            assert (tensor.dtype, tensor.shape) == (kind, shape)
            assert same(tensor.numpy(), array)
        made = saved(model).graph.initializer
        of_arrays = [made[0], *made[1 - len(arrays) :]]
        assert [tensor.name for tensor in of_arrays] == list(arrays)
        for tensor, (name, array) in zip(of_arrays, arrays.items(), strict=True):
            expected = numpy_helper.from_array(array, name)
            assert (tensor.data_type, tensor.dims) == (expected.data_type, expected.dims)
            assert tensor.raw_data == expected.raw_data


ARRAYS: dict[str, Any] = {
    "columns": np.asfortranarray(np.arange(6, dtype=np.float32).reshape(2, 3)),
    "backwards": np.arange(LARGE, dtype=np.float64)[::-1],
    "strided": np.arange(3 * LARGE, dtype=np.int16)[::3],
    "transposed": np.arange(6 * LARGE, dtype=np.int8).reshape(2, -1, 3).T,
    "broadcast": np.broadcast_to(np.float32(1.5), (70, 80)),
    "big-endian": np.arange(LARGE, dtype=">f4"),
    "big-endian complex": np.arange(5, dtype=">c16"),
    "unaligned": np.frombuffer(b"\0" * 3 + bytes(range(240)), np.float64, offset=3),
    "read-only": np.frombuffer(bytes(40_000), np.float32),
    "a number": 3.5,
    "an int": 7,
    "NumPy's number": np.float16(2),
    "a list": [[1, 2], [3, 4]],
    "a list of floats": [1.5],
    "bools": [True, False],
    "texts": np.array(["a", "é", ""]),
    "texts in objects": np.array([["a", b"\xff"]], object),
    "bytes": np.array([b"ab", b""]),
    "a list of texts": ["a", "b"],
    "a masked array": np.ma.array([1, 2]),
    "a memoryview": memoryview(bytes(range(64))),
    "a subclass": np.arange(4.0).view(np.recarray),
}


@pytest.mark.parametrize("case", ARRAYS)
def test_every_kind_of_array(case: str) -> None:
    model = rich()
    given = ARRAYS[case]
    model.initializers["w"] = given
    found = model.initializers["w"].numpy()
    expected = np.asarray(given)
    if expected.dtype.kind in "OSU":
        texts = [
            b.decode("utf-8") if b != b"\xff" else b
            for b in (one.encode() if isinstance(one, str) else one for one in expected.reshape(-1))
        ]
        assert found.reshape(-1).tolist() == texts or found.reshape(-1).tolist() == [
            text if isinstance(text, bytes) else text.encode() for text in texts
        ]
        assert found.shape == expected.shape
    else:
        assert same(found, expected)
    assert saved(model).graph.initializer[0].name == "w"


@pytest.mark.parametrize("name", ["w", "new"])
@pytest.mark.parametrize("kind", ["protobuf", "ProtoView", "made"])
def test_messages_of_tensors(kind: str, name: str) -> None:
    """Their values count, not their name, documentation and metadata."""
    values = np.arange(6, dtype=np.int16).reshape(2, 3)
    message: Any = numpy_helper.from_array(values, "other")
    message.doc_string = "doc"
    if kind == "ProtoView":
        message = onnxmap.loads_proto(message.SerializeToString(), "TensorProto")
    elif kind == "made":
        message = onnxmap.make_tensor("other", np.int16, [2, 3], values)
    model = rich()
    model.initializers[name] = message
    found = model.initializers[name]
    assert same(found.numpy(), values)
    assert (found.name, found.doc_string) == (
        name,
        rich().initializers["w"].doc_string * (name == "w"),
    )
    saved(model)


@pytest.mark.parametrize(
    "wrong",
    [None, object(), {"a": 1}, [None], np.array([None]), np.zeros(2, "M8[s]"),
     np.zeros(2, "V7"), np.zeros(2, [("a", "f4")]), np.longdouble(1), NodeProto()],
    ids=lambda one: type(one).__name__,
)  # fmt: skip
def test_what_has_no_type_of_onnx_changes_nothing(wrong: Any) -> None:
    model = rich()
    before = onnxmap.dumps(model)
    for name in ("w", "new"):
        with pytest.raises(TypeError, match=r"ONNX has no element type|expected an array"):
            model.initializers[name] = wrong
        with pytest.raises(ValueError, match="inhomogeneous"):
            model.initializers[name] = [[1], [1, 2]]
    for name in (5, None, b"w", ""):
        with pytest.raises((TypeError, ValueError)):
            model.initializers[name] = np.zeros(3)  # type: ignore[index]
    assert onnxmap.dumps(model) == before
    assert not model.edited


def test_the_other_fields_of_a_tensor_stay() -> None:
    made = model_of([floats("w", 3)])
    made.graph.initializer[0].doc_string = "doc"
    made.graph.initializer[0].metadata_props.add(key="k", value="v")
    model = onnxmap.loads(made.SerializeToString() + b"")
    tensor = model.initializers["w"]
    model.initializers["w"] = np.arange(4, dtype=np.int8)
    assert tensor.numpy().tolist() == [0, 1, 2]
    tensor = model.initializers["w"]
    assert (tensor.name, tensor.doc_string, dict(tensor.metadata_props)) == ("w", "doc", {"k": "v"})
    assert tensor.numpy().tolist() == [0, 1, 2, 3]
    fields = {field.name for field, _ in tensor.proto.ListFields()}
    assert fields == {"name", "doc_string", "metadata_props", "dims", "data_type", "raw_data"}


def test_typed_fields_and_external_data_are_replaced() -> None:
    tensors = [
        TensorProto(name="f", dims=[2], data_type=1, float_data=[1, 2]),
        TensorProto(name="s", dims=[1], data_type=8, string_data=[b"x"]),
        TensorProto(name="e", dims=[2], data_type=1, data_location=TensorProto.EXTERNAL),
    ]
    tensors[2].external_data.add(key="location", value="none.bin")
    model = onnxmap.loads(model_of(tensors).SerializeToString())
    for name in ("f", "s", "e"):
        model.initializers[name] = np.arange(3, dtype=np.uint8)
    for tensor in saved(model).graph.initializer:
        assert len(tensor.ListFields()) == 4
        assert numpy_helper.to_array(tensor).tolist() == [0, 1, 2]
    assert [tensor.is_external for tensor in model.initializers.values()] == [False] * 3


def test_a_large_array_is_held_and_not_copied() -> None:
    model = rich()
    array = np.zeros(LARGE, np.float32)
    model.initializers["w"] = array
    array[3] = 7  # the caller must not, but it shows that nothing was copied
    found = model.initializers["w"]
    assert np.shares_memory(found.numpy(), array)
    assert found.numpy()[3] == model.views()["w"][3] == model.arrays()["w"][3] == 7
    assert not found.numpy().flags.writeable
    assert (found.is_view, found.file, found.offset) == (True, None, None)
    assert not np.shares_memory(model.arrays()["w"], array)
    model.initializers["second"] = found
    assert np.shares_memory(model.initializers["second"].numpy(), array)


class Owner:
    """Memory whose end can be seen."""

    def __init__(self) -> None:
        self.data = np.ones(LARGE, np.float32)
        self.__array_interface__ = self.data.__array_interface__


def ended(watched: weakref.ref[Any]) -> bool:
    gc.collect()
    return watched() is None


def test_an_array_is_released_after_its_replacement() -> None:
    model = rich()
    for change in (
        lambda: model.initializers.__setitem__("w", np.zeros(3)),
        lambda: model.proto.graph.initializer[0].ClearField("raw_data"),
        lambda: model.proto.graph.initializer[0].__setattr__("raw_data", b""),
        model.revert,
    ):
        owner = Owner()
        watched = weakref.ref(owner)
        model.initializers["w"] = np.asarray(owner)
        del owner
        assert not ended(watched)
        view = model.initializers["w"].numpy()
        change()
        assert not ended(watched)  # the view holds it
        assert view.sum() == LARGE
        del view
        assert ended(watched)


def test_an_array_is_released_with_the_model() -> None:
    owner = Owner()
    watched = weakref.ref(owner)
    model = rich()
    model.initializers["w"] = np.asarray(owner)
    del owner
    removed = model.initializers["w"]
    del model.graph.nodes[:], model.proto.training_info[:]
    del model.initializers["w"]
    assert removed.numpy().sum() == LARGE  # a removed message can still be read
    del model, removed
    assert ended(watched)


def test_large_bytes_of_a_proto_are_held() -> None:
    model = rich()
    data = bytes(range(256)) * 100
    tensor = model.proto.graph.initializer[0]
    tensor.raw_data, tensor.data_type = data, TensorProto.UINT8
    del tensor.dims[:]
    tensor.dims.append(len(data))
    found = model.initializers["w"].numpy()
    assert np.shares_memory(found, np.frombuffer(data, np.uint8))
    assert saved(model).graph.initializer[0].raw_data == data


def test_segments_become_one_tensor() -> None:
    tensors = [floats("a", 2), *(floats("s", 2, start) for start in (0, 2, 4)), floats("z", 2)]
    for number, tensor in enumerate(tensors[1:4]):
        tensor.dims[:] = [6]
        tensor.segment.begin, tensor.segment.end = 2 * number, 2 * number + 2
    model = onnxmap.loads(model_of(tensors).SerializeToString())
    assert model.initializers["s"].numpy().tolist() == list(range(6))
    model.initializers["s"] = np.arange(3, dtype=np.int8)
    assert [tensor.name for tensor in saved(model).graph.initializer] == ["a", "s", "z"]
    assert model.initializers["s"].numpy().tolist() == [0, 1, 2]
    model.revert()
    del model.initializers["s"]
    assert model.initializers.names() == ["a", "z"]
    model.revert()
    model.initializers.rename("s", "renamed")
    assert model.initializers["renamed"].numpy().tolist() == list(range(6))
    assert model.initializers.names() == ["a", "renamed", "renamed", "renamed", "z"]


def test_a_repeated_name_is_refused() -> None:
    model = onnxmap.loads(model_of([floats("w", 1), floats("w", 2)]).SerializeToString())
    for change in (
        lambda: model.initializers.__setitem__("w", np.zeros(1)),
        lambda: model.initializers.__delitem__("w"),
        lambda: model.initializers.rename("w", "v"),
    ):
        with pytest.raises(onnxmap.ParseError) as caught:
            change()
        assert caught.value.code == "model.duplicate_name"
    assert not model.edited


def user(**changes: Any) -> onnxmap.Model:
    """A model with an initializer "w" that nothing uses, and what `changes` adds to its graph."""
    graph = helper.make_graph([], "g", [], [], [numpy_helper.from_array(np.zeros(2), "w")])
    for field, messages in changes.items():
        getattr(graph, field).extend(messages)
    return onnxmap.loads(helper.make_model(graph).SerializeToString())


BODY = helper.make_graph([helper.make_node("Neg", ["w"], ["o"])], "b", [], [])
VALUE = helper.make_value_info("w", helper.make_tensor_type_proto(1, None))
OUTPUT = helper.make_graph([], "b", [], [VALUE])
SHADOW = helper.make_graph([helper.make_node("Neg", ["w"], ["o"])], "b", [VALUE], [])
USED: dict[str, dict[str, Any]] = {
    "a node": {"node": [helper.make_node("Neg", ["w"], ["y"])]},
    "a later input": {"node": [helper.make_node("Add", ["x", "w"], ["y"])]},
    "an output": {"output": [VALUE]},
    "a subgraph": {"node": [helper.make_node("If", ["c"], ["o"], then_branch=BODY)]},
    "an output of a subgraph": {"node": [helper.make_node("If", ["c"], ["o"], then_branch=OUTPUT)]},
}
UNUSED: dict[str, dict[str, Any]] = {
    "nothing": {},
    "another value": {"node": [helper.make_node("Neg", ["ww"], ["y"])]},
    "a subgraph with its own": {"node": [helper.make_node("If", ["c"], ["o"], then_branch=SHADOW)]},
}


@pytest.mark.parametrize("case", USED)
def test_a_used_initializer_is_not_deleted(case: str) -> None:
    model = user(**USED[case])
    with pytest.raises(ValueError, match="'w' is used by"):
        del model.initializers["w"]
    assert not model.edited
    with pytest.raises(ValueError, match="'w' is used by"):
        model.initializers.clear()
    while len(model.graph.nodes):
        del model.graph.nodes[0]
    model.graph.outputs.clear()
    del model.initializers["w"]
    assert len(model.initializers) == 0


@pytest.mark.parametrize("case", UNUSED)
def test_an_unused_initializer_is_deleted(case: str) -> None:
    model = user(**UNUSED[case])
    tensor = model.initializers["w"]
    del model.initializers["w"]
    assert ("w" in model.initializers, model.initializers.names()) == (False, [])
    with pytest.raises(KeyError):
        del model.initializers["w"]
    assert tensor.numpy().tolist() == [0, 0]
    with pytest.raises(ValueError, match="removed"):
        tensor.doc_string = "gone"
    assert len(saved(model).graph.initializer) == 0


def test_the_mapping_s_other_methods() -> None:
    model = user()
    initializers = model.initializers
    assert initializers.setdefault("w", np.ones(1)).size == 2
    assert initializers.setdefault("v", np.ones(1)) == initializers["v"]
    assert initializers["v"].size == 1
    initializers.update({"u": np.zeros(3), "v": np.zeros(4)}, t=np.zeros(5))
    assert {name: one.size for name, one in initializers.items()} == {
        "w": 2,
        "v": 4,
        "u": 3,
        "t": 5,
    }
    assert initializers.pop("u").size == 3
    assert initializers.pop("u", None) is None
    initializers.clear()
    assert saved(model).graph.initializer == []


def test_subgraphs_have_initializers_too() -> None:
    model = rich()
    then = model.graph.nodes[0].attributes["then_branch"].value
    body = then.nodes[0].attributes["body"].value
    body.initializers["w"] = np.array([2.5, 3.5], np.float16)
    body.initializers["b"] = ml_dtypes.bfloat16(1)
    then.initializers["t"] = np.zeros(0)
    places = dict(model.tensors())
    inner = 'graph.node[0].attribute["then_branch"].g'
    assert places[f"{inner}.initializer[0]"].name == "t"
    assert places[f'{inner}.node[0].attribute["body"].g.initializer[1]'].name == "b"
    assert body.initializers["w"].numpy().tolist() == [2.5, 3.5]
    assert model.initializers["w"].shape == (2, 3)
    saved(model)


def test_every_fixed_width_type_of_the_oracle_is_there() -> None:
    assert {DataType[name] for name in FIXED_WIDTH} <= set(NUMERIC)


def test_a_tensor_of_protobuf_is_serialized_once() -> None:
    calls: list[None] = []

    class Counting:
        DESCRIPTOR = TensorProto.DESCRIPTOR

        def SerializeToString(self) -> bytes:
            calls.append(None)
            return numpy_helper.from_array(np.arange(3)).SerializeToString()

    model = rich()
    model.initializers["new"] = Counting()
    assert (len(calls), model.initializers["new"].numpy().tolist()) == (1, [0, 1, 2])


def test_pop_takes_the_names_of_a_mapping() -> None:
    model = rich()
    model.initializers["new"] = np.arange(3)
    assert model.initializers.pop(key="new").numpy().tolist() == [0, 1, 2]
    assert model.initializers.pop(key="new", default=5) == 5


def test_numpy_s_strings_of_any_length() -> None:
    texts = np.array(["a", "é", ""], dtype=np.dtypes.StringDType())
    model = onnxmap.from_arrays({"s": texts})
    assert model.initializers["s"].dtype == onnxmap.DataType.STRING
    assert model.initializers["s"].numpy().tolist() == ["a", "é", ""]
