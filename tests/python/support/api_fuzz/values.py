"""Arguments for the random calls of `api_fuzz`: files, junk, and objects whose methods do harm.

Every value is the text of an expression, so a failing sequence can be printed and run again.
"""

from __future__ import annotations

import ctypes
import gc
import hashlib
import itertools
import mmap
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper
from onnx.onnx_operators_ml_pb2 import OperatorSetProto

from support import wire_bytes as wire
from support.models.paged import model_of
from support.models.sample import external, floats, tensors_of_every_type
from support.models.small import SMALL_MODELS


class JunkError(Exception):
    """Raised by a hostile object. It must reach the caller unchanged."""


class Hostile:
    """An object that has every special method. Each method does something harmful.

    `deed` is "raise", "wrong" (an answer of another type), "large", "negative", or what
    `Hostile.deeds` does to the running session.
    """

    deeds: ClassVar[dict[str, Any]] = {}
    deepest = 0

    def __init__(self, deed: str, value: object = 1) -> None:
        self._deed, self._value = deed, value

    def _answer(self, usual: Any) -> Any:
        if self._deed == "raise":
            raise JunkError
        if self._deed == "wrong":
            return object()
        if self._deed in ("large", "negative"):
            return 1 << 70 if self._deed == "large" else -5
        if self._deed != "plain" and Hostile.deepest < 2:
            Hostile.deepest += 1
            try:
                Hostile.deeds[self._deed]()
            finally:
                Hostile.deepest -= 1
        return usual

    def __index__(self) -> int:
        return self._answer(self._value)

    __int__ = __index__

    def __float__(self) -> float:
        return self._answer(1.5)

    def __len__(self) -> int:
        return self._answer(2)

    def __bool__(self) -> bool:
        return self._answer(True)

    def __getitem__(self, key: object) -> object:
        if isinstance(key, int) and key > 3:
            raise IndexError
        return self._answer("w")

    def __iter__(self) -> Any:
        return self._answer(iter(["w", 0, self]))

    def __contains__(self, key: object) -> bool:
        return self._answer(True)

    def __eq__(self, other: object) -> bool:
        return self._answer(True)

    def __lt__(self, other: object) -> bool:
        return self._answer(False)

    def __hash__(self) -> int:
        return self._answer(hash("w"))

    def __fspath__(self) -> str:
        return self._answer("w")

    def __str__(self) -> str:
        return self._answer("w")

    def __repr__(self) -> str:
        return self._answer("Hostile")

    def __call__(self, *_: object, **__: object) -> object:
        return self._answer(None)

    def __array__(self, *_: object, **__: object) -> Any:
        return self._answer(np.zeros(3, np.float32))

    def __buffer__(self, flags: int) -> memoryview:
        return self._answer(memoryview(b"w"))

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") and name not in ("__array_interface__", "__dlpack__"):
            raise AttributeError(name)
        return self._answer(1)

    def items(self) -> Any:
        return self._answer([("w", 1)])

    def keys(self) -> Any:
        return self._answer(["w"])

    def write(self, data: object) -> Any:
        return self._answer(None)


class Text(str):
    """A str subclass with its own equality and hash."""

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        gc.collect()
        return True

    def __hash__(self) -> int:
        return 1


def endless() -> Any:
    """A list that contains itself."""
    found: list[Any] = ["w"]
    found.append(found)
    return found


def released() -> memoryview:
    """A memoryview that was released."""
    view = memoryview(bytearray(8))
    view.release()
    return view


def exhausted() -> Any:
    """A generator that has ended."""
    found = (i for i in ())
    next(found, None)
    return found


def failing() -> Any:
    """A generator that raises after its first value."""
    yield "w"
    raise JunkError


