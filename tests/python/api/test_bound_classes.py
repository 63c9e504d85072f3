"""Bound classes cannot be made, subclassed or changed. Only messages and lists of values can be
copied and pickled.

Everything else raises a clear TypeError.

Otherwise an object without a C++ value could be read as if it had one.
"""

from __future__ import annotations

import copy
import inspect
import pickle
from collections.abc import Callable, Sequence
from types import GetSetDescriptorType, ModuleType
from typing import Any

import numpy as np
import pytest
from support import wire_bytes as wire
from support.processes.subprocesses import facts_from, run_python

import onnxmap
from onnxmap import _core
from onnxmap._files import register_pickles as _pickles

CLASSES = [cls for _, cls in sorted(inspect.getmembers(_core, inspect.isclass))]
METACLASS = type(_core.SavePlan)  # of the classes that pybind11 makes
BASE = _core.SavePlan.__mro__[1]
FUNCTION_RECORD = type(_core.load_file.__self__)  # type: ignore[attr-defined]
# A copy of a tensor is the tensor itself, and its pickle refers to its file. Other messages are
# copied and pickled with their bytes.
# A copy of a list of values is a list.
MAPPINGS = {_core.AttributeMapping, _core.OpsetMapping, _core.StringMapping}
COPIED = {_core.Tensor, _core.ValueList, *MAPPINGS, *_pickles._MESSAGES}


def model_with_everything() -> onnxmap.Model:
    """A model from which nearly every class can be reached."""
    tensor = wire.scalar(1, 2) + wire.scalar(2, 1) + wire.blob(8, b"w") + wire.blob(9, bytes(8))
    attribute = wire.blob(1, b"axis") + wire.scalar(3, 1) + wire.scalar(20, 2)
    node = wire.blob(4, b"Add") + wire.blob(5, attribute) + wire.blob(99, b"unknown")
    sparse = wire.blob(1, tensor) + wire.blob(2, tensor) + wire.scalar(3, 2)
    graph = (
        wire.blob(1, node)
        + wire.blob(5, tensor)
        + wire.blob(11, wire.blob(1, b"x"))
        + wire.blob(14, wire.blob(1, b"w"))
        + wire.blob(15, sparse)
    )
    function = wire.blob(1, b"f")
    return onnxmap.loads(
        wire.blob(7, graph) + wire.blob(20, wire.blob(2, graph)) + wire.blob(25, function)
    )


def reachable(start: object) -> dict[type, Any]:
    """One object of each bound class that attributes and items of `start` lead to."""
    found: dict[type, Any] = {}
    waiting, seen = [start], set()
    while waiting:
        value = waiting.pop()
        cls = type(value)
        if cls in seen or not (cls.__module__ or "").startswith("onnxmap"):
            continue
        seen.add(cls)
        if cls in CLASSES:
            found[cls] = value
        for name in dir(value):
            if name.startswith("__"):
                continue
            try:
                child = getattr(value, name)
            except (AttributeError, onnxmap.OnnxMapError, ValueError, TypeError):
                continue
            waiting.append(child)
            if isinstance(child, Sequence) and not isinstance(child, str | bytes):
                waiting += list(child)[:2]
            elif hasattr(child, "values") and not callable(child.values):
                waiting.append(child)
        if isinstance(value, Sequence) and not isinstance(value, str | bytes):
            waiting += [*list(value)[:2], iter(value)]
    return found


def objects() -> dict[type, Any]:
    model = model_with_everything()
    graph = model.graph
    bulk = _core.plan_bulk(graph.initializers, None, None, copies=True, release_pages=False)
    proto = graph.nodes[0].proto
    values = [
        model,
        graph,
        model._open(),
        graph.nodes,
        graph.nodes[0],
        graph.nodes[0].attributes["axis"],
        graph.initializers["w"],
        proto,
        proto.unknown_fields[0],
        bulk,
        _core.start_stream(bulk, 1 << 20, 1),
    ]
    found: dict[type, Any] = {}
    for value in values:
        found |= reachable(value)
    return found


OBJECTS = objects()
# No small model has such messages. They are bound by the same line of code as the classes below.
assert len(OBJECTS) >= 16, sorted(cls.__name__ for cls in OBJECTS)


