"""Writes the type stubs of the package from the installed extension.

    python tools/generate_stubs.py            # writes the stubs
    python tools/generate_stubs.py --check    # has exit status 1 if they would change

pybind11-stubgen sees what C++ declares. A class that gets methods from `onnxmap._methods` inherits
them in its stub. If C++ returns just a Python object, this file gives the type: for a field of a
message from the schema, for anything else from `RETURNS`. The enums are made from the core's tables
when the package is imported, so type checkers need them written out.
"""

from __future__ import annotations

import ast
import difflib
import inspect
import logging
import re
import shutil
import subprocess
import sys
import tempfile
from enum import IntEnum
from operator import itemgetter
from pathlib import Path
from types import GetSetDescriptorType
from typing import cast

from pybind11_stubgen import main as stubgen_main

import onnxmap
from onnxmap import AttributeType, DataLocation, DataType, OperatorStatus, Version, _core
from onnxmap._methods.attach import METHODS

PACKAGE = Path(__file__).parents[1] / "python" / "onnxmap"
HEADING = "# Written by tools/generate_stubs.py (make stubs); changes are lost.\n# ruff: noqa\n"

ARRAY = "_ndarray[Any, Any]"  # Tensor.numpy hides the module in its class
VALUE_TYPE = (
    "TensorType | SparseTensorType | SequenceType | MapType | OptionalType | OpaqueType | None"
)
# The type that a member returns, by `Class.member`, by `member` for all classes, or by function.
RETURNS = {
    "Function.consumers": "builtins.list[Node]",
    "Function.producer": "Node | None",
    "Function.topological_order": "builtins.list[Node]",
    "Function.value": "ValueInfo | None",
    "Tensor.histogram": f"tuple[{ARRAY}, {ARRAY}]",
    "Tensor.segment": "ProtoView | None",
    "Document.shape_tensors": "builtins.list[bool]",
    "check_rules": "tuple[builtins.list[tuple[int, str, str]], builtins.list[int]]",
    "file_locations": "builtins.list[bytes]",
    "file_paths": "dict[str, str | None]",
    "external_paths": "builtins.list[str]",
    "Neighbours.owner_of": "str | None",
    "Neighbours.unreadable": "str | None",
    "Neighbours.user_of": "str | None",
    "save_models": "dict[str, Any]",
    "prune": "tuple[builtins.list[str], ...]",
    "set_dims": "tuple[builtins.list[str], builtins.list[str], builtins.list[Any]]",
    "dedupe": "builtins.list[tuple[str, str]]",
    "lift_constants": "builtins.list[str]",
    "inline_functions": "builtins.list[str]",
    "unused_bytes": "dict[str, int]",
    "take_locations": "dict[int, bytes]",
    "rules": "builtins.list[tuple[str, str, str, str, str]]",
    "proto": "ProtoView",
    "metadata_props": "StringMapping",
    "opset_imports": "OpsetMapping",
    "attributes": "AttributeMapping",
    "attribute_protos": "AttributeMapping",
    "Attribute.type": "AttributeType",
    "Attribute.value": "Any",
    "Bulk.arrays": f"dict[str, {ARRAY}]",
    "Document.root": "Any",
    "Document.nodes": "builtins.list[tuple[str, Node]]",
    "Document.tensors": "builtins.list[tuple[str, Tensor]]",
    "ExternalFile.identity": "tuple[int, int]",
    "Graph.consumers": "builtins.list[Node]",
    "Graph.initializers": "Initializers",
    "Graph.sparse_initializers": "SparseInitializers",
    "Graph.required_inputs": "builtins.list[ValueInfo]",
    "Graph.overridable_inputs": "builtins.list[ValueInfo]",
    "Graph.inputs": "MessageList[ValueInfo]",
    "Graph.nodes": "MessageList[Node]",
    "Graph.outputs": "MessageList[ValueInfo]",
    "Graph.quantization_annotations": "MessageList[QuantizationAnnotation]",
    "Graph.value_infos": "MessageList[ValueInfo]",
    "Graph.dimension_params": "builtins.dict[str, builtins.list[builtins.tuple[str, int]]]",
    "Graph.node_inputs": "builtins.list[builtins.list[str]]",
    "Graph.node_names": "builtins.list[str]",
    "Graph.node_outputs": "builtins.list[builtins.list[str]]",
    "Graph.op_counts": "dict[str, int]",
    "Graph.op_types": "builtins.list[str]",
    "Graph.producer": "Node | None",
    "Graph.topological_order": "builtins.list[Node]",
    "Graph.value": "ValueInfo | None",
    "ModelDifference.finish": (
        "tuple[builtins.list[tuple[str, Any]], builtins.list[tuple[Any, ...]], int]"
    ),
    "Node.inputs": "ValueList[str]",
    "ProtoView._fields": "builtins.list[tuple[str, Any]]",
    "ProtoView.WhichOneof": "str | None",
    "ProtoView.__getattr__": "Any",
    "ProtoView.to_dict": "dict[str, Any]",
    "ProtoView.to_json": "str",
    "SparseTensor.indices": "Tensor",
    "SparseTensor.name": "str",
    "SparseTensor._positions": ARRAY,
    "Stats.read": (
        "tuple[builtins.list[tuple[str, DataType, tuple[int, ...], tuple[Any, ...]]], "
        "tuple[Any, ...]]"
    ),
    "Stream.next": f"tuple[str, {ARRAY}] | None",
    "Tensor.__complex__": "complex",
    "Tensor.__float__": "float",
    "Tensor.__int__": "int",
    "Tensor.__contains__": "bool",
    "Tensor.__index__": "int",
    "Tensor.__iter__": "Any",
    "Tensor.item": "Any",
    "SparseTensor.nnz": "int",
    "SparseTensor.shape": "tuple[int, ...]",
    "SparseTensor.values": "Tensor",
    "Tensor.__array__": ARRAY,
    "Tensor._view_at": "Any",
    "Tensor._stored_nbytes": "int | None",
    "Tensor.__dlpack__": "Any",
    "ProtoView._reading": "tuple[bytes, tuple[str, bool, str, bool], bool, dict[str, int]]",
    "Tensor._box": ARRAY,
    "Tensor._message": "bytes | None",
    "Tensor._reference": "tuple[bytes, bytes, bytes, int, int, int, bool] | None",
    "Tensor._file_size": "int | None",
    "Tensor._file_state": "tuple[int, int, int, int] | str | None",
    "Tensor.doc_string": "str",
    "Tensor.dtype": "DataType",
    "Tensor.file": "str | None",
    "Tensor.numpy": ARRAY,
    "Tensor.offset": "int | None",
    "Tensor.packed": ARRAY,
    "Tensor.shape": "tuple[int, ...]",
    "UnknownField.data": "Any",
    "ValueInfo.dtype": "DataType | int | None",
    "ProtoView.message_type": "str",
    "ProtoView.unknown_fields": "UnknownFieldList",
    "Graph.is_removed": "bool",
    "Tensor.name": "str",
    "Tensor.ndim": "int",
    "Tensor.size": "int",
    "Tensor.nbytes": "int",
    "Tensor.is_external": "bool",
    "Tensor.is_view": "bool",
    "Tensor.is_aligned": "bool",
    "ValueInfo.shape": "tuple[int | str | None, ...] | None",
    "ValueInfo.type": VALUE_TYPE,
    "data_type_facts": "builtins.list[tuple[str, int, int, str, str]]",
    "enum_values": "dict[str, int]",
    "external_file": "ExternalFile | None",
    "document_of": "Document | None",
    "property_value": "Any",
    "loaded_raw_data": "tuple[int, int] | None",
    "kernel_paths": "builtins.list[str]",
    "numpy_dtype": "numpy.dtype[Any]",
    "match_lists": "builtins.list[tuple[int, int]]",
    "map_keys": "builtins.list[Any]",
    "option_names": "dict[str, tuple[str, ...]]",
    "optional_value": "ProtoView | None",
    "schema": "dict[str, Any]",
    "text_form": "str | None",
    "looks_like": "str | None",
    "attribute_fields": "dict[int, str]",
    "find_message": "ProtoView | None",
    "AttributeMapping._message": "ProtoView",
    "state_variables": "builtins.list[str]",
    "sequence_values": "Sequence[ProtoView]",
    "wrap": "Any",
}
_LOAD = {
    "options": "_protocols.LoadOptions", "external_root": "bytes | _protocols.RemoteFolder",
}  # fmt: skip
_BUFFER = "bytes | bytearray | memoryview"
# What the arguments take that C++ declares as Python objects, by method or `Class.method`.
TAKES = {
    "ClearField": {"name": "str"},
    "FromString": {"serialized": _BUFFER},
    "HasField": {"name": "str"},
    "MergeFromString": {"serialized": _BUFFER},
    "ParseFromString": {"serialized": _BUFFER},
    "SerializePartialToString": {"deterministic": "bool | None"},
    "SerializeToString": {"deterministic": "bool | None"},
    "WhichOneof": {"name": "str"},
    "find_neighbours": {"locations_in_text": "_protocols.LocationsInText"},
    "external_paths": {"locations_in_text": "_protocols.LocationsInText"},
    "load_beside": {"options": "_protocols.LoadOptions"},
    "load_buffer": _LOAD,
    "load_file": _LOAD,
    "load_remote": {**_LOAD, "file": "_protocols.RangeFile"},
    "load_remote_safetensors": {
        "file": "_protocols.RangeFile", "options": "_protocols.LoadOptions",
        "root": "_protocols.RemoteFolder",
    },
    "load_safetensors": {"options": "_protocols.LoadOptions"},
    "save_models": {"options": "_protocols.SaveOptions", "hooks": "_protocols.SaveHooks"},
    "write_json": {"write": "Callable[[str], object]"},
    "write_text": {"write": "Callable[[str], object]"},
    "add_output": {"value": "str"},
    "bypass": {"node": "Node"},
    "consumers": {"value": "str"},
    "producer": {"value": "str"},
    "replace_uses": {"old": "str", "new": "str"},
    "Function.value": {"name": "str"},
    "Graph.value": {"name": "str"},
    "Tensor.histogram": {"bins": f"int | Sequence[float] | {ARRAY}"},
    "Tensor.numpy": {
        "dtype": "DTypeLike | DataType | None", "out": f"{ARRAY} | None", "copy": "bool | None",
    },
}  # fmt: skip
# What may be assigned to a property that is no field of the schema.
SETS = {
    "attribute_protos": "Mapping[str, Any]",
    "attributes": "Mapping[str, Any]",
    "metadata_props": "Mapping[str, str]",
    "opset_imports": "Mapping[str, int]",
    "Attribute.value": "Any",
    "Graph.inputs": "Iterable[ValueInfo | ProtoView]",
    "Graph.nodes": "Iterable[Node | ProtoView]",
    "Graph.outputs": "Iterable[ValueInfo | ProtoView]",
    "Graph.quantization_annotations": "Iterable[QuantizationAnnotation | ProtoView]",
    "Graph.value_infos": "Iterable[ValueInfo | ProtoView]",
    "Node.inputs": "Iterable[str]",
    "Tensor.doc_string": "str",
    "ValueInfo.dtype": "Any",
    "ValueInfo.shape": "Sequence[int | str | None] | None",
    "ValueInfo.type": "Any",
}
IMPORTS = """
import builtins
from collections.abc import Callable, Iterable, Iterator, Mapping, MutableMapping
from collections.abc import MutableSequence, Sequence
from typing import Any, TypeVar

import numpy
import onnx_ir
import torch as _torch
from numpy import ndarray as _ndarray
from numpy.typing import DTypeLike
from onnxmap._base import protocols as _protocols
from onnxmap._base.enums import AttributeType, DataType, OperatorStatus
from onnxmap._methods import lists as _lists, mappings as _mappings
from onnxmap._methods import messages as _messages, tensors as _tensors
from onnxmap._read.checks import CheckReport
from onnxmap._show import shown as _shown
from onnxmap.types import ExternalData, MapType, MessageType, OpaqueType, OptionalType
from onnxmap.types import SequenceType, SparseTensorType, TensorType, Use
from scipy.sparse import coo_array
from typing_extensions import Self

_Message = TypeVar("_Message")
_Value = TypeVar("_Value")
"""
SCALARS = {
    "string": "str",
    "bytes": "bytes",
    "float": "float",
    "double": "float",
    "int32": "int",
    "int64": "int",
    "uint64": "int",
    "enum": "int",
}