JUNK = [
    "None", "True", "False", "...", "NotImplemented", "0", "1", "-1", "2", "7", "3.7", "-0.0",
    "1e400", "float('nan')", "2**31", "-2**31 - 1", "2**32", "2**63 - 1", "2**63", "-2**63",
    "-2**63 - 1", "2**64", "10**30", "-10**30", "1j", "''", "'w'", "'*'", "'['", "'\\0'", "'a\\0b'",
    "'\\ud800'", "'\\udcff'", "'\\U0001f600'", "'x' * 5000", "'\\n\\x1b[2J'", "'float32'",
    "'no_such_name'", "'1 GiB'", "'-1'", "'1e3'", "b''", "b'w'", "b'\\xff\\0'", "b'\\x08\\x01'",
    "bytearray(b'w')", "()", "[]", "{}", "set()", "frozenset([1])", "[None]", "['w']", "['w', 'w']",
    "('w', 1)", "{'w': 1}", "{1: 2}", "[[]]", "[1, 2, 3]", "endless()", "released()", "exhausted()",
    "failing()", "iter(['w'])", "(i for i in 'w')", "range(3)", "range(10**18)", "slice(None)",
    "slice(1, None, 2)", "slice(None, None, -1)", "slice(None, None, 0)", "slice(2**70)",
    "slice('a', None)", "(slice(None), 0)", "(0, ...)", "(..., ...)", "(None, 0)",
    "np.array([0, 1])", "np.array(1)", "np.int64(1)", "np.uint64(2**64 - 1)", "np.float16(1)",
    "np.str_('w')", "np.bytes_(b'w')", "np.datetime64('NaT')", "np.bool_(True)",
    "np.zeros(3)[::-1]", "np.zeros((4, 4), 'f4')[::2, ::3]", "np.zeros(0)", "np.zeros((0, 5))",
    "np.array([True, False])", "np.array(['w'], object)", "np.array([None, [1]], object)",
    "np.zeros(4, 'V16')", "np.zeros(2, [('a', 'f4'), ('b', 'O')])", "np.zeros(4, '>f4')",
    "np.broadcast_to(np.float32(1), (3, 5))", "np.zeros(15, 'f4')", "np.zeros((3, 5), 'f4')",
    "np.zeros((3, 5), 'f4', order='F')", "np.frombuffer(b'12345678', 'f4')", "np.ma.zeros(3)",
    "np.zeros(3, 'M8[s]')", "np.zeros(2, 'U3')", "np.zeros((1,) * 32)", "np.float32",
    "np.dtype('f4')", "np.dtype('O')", "np.dtype('V3')", "np.dtype('>i2')",
    "np.dtype([('a', 'f4')])", "'f4,f4'", "int", "str", "object", "type", "len", "lambda *a: None",
    "lambda *a: 1 / 0", "print", "onnxmap", "onnxmap.DataType.FLOAT", "onnxmap.DataType.INT4",
    "onnxmap.Limits()", "onnxmap.Limits(tensors=0, depth=1)", "onnxmap.Tensor", "onnxmap.Node",
    "io.BytesIO()", "io.StringIO()", "io.BytesIO(b'w')", "Path('w')", "Path('\\udcff')",
    "ValueError('w')", "ctypes.c_int(3)", "(ctypes.c_ubyte * 4)()", "Text('w')", "Fraction(1, 3)",
    "Decimal('NaN')", "memoryview(b'w')", "memoryview(bytearray(16)).cast('i')[::2]",
    "array.array('f', [1, 2])", "Hostile('raise')", "Hostile('wrong')", "Hostile('large')",
    "Hostile('negative')", "Hostile('plain')", "Hostile('plain', 2)", "Hostile('close')",
    "Hostile('read')", "Hostile('clear')", "Hostile('mutate')", "[Hostile('raise')]",
    "[Hostile('close')]", "['w', Hostile('clear')]", "{'w': Hostile('read')}",
    "slice(Hostile('close'), None)", "slice(None, Hostile('raise'), Hostile('read'))",
]  # fmt: skip

PROTOCOLS = range(6)  # of pickle

