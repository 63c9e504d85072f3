"""Writes the type stubs of the package from the installed extension.

    python tools/generate_stubs.py            # writes the stubs
    python tools/generate_stubs.py --check    # has exit status 1 if they would change

pybind11-stubgen sees what C++ declares. If C++ returns just a Python object, this file gives the
type: for a field of a message from the schema, for anything else from `RETURNS`. The enums are made
from the core's tables when the package is imported, so type checkers need them written out.
"""

from __future__ import annotations

import ast
import difflib
import logging
import shutil
import subprocess
import sys
import tempfile
from enum import IntEnum
from operator import itemgetter
from pathlib import Path
from types import GetSetDescriptorType

from container_stubs import CONTAINERS
from pybind11_stubgen import main as stubgen_main

import onnxmap
from onnxmap import AttributeType, DataLocation, DataType, OperatorStatus, Version, _core

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
    "Function.uses": "builtins.list[Use]",
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
    "__repr__": "str",
    "_repr_html_": "str",
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
    "Graph.uses": "builtins.list[Use]",
    "Graph.value": "ValueInfo | None",
    "ModelDifference.finish": (
        "tuple[builtins.list[tuple[str, Any]], builtins.list[tuple[Any, ...]], int]"
    ),
    "Node.inputs": "ValueList[str]",
    "OperatorSet.check": "CheckReport",
    "ProtoView.DESCRIPTOR": "Any",
    "ProtoView.ListFields": "builtins.list[tuple[Any, Any]]",
    "ProtoView._fields": "builtins.list[tuple[str, Any]]",
    "ProtoView.FindInitializationErrors": "builtins.list[str]",
    "ProtoView.WhichOneof": "str | None",
    "ProtoView.__getattr__": "Any",
    "ProtoView.to_dict": "dict[str, Any]",
    "ProtoView.to_json": "str",
    "SparseTensor.dtype": "DataType",
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
    "SparseTensor.to_dense": ARRAY,
    "SparseTensor.to_scipy": "coo_array",
    "SparseTensor.values": "Tensor",
    "Tensor.__array__": ARRAY,
    "Tensor.__getitem__": "Any",
    "Tensor._stored_nbytes": "int | None",
    "Tensor.__deepcopy__": "Tensor",
    "Tensor.__copy__": "Tensor",
    "Tensor.__dlpack__": "Any",
    "Tensor.__dlpack_device__": "tuple[int, int]",
    "Tensor.__reduce__": "Any",
    "ProtoView._reading": "tuple[bytes, tuple[str, bool, str, bool], bool, dict[str, int]]",
    "Tensor._policy": "tuple[str, bool, str, bool]",
    "Tensor._box": f"tuple[{ARRAY}, tuple[Any, ...]]",
    "Tensor._message": "bytes | None",
    "Tensor._reference": "tuple[bytes, bytes, bytes, int, int, int, bool] | None",
    "Tensor._file_size": "int | None",
    "Tensor._file_state": "tuple[int, int, int, int] | str | None",
    "Tensor.doc_string": "str",
    "Tensor.dtype": "DataType",
    "Tensor.external": "ExternalData | None",
    "Tensor.file": "str | None",
    "Tensor.numpy": ARRAY,
    "Tensor.offset": "int | None",
    "Tensor.packed": ARRAY,
    "Tensor.shape": "tuple[int, ...]",
    "Tensor.to_ir": "onnx_ir.TensorProtocol",
    "Tensor.torch": "_torch.Tensor",
    "Tensor.verify": "bool",
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
    "Tensor._lenient": "bool",
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
    "stored_bytes": "numpy.ndarray[Any, Any]",
    "type_message": "Any",
    "state_variables": "builtins.list[str]",
    "sequence_values": "Sequence[ProtoView]",
    "wrap": "Any",
}
_BUFFER = "bytes | bytearray | memoryview"
# What the arguments take that C++ declares as Python objects, by method or `Class.method`.
TAKES = {
    "ClearField": {"name": "str"},
    "FromString": {"serialized": _BUFFER},
    "HasField": {"name": "str"},
    "IsInitialized": {"errors": "builtins.list[str] | None"},
    "MergeFromString": {"serialized": _BUFFER},
    "ParseFromString": {"serialized": _BUFFER},
    "SerializePartialToString": {"deterministic": "bool | None"},
    "SerializeToString": {"deterministic": "bool | None"},
    "WhichOneof": {"name": "str"},
    "write_json": {"write": "Callable[[str], object]"},
    "write_text": {"write": "Callable[[str], object]"},
    "add_output": {"value": "str"},
    "bypass": {"node": "Node"},
    "consumers": {"value": "str"},
    "producer": {"value": "str"},
    "replace_uses": {"old": "str", "new": "str"},
    "uses": {"value": "str"},
    "Function.value": {"name": "str"},
    "Graph.rename": {"old": "str | Mapping[str, str]", "new": "str | None"},
    "Graph.value": {"name": "str"},
    "OperatorSet.check": dict.fromkeys(("select", "ignore"), "Iterable[str] | str | None"),
    "Tensor.histogram": {"bins": f"int | Sequence[float] | {ARRAY}"},
    "Tensor.numpy": {
        "dtype": "DTypeLike | DataType | None", "out": f"{ARRAY} | None", "copy": "bool | None",
    },
    "Tensor.tofile": {"file": "Path | SupportsWrite[bytes]"},
    "SparseTensor.to_dense": {"max_bytes": "int | None"},
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
from _typeshed import SupportsWrite
from numpy import ndarray as _ndarray
from numpy.typing import DTypeLike
from onnxmap._base.enums import AttributeType, DataType, OperatorStatus
from onnxmap._base.paths import Path
from onnxmap._read.checks import CheckReport
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
        """Note the class of the methods that follow. Replace lists, mappings, iterators."""
        if node.name in CONTAINERS:
            return container_class(node)
        self.class_name = node.name
        node.body += properties(getattr(_core, node.name))
        self.generic_visit(node)
        self.class_name = ""
        return node

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.FunctionDef | None:
        """Set the return type, and make vague arguments `Any`."""
        # Python cannot make objects of bound classes. The other two are declared by `object`.
        if node.name in ("__init__", "__new__", "__setstate__", "__eq__", "__hash__"):
            return None
        if node.name == "__reduce__" and f"{self.class_name}.__reduce__" not in RETURNS:
            return None  # it raises an error
        # Only the generic view has names that no stub lists. Elsewhere it raises the error.
        if node.name in ("__getattr__", "__setattr__") and self.class_name != "ProtoView":
            return None
        name = f"{self.class_name}.{node.name}".lstrip(".")
        if name in ("Tensor.__setitem__", "Tensor.__delitem__"):
            return None  # it raises an error
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


VAGUE = {"typing.Any", "list", "dict", "tuple", "..."}


def container_class(node: ast.ClassDef) -> ast.ClassDef:
    """Return the stub of a list or a mapping, with the docstrings of the bound class."""
    made = ast.parse(CONTAINERS[node.name]).body[0]
    assert isinstance(made, ast.ClassDef)
    members = [*node.body, *properties(getattr(_core, node.name))]
    described = [one for one in members if isinstance(one, ast.FunctionDef)]
    documentation = {
        one.name: one.body[0]
        for one in described
        if ast.get_docstring(one) and one.name not in ("__iter__", "__next__", "__len__")
    }
    for method in made.body:
        if isinstance(method, ast.FunctionDef) and method.name in documentation:
            method.body.insert(0, documentation[method.name])
    made.body = [*node.body[: ast.get_docstring(node) is not None], *made.body]
    return made


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