class ReturnTypes(ast.NodeTransformer):
    """Fills in what pybind11-stubgen cannot know, and notes which entries of RETURNS it used."""

    def __init__(self) -> None:
        self.class_name = ""
        self.documentation = ""
        self.used: set[str] = set()
        self.taken: set[tuple[str, str]] = set()
        self.unknown: list[str] = []

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.ClassDef:
        """Note the class of the methods that follow."""
        if node.name in ITERATORS:
            element = ITERATORS[node.name]
            made = f"class {node.name}(Iterator[{element}]):\n def __next__(self) -> {element}: ..."
            return cast("ast.ClassDef", ast.parse(made).body[0])
        self.class_name = node.name
        node.body += properties(getattr(_core, node.name))
        if node.name in METHODS:
            inherit(node, METHODS[node.name])
        self.generic_visit(node)
        self.class_name = ""
        return node

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.FunctionDef | None:
        """Set the return type, and make vague arguments `Any`."""
        if node.name in NOT_SHOWN:
            return None
        if node.name == "__reduce__" and f"{self.class_name}.__reduce__" not in RETURNS:
            return None  # it raises an error
        # Only the generic view has names that no stub lists. Elsewhere it raises the error.
        if node.name in ("__getattr__", "__setattr__") and self.class_name != "ProtoView":
            return None
        name = f"{self.class_name}.{node.name}".lstrip(".")
        if any(ast.unparse(one).endswith(".setter") for one in node.decorator_list):
            told = SETS.get(name) or SETS.get(node.name) or field_type(self.documentation, True)
            node.args.args[1].annotation = ast.parse(told, mode="eval").body
            return node
        self.documentation = ast.get_docstring(node) or ""  # its setter, if any, comes next
        told = field_type(ast.get_docstring(node) or "")
        for key in (name, node.name):
            if key in RETURNS and not told:
                self.used.add(key)
                told = RETURNS[key]
        if told:
            node.returns = ast.parse(told, mode="eval").body
        elif node.returns is None or ast.unparse(node.returns) in VAGUE:
            self.unknown.append(name)
        if node.args.kwarg is not None:
            node.args.kwarg.annotation = ast.Name("Any")
        takes = next((TAKES[key] for key in (name, node.name) if key in TAKES), {})
        for argument in node.args.args + node.args.kwonlyargs:
            annotation = argument.annotation
            if annotation is not None and ast.unparse(annotation) in VAGUE:
                kind = takes.get(argument.arg, "Any")
                self.taken |= {(name if name in TAKES else node.name, argument.arg)}
                argument.annotation = ast.parse(kind, mode="eval").body
        return node