# For the functions that edit messages, and those that make new ones.
_NODE = "onnxmap.make_node('Neg', ['w'], ['y'])"
_VALUE = "onnxmap.make_value_info('y', ('float32', [1, 'n']))"
_TYPE = "onnxmap.make_tensor_type_proto(1, [2, None])"
_GRAPH = f"onnxmap.make_graph([{_NODE}], 'g', [], [{_VALUE}])"
_LOADED = "onnxmap.loads(SMALL_MODELS['subgraphs'])"
_MESSAGES = [f"[{_NODE}]", f"[{_VALUE}]", "[]", f"{_LOADED}.graph.nodes"]
EDITS: dict[str, list[str]] = {
    "values": ["['w']", "[1, 2]", "np.arange(6, dtype='f4')", "np.zeros(3000)[::2]", "[]"],
    "messages": _MESSAGES, "nodes": _MESSAGES, "functions": ["[]"],
    "other": [_NODE, f"{_LOADED}.proto", "onnxmap.new('GraphProto')", "{}", "{'w': '1'}"],
    "serialized": ["b''", "SMALL_MODELS['subgraphs']", "b'\\x0a\\x01w'"],
    "old": ["'w'", "{'w': 'in0'}"], "new": ["'renamed'", "None"], "reverse": ["True"],
    "default": ["None"], "start": ["0"], "stop": ["3"],
    "inputs": ["['w']", "[]", f"[{_VALUE}]"], "outputs": ["['y']", "[]", f"[{_VALUE}]"],
    "op_type": ["'Neg'"], "domain": ["''", "'ai.onnx'"], "overload": ["''"], "fname": ["'f'"],
    "doc_string": ["'doc'", "None"], "version": ["21"], "opset_imports": ["[]"],
    "attributes": ["['a']", "None"], "attribute_protos": ["None"], "value_info": [f"[{_VALUE}]"],
    "graph": [_GRAPH, f"{_LOADED}.graph"], "initializer": ["[]"], "sparse_initializer": ["[]"],
    "attr_type": ["1", "2", "None"], "ref_attr_name": ["'a'"], "data_type": ["1", "7", "'INT4'"],
    "dims": ["[2]", "[]"], "vals": ["[1, 2]", "b'12345678'", "[1]"], "raw": ["True", "False"],
    "indices": ["onnxmap.make_tensor('i', 7, [1], [1])"], "key_type": ["7"],
    "value_type": [_TYPE], "inner_type_proto": [_TYPE], "type_proto": [_TYPE], "elem_type": ["1"],
    "shape": ["[1, 'n', None]", "None", "[]"], "shape_denotation": ["None", "['a', 'b', 'c']"],
    "elem_shape_denotation": ["None"], "text": ["'name: \"w\"'", "'{\"name\": \"w\"}'", "'{}'"],
    "message_type": ["'NodeProto'", "'TensorProto'", "'ModelProto'"], "memo": ["{}"],
    "view": [f"{_LOADED}.proto.graph", _NODE],
    "array": ["np.arange(3)"], "models": ["{'a.onnx': MODEL, 'b.onnx': MODEL}"],
    "external_data": ["'weights.data'", "None", "False", "'view'", "'deep/w.data'"],
}  # fmt: skip