def refused(call: Callable[[], object], cls: type) -> None:
    with pytest.raises(TypeError) as caught:
        call()
    message = str(caught.value)
    assert "_core" not in message, message
    assert "pybind11" not in message, message
    if hasattr(onnxmap, cls.__name__):
        assert f"onnxmap.{cls.__name__}" in message
    assert "load it again" in message
    for what in ("the Model", "a Graph", "a Tensor", "list(graph.nodes)"):
        assert what in message


@pytest.mark.parametrize(
    "cls", [*CLASSES, BASE, FUNCTION_RECORD], ids=lambda cls: cls.__name__[:30]
)
def test_no_object_is_made(cls: type) -> None:
    refused(cls, cls)
    refused(lambda: cls(1, a=2), cls)
    refused(lambda: type.__call__(cls), cls)
    if cls is not FUNCTION_RECORD:
        refused(lambda: cls.__new__(cls), cls)
        refused(lambda: BASE.__new__(cls), cls)
    for new in (object.__new__, FUNCTION_RECORD.__new__):
        with pytest.raises(TypeError):
            new(cls)


@pytest.mark.parametrize("cls", OBJECTS, ids=lambda cls: cls.__name__)
def test_only_messages_are_copied_and_pickled(cls: type) -> None:
    value = OBJECTS[cls]
    refused(value.__init__, cls)
    refused(lambda: value.__setstate__({}), cls)
    if cls in COPIED:
        for made in (copy.copy(value), copy.deepcopy(value)):
            assert made is value if cls is _core.Tensor else made == value
    else:
        refused(lambda: copy.copy(value), cls)
        if cls is not _core.MessageList:  # as in protobuf: copies of its messages
            refused(lambda: copy.deepcopy(value), cls)
    for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
        if cls in COPIED:
            again = pickle.loads(pickle.dumps(value, protocol))
            if cls is _core.Tensor:
                assert np.array_equal(again.numpy(), value.numpy())
            else:
                assert again == value
            continue
        refused(lambda protocol=protocol: pickle.dumps(value, protocol), cls)
        refused(lambda protocol=protocol: object.__reduce_ex__(value, protocol), cls)
    repr(value)  # unchanged


@pytest.mark.parametrize("cls", [*CLASSES, BASE], ids=lambda cls: cls.__name__)
def test_no_class_is_subclassed(cls: type) -> None:
    for bases in ((cls,), (dict, cls)):
        with pytest.raises(TypeError, match=r"cannot be subclassed|not an acceptable base type"):
            type("Sub", bases, {})
    for make in (
        lambda: METACLASS("Sub", (cls,), {}),
        lambda: METACLASS("Sub", (object,), {}),
    ):
        with pytest.raises(TypeError, match="cannot be subclassed"):
            make()
    with pytest.raises(TypeError):
        type.__new__(METACLASS, "Sub", (), {})


@pytest.mark.parametrize("cls", OBJECTS, ids=lambda cls: cls.__name__)
def test_no_object_gets_another_class(cls: type) -> None:
    class Plain:
        pass

    for other in (_core.Tensor if cls is not _core.Tensor else _core.Node, Plain):
        with pytest.raises(TypeError):
            OBJECTS[cls].__class__ = other
        with pytest.raises(TypeError):
            object.__dict__["__class__"].__set__(OBJECTS[cls], other)
    with pytest.raises(TypeError):
        Plain().__class__ = cls  # type: ignore[assignment]


@pytest.mark.parametrize("cls", [*CLASSES, BASE, METACLASS], ids=lambda cls: cls.__name__)
def test_no_class_is_changed(cls: type) -> None:
    for name in ("__reduce__", "__new__", "other"):
        with pytest.raises(TypeError, match="immutable"):
            setattr(cls, name, None)


@pytest.mark.parametrize("cls", OBJECTS, ids=lambda cls: cls.__name__)
def test_no_property_is_deleted(cls: type) -> None:
    """Also not by its descriptor, which passes no value."""
    for name, member in vars(cls).items():
        if isinstance(member, GetSetDescriptorType):
            with pytest.raises(AttributeError):
                member.__delete__(OBJECTS[cls])
            with pytest.raises(AttributeError):
                delattr(OBJECTS[cls], name)