def properties(cls: type) -> list[ast.stmt]:
    """Return the properties of a native class, which pybind11-stubgen does not see."""
    made: list[ast.stmt] = []
    for name, member in sorted(vars(cls).items()):
        if not isinstance(member, GetSetDescriptorType):
            continue
        doc = member.__doc__ or ""
        lines = ["@property", f"def {name}(self): ..."]
        can_be_set = field_type(doc) or {name, f"{cls.__name__}.{name}"} & SETS.keys()
        if can_be_set:
            lines += [f"@{name}.setter", f"def {name}(self, arg1) -> None: ..."]
        found = ast.parse("\n".join(lines)).body
        if doc:
            assert isinstance(found[0], ast.FunctionDef)
            indented = doc.replace("\n", "\n" + 8 * " ").replace("\n        \n", "\n\n")
            found[0].body = [ast.Expr(ast.Constant(f"\n        {indented}\n        "))]
        made += found
    return made


# The elements of lists and the values of mappings.
ELEMENTS = {
    "AttributeMapping": "Attribute",
    "Initializers": "Tensor",
    "MessageList": "_Message",
    "OpsetMapping": "int",
    "SparseInitializers": "SparseTensor",
    "StringMapping": "str",
    "ValueList": "_Value",
}
ITERATORS = {"MessageIterator": "_Message", "UnknownFieldIterator": "UnknownField"}
# Python cannot make objects of bound classes, and `object` has the rest.
NOT_SHOWN = {"__init__", "__new__", "__setstate__", "__hash__", "__class_getitem__"}
NOT_SHOWN |= {"__eq__", "__ne__", "__lt__", "__le__", "__gt__", "__ge__"}
VAGUE = {"typing.Any", "list", "dict", "tuple", "..."}