# Arguments that fit parameters of these names. Other parameters get junk.
FITTING: dict[str, list[str]] = {
    "path": [
        "PATHS['model']", "PATHS['large']", "PATHS['external']", "PATHS['small']",
        "PATHS['tensor']", "PATHS['value']", "PATHS['operators']", "URLS['model']",
        "URLS['external']", "Path(PATHS['model'])", "os.fsencode(PATHS['external'])",
        "PATHS['nothing']", "FOLDER", "'file://' + PATHS['model']", "'http://127.0.0.1:9/m.onnx'",
    ],
    "file": ["io.BytesIO()", "OUT"], "folder": ["PATHS['data_set']", "FOLDER"],
    "a": ["PATHS['model']", "MODEL", "PATHS['large']"],
    "b": ["onnxmap.loads(SMALL_MODELS['functions'])", "MODEL", "PATHS['external']"],
    "model": ["MODEL", "PATHS['model']", "None"], "root": ["FOLDER", "URLS['folder']", "OTHER"],
    "external_root": ["FOLDER", "None", "URLS['folder']", "OTHER"],
    "buffer": [
        "BYTES['model']", "memoryview(BYTES['large'])", "np.frombuffer(BYTES['small'], 'u1')",
        "MAPPED", "BYTES['tensor']", "bytearray(BYTES['model'])",
    ],
    "message": [
        "'ModelProto'", "'TensorProto'", "'NodeProto'", "'NoProto'", "''", "'OperatorSetProto'",
        _NODE, "onnxmap.new('GraphProto')",
    ],
    "kind": ["'tensor'", "'sequence'", "'map'", "'optional'"],
    "format": ["None", "'protobuf'", "'textproto'", "'json'", "'onnxtxt'"],
    "link_policy": ["'contained'", "'strict'", "'trusted'"], "allow_hardlinks": ["True", "False"],
    "io": ["'auto'", "'mmap'", "'read'"], "check": ["'full'", "'lazy'"], "watch": ["True", "False"],
    "lenient": ["True", "False"],
    "limits": [
        "None", "onnxmap.Limits()", "onnxmap.Limits(dense_bytes=10)", "onnxmap.Limits(timeout=5)",
        "onnxmap.Limits(overlap=1)",
    ],
    "storage_options": ["None", "{}", "{'skip_instance_cache': True}"],
    "names": [
        "None", "'*'", "'FLOAT*'", "['w']", "'w'", "[]", "['in0', 'w']", "names_of(MODEL)",
        "iter(['w'])",
    ],
    "dtype": [
        "None", "'float32'", "np.float16", "'float64'", "onnxmap.DataType.BFLOAT16", "'int8'",
        "complex", "np.dtype('>f4')",
    ],
    "threads": ["None", "1", "2", "4"],
    "progress": ["False", "lambda *a: None", "lambda *a: gc.collect()", "Hostile('close')"],
    "window": ["'1MiB'", "1", "4096", "'64KiB'"], "copy": ["None", "True", "False"],
    "writable": ["True", "False"],
    "out": [
        "None", "np.zeros(16, 'f4')", "np.zeros((3, 5), 'f4')", "np.zeros((3, 5), 'f2')",
        "np.zeros((3, 5), 'i8', order='F')",
    ],
    "name": ["'w'", "'graph'", "'value'", "'name'", "'float_data'", "'NodeProto'"],
    "max_bytes": ["None", "10", "2**40"], "longest": ["10", "0", "2**40"],
    "chunks": ["'auto'", "10", "'1KiB'", "-1", "{0: 2}", "(2, 2)"], "stream": ["None", "1", "-1"],
    "max_version": ["None", "(1, 0)", "(0, 8)"], "dl_device": ["None", "(1, 0)", "(2, 0)"],
    "value": ["'w'", "1", "1.5", "[1, 2]", "np.arange(3.0)", _GRAPH],
    "index": ["0", "-1", "slice(1, None)"],
    "key": ["'w'", "0", "slice(1, 3)", "(0, 1)"], "arg0": ["0", "'w'", "1"], "offset": ["0", "8"],
    "args": ["'w'"], "code": ["'tensor.segment'"], "tensor": ["'w'"],
    **EDITS,
}  # fmt: skip


# Functions with these names write files; `path` is then a file that nothing reads.
_WRITING = ("save", "append", "report")


def fitting_for(function: str, parameter: str) -> list[str]:
    """Arguments that fit a parameter of a function."""
    is_written = function.startswith(_WRITING) and parameter == "path"
    return FITTING["file"] if is_written else FITTING.get(parameter, ["'w'"])