def test_another_module_of_pybind11_shares_no_class() -> None:
    """Changes to pybind11's own classes affect this module only."""
    names = {name for name in FUNCTION_RECORD.__name__.split("_") if name}
    assert "onnxmap" in names


def test_a_method_refuses_an_object_of_another_class() -> None:
    for cls, value in OBJECTS.items():
        if cls is not _core.Tensor:
            with pytest.raises(TypeError, match="incompatible function arguments"):
                _core.Tensor.numpy(value)


def test_a_message_list_is_still_a_sequence_to_match() -> None:
    match model_with_everything().graph.nodes:
        case [node]:
            assert node.op_type == "Add"
        case _:
            pytest.fail("a MessageList matches no sequence")


def unsafe_tensor() -> onnxmap.Tensor:
    entries = wire.blob(1, b"location") + wire.blob(2, b"../outside")
    tensor = wire.scalar(1, 2) + wire.scalar(2, 1) + wire.scalar(14, 1) + wire.blob(13, entries)
    return next(iter(onnxmap.loads(wire.blob(7, wire.blob(5, tensor))).graph.initializers.all()))


@pytest.mark.parametrize("use", [memoryview, bytes, bytearray, np.asarray])
def test_a_buffer_of_a_refused_tensor_raises_the_refusal(use: Callable[[object], object]) -> None:
    with pytest.raises(onnxmap.UnsafePathError, match=r"graph.initializer\[0\]"):
        use(unsafe_tensor())


def test_a_buffer_that_cannot_be_is_a_buffer_error() -> None:
    tensor = (
        wire.scalar(1, 2) + wire.scalar(2, 10) + wire.blob(9, bytes(4))
    )  # FLOAT16's format is 'e'
    texts = wire.scalar(1, 1) + wire.scalar(2, 8) + wire.blob(6, b"text")
    model = onnxmap.loads(wire.blob(7, wire.blob(5, tensor) + wire.blob(5, texts)))
    halves, strings = list(model.graph.initializers.all())
    assert memoryview(halves).format == "e"
    with pytest.raises(BufferError, match="STRING"):
        memoryview(strings)


def test_a_mapping_of_initializers_says_what_to_pickle() -> None:
    graph = model_with_everything().graph
    for mapping in (graph.initializers, graph.sparse_initializers):
        for use in (pickle.dumps, copy.copy, copy.deepcopy):
            with pytest.raises(TypeError, match=r"the Model, .*dict\(model.initializers\)"):
                use(mapping)
    assert list(pickle.loads(pickle.dumps(dict(graph.initializers)))) == ["w"]
    assert pickle.loads(pickle.dumps(list(graph.nodes))) == graph.nodes


SURROGATES = ["\ud800", "\udc80", "a\udfff"]


@pytest.mark.parametrize("text", SURROGATES, ids=ascii)
def test_text_that_is_not_unicode(text: str) -> None:
    tensor = OBJECTS[_core.Tensor]
    proto = OBJECTS[_core.Node].proto
    for use in (tensor.__array__, tensor.numpy):
        with pytest.raises(TypeError, match="not understood"):
            use(text)
    assert not hasattr(proto, text)
    with pytest.raises(AttributeError):
        getattr(proto, text)
    for use in (proto.HasField, proto.WhichOneof):
        with pytest.raises(ValueError, match="NodeProto has no"):
            use(text)


def functions_with_text() -> list[tuple[str, Callable[..., object]]]:
    """Every bound function and method with a text parameter."""
    found = []
    holders: list[ModuleType | object] = [_core, *OBJECTS.values()]
    for holder in holders:
        for name in dir(holder):
            try:
                function = getattr(holder, name)
            except (AttributeError, onnxmap.OnnxMapError, ValueError, TypeError):
                continue
            doc = getattr(function, "__doc__", None) or ""
            if callable(function) and ": str" in doc.split("->")[0]:
                found.append((f"{type(holder).__name__}.{name}", function))
    return found