def inherit(node: ast.ClassDef, methods: type) -> None:
    """Let a class inherit the methods that it gets, and take the types that they tell of others."""
    module = methods.__module__.rpartition(".")[2]
    element = ELEMENTS.get(node.name, "")
    bases = getattr(methods, "__orig_bases__", ())
    is_generic = any(getattr(base, "__parameters__", ()) for base in bases)
    base = f"_{module}.{methods.__name__}" + (f"[{element}]" if is_generic else "")
    node.bases = [ast.parse(base, mode="eval").body]
    inherited = {name for base in methods.__mro__[:-1] for name in vars(base)} - {"__hash__"}
    told = declared(methods, element)
    described = {one.name: one.body[0] for one in node.body if describes(one)}
    for each in told:
        if each.name in described:
            each.body.insert(0, described[each.name])
    known = inherited | {each.name for each in told}
    kept = [one for one in node.body if getattr(one, "name", "") not in known]
    node.body = [one for one in kept if not isinstance(one, ast.AnnAssign)]  # no `__hash__`
    node.body += [each for each in told if each.name in described]


def describes(member: ast.stmt) -> bool:
    """Whether a member has a docstring of ours, not of one of CPython's slots."""
    slots = ("__iter__", "__next__", "__len__")
    is_function = isinstance(member, ast.FunctionDef) and member.name not in slots
    return is_function and bool(ast.get_docstring(member))