def write_files(folder: Path) -> dict[str, str]:
    """Files that lead to every class, by name."""
    paths = {name: folder / f"{name}.onnx" for name in ("model", "large", "external", "small")}
    weights = np.arange(4096, dtype=np.float32).tobytes()
    (folder / "w.bin").write_bytes(weights)
    right = hashlib.sha1(weights).hexdigest()
    outside = [
        external("w", [16], {"location": "w.bin"}),
        external("in0", [16],
        {"location": "w.bin", "offset": "64", "length": "64", "checksum": right}),
        external("wrong", [16], {"location": "w.bin", "checksum": "0" * 40}),
        external("missing", [4], {"location": "none.bin"}),
        external("unsafe", [4], {"location": "../w.bin"}),
        external("beyond", [4], {"location": "w.bin", "offset": "1000000"}),
    ]  # fmt: skip
    paths["external"].write_bytes(_everything(outside))
    strings = numpy_helper.from_array(np.array(["a", "\n", "é"], object), "strings")
    typed = [
        TensorProto(name="i", dims=[3], data_type=6, int32_data=[1, -1, 1 << 30]),
        TensorProto(name="f", dims=[2], data_type=1, float_data=[1.5, -0.0]),
        TensorProto(name="bad", dims=[5], data_type=1, raw_data=b"12"),
        TensorProto(name="unknown", dims=[1], data_type=99, raw_data=b"12"),
        TensorProto(dims=[1], data_type=7, int64_data=[3]),
        TensorProto(name="surplus", dims=[1], data_type=1, float_data=[1], raw_data=b"1234"),
        helper.make_tensor("int4", TensorProto.INT4, [3], [1, -2, 3]),
        helper.make_tensor("uint2", TensorProto.UINT2, [5], [1, 2, 3, 0, 1]),
        helper.make_tensor("float4", TensorProto.FLOAT4E2M1, [3], [1.0, -2.0, 3.0]),
    ]
    paths["model"].write_bytes(
        _everything([floats("w", 16), *tensors_of_every_type(), strings, *typed])
    )
    parts = [floats("w", 16, 0)] + [floats(f"in{i}", 20_000, i) for i in range(3)]
    paths["large"].write_bytes(_everything(parts) + _segments())
    paths["small"].write_bytes(SMALL_MODELS["subgraphs"])
    values = {
        "tensor": numpy_helper.from_array(np.arange(6, dtype=np.int16).reshape(2, 3), "w"),
        "value": numpy_helper.from_list([np.arange(3, dtype=np.float32)], "s"),
        "operators": OperatorSetProto(magic="ONNXOPSET", ir_version=10),
    }
    values["operators"].operator.add(op_type="Gelu", since_version=1)
    for name, value in values.items():
        paths[name] = folder / f"{name}.pb"
        paths[name].write_bytes(value.SerializeToString())
    paths["data_set"] = folder / "data_set"
    paths["data_set"].mkdir()
    (paths["data_set"] / "input_0.pb").write_bytes(values["tensor"].SerializeToString())
    (paths["data_set"] / "output_0.pb").write_bytes(values["tensor"].SerializeToString())
    paths["nothing"] = folder / "nothing.onnx"
    return {name: str(path) for name, path in paths.items()}


def _segments() -> bytes:
    """A graph with a tensor in two pieces. It is merged with the graph before it."""

    def piece(begin: int, end: int) -> bytes:
        segment = wire.blob(3, wire.scalar(1, begin) + wire.scalar(2, end))
        head = wire.scalar(2, 1) + wire.scalar(1, 12) + wire.blob(8, b"pieces")
        return head + segment + wire.blob(9, np.arange(begin, end, dtype=np.float32).tobytes())

    return model_of(piece(0, 5), piece(5, 12))


def _everything(tensors: list[TensorProto]) -> bytes:
    """A model with these initializers. It also has every kind of message, from all small models."""
    graph = onnx.GraphProto(name="weights", initializer=tensors)
    own = onnx.ModelProto(ir_version=10, graph=graph).SerializeToString()
    return own + b"".join(
        data for name, data in SMALL_MODELS.items() if name not in ("raw_initializers",)
    )


def map_file(path: str) -> mmap.mmap:
    """The file as a buffer."""
    with open(path, "rb") as file:  # noqa: PTH123
        return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)


def mutated(data: bytearray, step: itertools.count[int]) -> None:
    """Changes a buffer while a model reads it."""
    if data:
        position = next(step) * 7919 % len(data)
        data[position] ^= 0x55


__all__ = ["FITTING", "JUNK", "PROTOCOLS", "Hostile", "JunkError", "Text", "ctypes", "endless"]
