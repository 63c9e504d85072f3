"""Tensors in hidden places: `Model.tensors()` finds each with its path, and reads it.

Most of them are missed if a reader follows only initializers and the declared types of attributes.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from onnx import TensorProto
from support import wire_bytes as wire
from support.models.sample import external, floats

import onnxmap

# Field numbers, the outermost message first.
GRAPH, TRAINING_INFO, FUNCTIONS = 7, 20, 25  # ModelProto
NODE, INITIALIZER, SPARSE_INITIALIZER = 1, 5, 15  # GraphProto
INITIALIZATION, ALGORITHM = 1, 2  # TrainingInfoProto
FUNCTION_NODE, ATTRIBUTE_PROTO = 7, 11  # FunctionProto
ATTRIBUTE = 5  # NodeProto
ATTRIBUTE_NAME, TYPE, REF_ATTR_NAME = 1, 20, 21  # AttributeProto
T, G, TENSORS, GRAPHS, SPARSE, SPARSES = 5, 6, 10, 11, 22, 23
VALUES, INDICES = 1, 2  # SparseTensorProto
FLOAT, INT, STRING, TENSOR, GRAPH_TYPE, UNDEFINED, UNKNOWN_TYPE = 1, 2, 3, 4, 5, 0, 99

NAMED = wire.blob(ATTRIBUTE_NAME, b"a")
DEPTH = 30


def inside(tensor: bytes, *numbers: int) -> bytes:
    """`tensor` within message fields of these numbers, the first number outermost."""
    return wire.nested(list(numbers), tensor)


def attribute(content: bytes, *rest: bytes) -> bytes:
    """A model with a node that has one attribute, named `a`."""
    return inside(NAMED + content + b"".join(rest), GRAPH, NODE, ATTRIBUTE)


def lying(kind: int, content: bytes) -> bytes:
    return attribute(wire.scalar(TYPE, kind), content)


def deep(tensor: bytes) -> bytes:
    """A tensor in nested subgraphs, 30 levels deep."""
    content = inside(tensor, INITIALIZER)
    for _ in range(DEPTH):
        content = inside(NAMED + wire.blob(G, content), NODE, ATTRIBUTE)
    return wire.blob(GRAPH, content)


def in_function(content: bytes) -> bytes:
    return inside(NAMED + content, FUNCTIONS, FUNCTION_NODE, ATTRIBUTE)


def default(content: bytes) -> bytes:
    return inside(NAMED + content, FUNCTIONS, ATTRIBUTE_PROTO)


def training(graph: int, content: bytes) -> bytes:
    return inside(content, TRAINING_INFO, graph)


def places(one: bytes) -> dict[str, bytes]:
    """Models that each have the tensor `one` in one place, by the path of that place."""
    t, g, filler = (
        wire.blob(T, one),
        inside(one, G, INITIALIZER),
        floats("x", 1).SerializeToString(),
    )
    step = 'graph.node[0].attribute["a"].'
    found = {
        "graph.initializer[0]": inside(one, GRAPH, INITIALIZER),
        "graph.sparse_initializer[0].values": inside(one, GRAPH, SPARSE_INITIALIZER, VALUES),
        "graph.sparse_initializer[0].indices": inside(one, GRAPH, SPARSE_INITIALIZER, INDICES),
        f"{step}t": attribute(t),
        f"{step}tensors[1]": attribute(wire.blob(TENSORS, filler), wire.blob(TENSORS, one)),
        f"{step}g.initializer[0]": attribute(g),
        f"{step}g.sparse_initializer[0].values": attribute(
            inside(one, G, SPARSE_INITIALIZER, VALUES)
        ),
        f"{step}graphs[1].initializer[0]": attribute(
            wire.blob(GRAPHS, b""), inside(one, GRAPHS, INITIALIZER)
        ),
        f"{step}sparse_tensor.values": attribute(inside(one, SPARSE, VALUES)),
        f"{step}sparse_tensor.indices": attribute(inside(one, SPARSE, INDICES)),
        f"{step}sparse_tensors[1].values": attribute(
            wire.blob(SPARSES, b""), inside(one, SPARSES, VALUES)
        ),
        f"{step}sparse_tensors[0].indices": attribute(inside(one, SPARSES, INDICES)),
        'functions[0].node[0].attribute["a"].t': in_function(t),
        'functions[0].node[0].attribute["a"].g.initializer[0]': in_function(g),
        'functions[0].attribute_proto["a"].t': default(t),
        'functions[0].attribute_proto["a"].tensors[0]': default(wire.blob(TENSORS, one)),
        'functions[0].attribute_proto["a"].g.initializer[0]': default(g),
        'functions[0].attribute_proto["a"].sparse_tensor.values': default(
            inside(one, SPARSE, VALUES)
        ),
        "training_info[0].initialization.initializer[0]": training(
            INITIALIZATION, inside(one, INITIALIZER)
        ),
        "training_info[0].algorithm.initializer[0]": training(ALGORITHM, inside(one, INITIALIZER)),
        'training_info[0].algorithm.node[0].attribute["a"].t': training(
            ALGORITHM, inside(NAMED + t, NODE, ATTRIBUTE)
        ),
        "training_info[0].initialization.sparse_initializer[0].values": training(
            INITIALIZATION, inside(one, SPARSE_INITIALIZER, VALUES)
        ),
        "graph." + 'node[0].attribute["a"].g.' * DEPTH + "initializer[0]": deep(one),
    }
    return {path: with_graph(data) for path, data in found.items()}


def with_graph(data: bytes) -> bytes:
    """`load` demands a graph, even an empty one. A second graph is merged with it."""
    return data + wire.blob(GRAPH, b"")


def lies(one: bytes) -> dict[str, tuple[str, bytes]]:
    """Attributes whose `type` does not match what they hold, with path and model."""
    t, g, step = wire.blob(T, one), inside(one, G, INITIALIZER), 'graph.node[0].attribute["a"].'
    one_int = wire.scalar(3, 7)
    return {
        "an int": (f"{step}t", lying(INT, one_int + t)),
        "a float": (f"{step}t", lying(FLOAT, t)),
        "a string": (
            f"{step}tensors[0]", lying(STRING, wire.blob(4, b"s") + wire.blob(TENSORS, one)),
        ),
        "a tensor that is a graph": (f"{step}g.initializer[0]", lying(TENSOR, g)),
        "a graph that is a tensor": (f"{step}t", lying(GRAPH_TYPE, t)),
        "a tensor that is sparse": (
            f"{step}sparse_tensor.values", lying(TENSOR, inside(one, SPARSE, VALUES)),
        ),
        "undefined": (f"{step}t", lying(UNDEFINED, t)),
        "unknown to onnx.proto": (f"{step}graphs[0].initializer[0]", lying(
            UNKNOWN_TYPE, inside(one, GRAPHS, INITIALIZER)
        )),
        "negative": (f"{step}t", lying(-1, t)),
        "a reference": (f"{step}t", attribute(t, wire.blob(REF_ATTR_NAME, b"outer"))),
    }  # fmt: skip


def only(model: onnxmap.Model, path: str) -> onnxmap.Tensor:
    """The only tensor at `path`, after a check that its name has no other path."""
    found = dict(model.tensors())
    named = [where for where, tensor in found.items() if tensor.name == "hidden"]
    assert named in ([path], [])
    return found[path]


VALUES_OF = [1.0, 2.0]
RAW = np.float32(VALUES_OF).tobytes()
FORMS = {
    "raw": TensorProto(name="hidden", dims=[2], data_type=1, raw_data=RAW),
    "typed": TensorProto(name="hidden", dims=[2], data_type=1, float_data=VALUES_OF),
    "decoded": TensorProto(name="hidden", dims=[2], data_type=10, int32_data=[0x3C00, 0x4000]),
    "external": external("hidden", [2], {"location": "w.bin", "offset": "4"}),
}
PATHS = list(places(b""))
LIES = list(lies(b""))


def check_each_form(tmp_path: Path, made: dict[str, tuple[str, bytes]]) -> None:
    (tmp_path / "w.bin").write_bytes(b"...." + RAW)
    for form, (path, data) in made.items():
        file = tmp_path / f"{form}.onnx"
        file.write_bytes(data)
        for model in (onnxmap.load(file), onnxmap.load(file, io="read")):
            tensor = only(model, path)
            assert tensor.numpy().tolist() == VALUES_OF, form
            assert tensor.is_external == (form == "external")
            assert model.external_files == ([str(tmp_path / "w.bin")] * (form == "external"))


@pytest.mark.parametrize("path", PATHS)
def test_found_with_its_path_and_read(path: str, tmp_path: Path) -> None:
    check_each_form(
        tmp_path,
        {form: (path, places(one.SerializeToString())[path]) for form, one in FORMS.items()},
    )


@pytest.mark.parametrize("lie", LIES)
def test_tensors_are_found_whatever_the_type_says(lie: str, tmp_path: Path) -> None:
    check_each_form(
        tmp_path, {form: lies(one.SerializeToString())[lie] for form, one in FORMS.items()}
    )


@pytest.mark.parametrize("path", PATHS)
def test_an_error_of_an_unnamed_one_says_where_it_is(path: str) -> None:
    unnamed = TensorProto(dims=[3], data_type=1, raw_data=RAW)
    model = onnxmap.loads(places(unnamed.SerializeToString())[path])
    with pytest.raises(onnxmap.TensorError, match=r"expected 12 bytes, found 8") as caught:
        only(model, path).numpy()
    assert (caught.value.code, caught.value.tensor) == ("tensor.data_size", path)
    assert path[:150] in str(caught.value)


@pytest.mark.parametrize("path", PATHS)
def test_an_external_error_of_an_unnamed_one_says_where_it_is(path: str, tmp_path: Path) -> None:
    unnamed = external("", [2], {"location": "none.bin"})
    unnamed.ClearField("name")
    file = tmp_path / "model.onnx"
    file.write_bytes(places(unnamed.SerializeToString())[path])
    with pytest.raises(onnxmap.ExternalDataError) as caught:
        only(onnxmap.load(file), path).numpy()
    assert (caught.value.code, caught.value.tensor) == ("ext.missing", path)
    assert caught.value.location == "none.bin"


def test_all_places_in_one_model() -> None:
    """Models in one file are one model, whose repeated fields are joined."""
    one = FORMS["raw"].SerializeToString()
    everything = b"".join([*places(one).values(), *(data for _, data in lies(one).values())])
    found = [tensor for _, tensor in onnxmap.loads(everything).tensors() if tensor.name == "hidden"]
    assert len(found) == len(PATHS) + len(LIES)
    assert all(tensor.numpy().tolist() == VALUES_OF for tensor in found)


def test_a_bad_one_hides_no_other() -> None:
    bad = TensorProto(name="bad", dims=[-1], data_type=99).SerializeToString()
    good = FORMS["raw"].SerializeToString()
    model = onnxmap.loads(
        attribute(wire.blob(TENSORS, good), wire.blob(TENSORS, bad), wire.blob(TENSORS, good))
    )
    first, second, third = (tensor for _, tensor in model.tensors())
    with pytest.raises(onnxmap.TensorError):
        second.numpy()
    assert first.numpy().tolist() == third.numpy().tolist() == VALUES_OF