def declared(methods: type, element: str) -> list[ast.FunctionDef]:
    """Return the functions in C++ that a class of `onnxmap._methods` declares."""
    found: list[ast.FunctionDef] = []
    for base in methods.__mro__:
        if not base.__module__.startswith("onnxmap."):
            continue
        text = inspect.getsource(base).replace("_core.", "").replace("np.", "numpy.")
        text = text.replace("@overload", "@typing.overload").replace(
            " SupportsIndex", " typing.SupportsIndex"
        )
        text = re.sub(r"\blist\[", "builtins.list[", text)
        text = re.sub(r"\b(Message|Value|Item)\b", element, text)
        (cls,) = ast.parse(text).body
        assert isinstance(cls, ast.ClassDef)
        known = {each.name for each in found}
        for block in cls.body:
            if isinstance(block, ast.If):
                functions = [each for each in block.body if isinstance(each, ast.FunctionDef)]
                overloaded = {each.name for each in functions if is_overload(each)}
                found += [
                    each
                    for each in functions
                    if each.name not in known and (is_overload(each) or each.name not in overloaded)
                ]
    return found


def is_overload(function: ast.FunctionDef) -> bool:
    """Whether it is one of several signatures."""
    return any(ast.unparse(each).endswith("overload") for each in function.decorator_list)


def field_type(documentation: str, assigned: bool = False) -> str:
    """Return the type of the field that a docstring names, like `NodeProto.op_type`; or "".

    `assigned`: the type of what may be assigned to it.
    """
    message, _, name = documentation.strip().rpartition(".")
    for row in _core.schema()["messages"].get(message, ()):
        if row["name"] == name:
            return row_type(row, assigned)
    return ""


def row_type(row: dict[str, object], assigned: bool) -> str:
    """Return the type that the bound classes have for a field of the schema."""
    repeated = row["label"] == "repeated"
    if row["type"] != "message":
        is_status = row["type_name"] == "OperatorStatus"
        scalar = "OperatorStatus" if is_status and not assigned else SCALARS[str(row["type"])]
        form = "Iterable[{}]" if assigned else "ValueList[{}]"
        return form.format(scalar) if repeated else scalar
    if row["type_name"] == "StringStringEntryProto":
        return "Mapping[str, str]" if assigned else "StringMapping"
    kind = bound_class(str(row["type_name"]))
    if assigned:
        kind += " | ProtoView"
    form = "Iterable[{}]" if assigned else "MessageList[{}]"
    return form.format(kind) if repeated else f"{kind} | None"