@pytest.mark.parametrize(
    ("name", "function"),
    functions_with_text(),
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_no_text_raises_a_runtime_error(name: str, function: Callable[..., object]) -> None:
    for text in SURROGATES:
        for arguments in ((text,), (text, 1), (b"", text, None, None, b"")):
            with pytest.raises((TypeError, ValueError, AttributeError, KeyError)):
                function(*arguments)


def test_the_version_of_dlpack_may_be_any_number() -> None:
    tensor = OBJECTS[_core.Tensor]
    assert tensor.__dlpack__(max_version=(2**80, 0)) is not None
    with pytest.raises(TypeError):
        tensor.__dlpack__(max_version=("1", 0))


def test_the_name_of_a_sparse_tensor_need_not_be_utf8() -> None:
    values = wire.scalar(1, 1) + wire.scalar(2, 1) + wire.blob(8, b"\xff") + wire.blob(9, bytes(4))
    sparse = wire.blob(1, values) + b"".join(wire.scalar(3, 1) for _ in range(65))
    model = onnxmap.loads(wire.blob(7, wire.blob(15, sparse)))
    with pytest.raises(onnxmap.TensorError, match="65 dimensions"):
        _ = model.graph.sparse_initializers["\udcff"].shape


def test_none_of_these_calls_ends_the_process() -> None:
    """Each of these calls once ended the process by an abort or a signal, so a child makes them."""
    facts = facts_from(
        """
        import copy, pickle, onnxmap
        from support import wire_bytes as wire
        nodes = onnxmap.loads(wire.blob(7, wire.blob(1, wire.blob(4, b"Add")))).graph.nodes
        node = nodes[0]
        refused = 0
        for attempt in (
            *(lambda p=p: pickle.dumps(nodes, p) for p in range(6)),
            *(lambda p=p: object.__reduce_ex__(node, p) for p in range(6)),
            lambda: repr(onnxmap.Node.__new__(onnxmap.Node)),
            onnxmap._core.SavePlan.__mro__[1],
            type(onnxmap._core.load_file.__self__),
            onnxmap._core.load_file.__self__.__init__,
        ):
            try:
                attempt()
            except TypeError:
                refused += 1
        report(refused=refused)
        """
    )
    assert facts["refused"] == 16


def test_none_is_no_document() -> None:
    """pybind11 passes a null pointer for None, which ended the process."""
    facts = facts_from(
        """
        import onnxmap
        from onnxmap import _core
        members = [*vars(_core).values(), *vars(_core.Document).values()]
        documents = "(document: onnxmap._core.Document", "(self: onnxmap._core.Document"
        functions = [each for each in members if any(doc in str(each.__doc__) for doc in documents)]
        functions += [_core.Stream.next, _core.FoldersBeneath.remove, _core.Stats.nbytes.fget]
        counts = [1 + each.__doc__.partition(" -> ")[0].count(", ") for each in functions]
        refused = 0
        for function, count in zip(functions, counts):
            try:
                function(*[None] * count)
            except TypeError as error:
                refused += "incompatible function arguments" in str(error)
        report(refused=refused, all=len(functions))
        """
    )
    assert facts["refused"] == facts["all"] > 20


def test_a_wrong_value_inside_an_argument_is_a_type_error() -> None:
    class Options:
        names = None
        kind = 3

    with pytest.raises(TypeError, match=r"^cannot use a value of type <class 'int'>$"):
        _core.save_models([], Options(), None)


def test_a_class_stays_when_its_names_are_gone() -> None:
    result = run_python(
        """
        import gc, types
        import numpy as np
        import onnxmap
        from onnxmap import _core
        graph = onnxmap.from_arrays({"w": np.zeros(1)}).graph
        classes = {value for value in vars(_core).values() if isinstance(value, type)}
        for module in [each for each in sys.modules.values() if isinstance(each, types.ModuleType)]:
            for name, value in list(vars(module).items()):
                if isinstance(value, type) and value in classes:
                    delattr(module, name)
        del classes, value
        gc.collect()
        others = [type(f"T{i}", (), {}) for i in range(100)]
        assert [each.name for each in graph.proto.initializer] == list(graph.initializers) == ["w"]
        assert list(graph.sparse_initializers) == list(graph.nodes) == []
        """
    )
    assert result.returncode == 0, result.stderr
