"""Gives the classes of `_core` their methods in Python, and then seals them. Imported once.

A method `_set_NAME` assigns to the property NAME, whose getter is in the core.
"""

from __future__ import annotations

from types import FunctionType, GenericAlias, GetSetDescriptorType
from typing import TYPE_CHECKING

from onnxmap import _core
from onnxmap._methods.lists import MessageList, UnknownFieldList, ValueList
from onnxmap._methods.mappings import AttributeMapping, ByName, FieldMapping, Initializers
from onnxmap._methods.messages import (
    Attribute,
    Function,
    Graph,
    Node,
    OperatorSet,
    ProtoView,
    ValueInfo,
)
from onnxmap._methods.tensors import SparseTensor, Tensor
from onnxmap._show.shown import Displayed

if TYPE_CHECKING:
    from collections.abc import Iterator

METHODS: dict[str, type] = {
    "Attribute": Attribute,
    "AttributeMapping": AttributeMapping,
    "Function": Function,
    "Graph": Graph,
    "Initializers": Initializers,
    "MessageList": MessageList,
    "Node": Node,
    "OperatorSet": OperatorSet,
    "OpsetMapping": FieldMapping,
    "ProtoView": ProtoView,
    "SparseInitializers": ByName,
    "SparseTensor": SparseTensor,
    "StringMapping": FieldMapping,
    "Tensor": Tensor,
    "UnknownFieldList": UnknownFieldList,
    "ValueInfo": ValueInfo,
    "ValueList": ValueList,
}
_MESSAGES = [
    name
    for name, each in vars(_core).items()
    if isinstance(getattr(each, "proto", None), GetSetDescriptorType)
]
METHODS = dict.fromkeys(_MESSAGES, Displayed) | METHODS


def members(methods: type, cls: type) -> Iterator[tuple[str, object]]:
    """The members that a class gets: what an abstract base makes of its own, and then ours."""
    for base in reversed(methods.__mro__[:-1]):
        is_ours = base.__module__.startswith("onnxmap.")
        for name, member in vars(base).items():
            is_abstract = getattr(member, "__isabstractmethod__", False)
            is_method = isinstance(member, FunctionType | property) or name == "__hash__"
            if is_method and not is_abstract and (is_ours or name not in vars(cls)):
                yield name, member


def _attach(cls: type, methods: type) -> None:
    for name, member in members(methods, cls):
        if hasattr(cls, property_name := name.removeprefix("_set_")) and property_name != name:
            _core.add_setter(cls, property_name, member)
        else:
            setattr(cls, name, member)
    for base in methods.__mro__:
        if base.__module__ == "collections.abc":
            base.register(cls)  # type: ignore[attr-defined]
            cls.__class_getitem__ = classmethod(GenericAlias)  # type: ignore[attr-defined]
            break


if not hasattr(_core.Tensor, "torch"):  # the package is not imported a second time
    for _name, _methods in METHODS.items():
        _attach(getattr(_core, _name), _methods)
    _core.seal()