def bound_class(message: str) -> str:
    """Return the class that the core makes of a message; see `wrap_message` in the bindings."""
    renamed = {"TensorAnnotation": "QuantizationAnnotation"}
    return renamed.get(message, message.removesuffix("Proto"))


def core_stubs() -> str:
    """Return the stubs of onnxmap._core."""
    logging.getLogger("pybind11_stubgen").setLevel(logging.CRITICAL)
    with tempfile.TemporaryDirectory() as folder:
        stubgen_main(["onnxmap._core", "--output-dir", folder])
        text = (Path(folder) / "onnxmap" / "_core.pyi").read_text()
    text = text.replace("from __future__ import annotations", "", 1)
    types = ReturnTypes()
    body = ast.unparse(types.visit(ast.parse(text)))
    stale = sorted(RETURNS.keys() - types.used)
    if types.unknown or stale:
        raise SystemExit(f"RETURNS: add {types.unknown}, remove {stale}")
    known = {(name, argument) for name, takes in TAKES.items() for argument in takes}
    if known - types.taken:
        raise SystemExit(f"TAKES: remove {known - types.taken}")
    return IMPORTS + body


def package_stubs() -> str:
    """Return the public names of the package, which it finds by a table."""
    lines = [
        f"from {module} import {name} as {name}"
        for name, module in sorted(onnxmap._MODULES.items(), key=itemgetter(1))
    ]
    lines += ["from onnxmap import types as types", "", f"__all__ = {onnxmap.__all__}"]
    return "\n".join([*lines, "__version__: str"])


def enum_stubs() -> str:
    """Return the stubs of onnxmap._base.enums."""
    bits = DataType.bits.__doc__  # type: ignore[attr-defined]
    return f'''
from enum import IntEnum
from typing import Any

import numpy

{enum_class(DataType)}
    @property
    def bits(self) -> int:
        """{bits}"""
    def numpy(self) -> numpy.dtype[Any]:
        """{DataType.numpy.__doc__}"""
    def __eq__(self, other: object) -> bool: ...
    def __hash__(self) -> int: ...

{enum_class(AttributeType)}
{enum_class(DataLocation)}
{enum_class(OperatorStatus)}
{enum_class(Version)}
'''


def enum_class(enum: type[IntEnum]) -> str:
    """Return the enum as Python source."""
    members = "".join(f"    {member.name} = {member.value}\n" for member in enum)
    return f'class {enum.__name__}(IntEnum):\n    """{enum.__doc__}"""\n\n{members}'


def formatted(text: str) -> str:
    """Return `text` after `ruff format`, so that it does not depend on the generator's version."""
    beside = Path(sys.executable).with_name("ruff")
    ruff = str(beside) if beside.exists() else shutil.which("ruff")
    command = [ruff or "ruff", "format", "--stdin-filename", "stubs.pyi", "-"]
    return subprocess.run(command, input=text, capture_output=True, text=True, check=True).stdout


def main() -> int:
    """Write or check the files; return 1 if one is stale."""
    status = 0
    for name, make in (
        ("__init__.pyi", package_stubs),
        ("_core.pyi", core_stubs),
        ("_base/enums.pyi", enum_stubs),
    ):
        path, fresh = PACKAGE / name, formatted(HEADING + make())
        if "--check" not in sys.argv[1:]:
            path.write_text(fresh)
            continue
        kept = path.read_text() if path.exists() else ""
        if kept != fresh:
            difference = difflib.unified_diff(
                kept.splitlines(), fresh.splitlines(), str(path), "the extension", lineterm=""
            )
            print("\n".join([*difference, f"{name} is stale; run make stubs"]))
            status = 1
    return status


if __name__ == "__main__":
    sys.exit(main())
