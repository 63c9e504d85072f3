# Written by tools/generate_stubs.py (make stubs); changes are lost.
# ruff: noqa

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
The C++ core of onnxmap. Use the package onnxmap instead.
"""
import collections.abc
import onnx_ir
import typing

__all__: list[str] = [
    "Attribute",
    "AttributeMapping",
    "Bulk",
    "DeviceConfiguration",
    "Document",
    "ExternalFile",
    "FoldersBeneath",
    "Function",
    "Graph",
    "Initializers",
    "IntIntListEntry",
    "MessageIterator",
    "MessageList",
    "ModelDifference",
    "Neighbours",
    "Node",
    "NodeDeviceConfiguration",
    "Operator",
    "OperatorSet",
    "OpsetMapping",
    "ProtoView",
    "QuantizationAnnotation",
    "SavePlan",
    "ShardedDim",
    "ShardingSpec",
    "SimpleShardedDim",
    "SparseInitializers",
    "SparseTensor",
    "Stats",
    "Stream",
    "StringMapping",
    "Tensor",
    "TrainingInfo",
    "UnknownField",
    "UnknownFieldIterator",
    "UnknownFieldList",
    "VIEW_KEYS",
    "ValueInfo",
    "ValueList",
    "add_setter",
    "append_bytes",
    "attribute_fields",
    "check_data_location",
    "check_in_place",
    "check_output",
    "check_rules",
    "compare_models",
    "copy_into",
    "data_name_after",
    "data_type_bits",
    "data_type_facts",
    "data_type_named",
    "data_type_of",
    "dedupe",
    "document_of",
    "enum_values",
    "external_file",
    "external_paths",
    "extract",
    "file_locations",
    "file_paths",
    "find_message",
    "find_neighbours",
    "folders_beneath",
    "hold_loaded",
    "hold_raw_data",
    "hold_values",
    "inline_functions",
    "is_plain_location",
    "is_safe_location",
    "is_stopped",
    "kernel_paths",
    "kernels_in_use",
    "lift_constants",
    "load_beside",
    "load_buffer",
    "load_file",
    "load_remote",
    "load_remote_safetensors",
    "load_safetensors",
    "loaded_raw_data",
    "looks_like",
    "map_keys",
    "match_lists",
    "merge",
    "message_type_of",
    "new",
    "new_beside",
    "numpy_dtype",
    "option_names",
    "optional_value",
    "pack",
    "parse_text",
    "plan_bulk",
    "plan_stats",
    "property_value",
    "prune",
    "remove_file",
    "rename_file",
    "rename_locations",
    "root_of",
    "rules",
    "save_models",
    "save_plan",
    "schema",
    "seal",
    "sequence_values",
    "set_dims",
    "set_property",
    "sort",
    "start_stream",
    "state_variables",
    "strip",
    "take_locations",
    "tensor_path",
    "text_form",
    "unused_bytes",
    "usable_cpus",
    "use_kernels",
    "wrap",
]

class Document:
    """
    A loaded file or buffer.
    """

    def nodes(self) -> builtins.list[tuple[str, Node]]: ...
    def num_parameters(self) -> int: ...
    def read(
        self,
        offset: typing.SupportsInt | typing.SupportsIndex,
        nbytes: typing.SupportsInt | typing.SupportsIndex,
    ) -> bytes:
        """
        Return bytes of the file, read anew.
        """

    def revert(self) -> None: ...
    def root(self) -> Any: ...
    def shape_tensors(self) -> builtins.list[bool]:
        """
        Return for each tensor of `tensors()` whether other programs read its values to tell shapes, and only in the model.
        """

    def tensors(self) -> builtins.list[tuple[str, Tensor]]: ...
    def why_not(self) -> str:
        """
        Return why the file is not what it was loaded as, judged by its first bytes; an empty text if it begins so.
        """

    @property
    def absolute_path(self) -> bytes:
        """
        The path of a local file when it was loaded, absolute; else empty.
        """

    @property
    def edited(self) -> bool: ...
    @property
    def external_root(self) -> bytes:
        """
        The folder or URL that external locations are relative to; empty: none.
        """

    @property
    def io(self) -> str: ...
    @property
    def nbytes(self) -> int: ...
    @property
    def proto(self) -> ProtoView: ...

class MessageIterator(Iterator[_Message]):
    def __next__(self) -> _Message: ...

class MessageList(_lists.MessageList[_Message]):
    """
    The messages of a repeated field, as a list.

    It always shows the field as it is now. A loop visits the messages that the list had when it began,
    except those that were removed since. A message object is made when it is asked for; a message that is
    added is copied. Messages with a name are also found by it: `graph.nodes["conv1"]`,
    `"conv1" in graph.nodes`.
    """

    def __deepcopy__(self, memo: Any) -> Self:
        """
        Return copies of the messages, as a list that is part of no model.
        """
        ...

    def MergeFrom(self, messages: Iterable[_Message | ProtoView]) -> None:
        """
        Add copies of messages at the end, as extend() does.
        """
        ...

    def add(self, **fields: Any) -> _Message:
        """
        Add a new message at the end and return it.

        Args:
            fields: values of its fields, by their names in onnx.proto.
        """
        ...

    def append(self, message: _Message | ProtoView) -> None:
        """
        Add a copy of a message at the end.
        """
        ...

    def extend(self, messages: Iterable[_Message | ProtoView]) -> None:
        """
        Add copies of messages at the end.
        """
        ...

    def insert(self, index: typing.SupportsIndex, message: _Message | ProtoView) -> None:
        """
        Insert a copy of a message before a position.
        """
        ...

    def pop(self, index: typing.SupportsIndex | str = -1) -> _Message:
        """
        Remove a message, by default the last, and return it. It can still be read.
        """
        ...

    def remove(self, message: _Message | ProtoView, *, rewire: bool = False) -> None:
        """
        Remove the first message that is equal to `message`.

        Args:
            message: the message to remove.
            rewire: for a list of nodes: replace uses of the node's output by its first input, as
                `Graph.bypass` does.

        Raises:
            ValueError: no message is equal to it; or for a reason of `bypass`.
        """
        ...

    def sort(self, *, key: Callable[[_Message], Any] | None = None, reverse: bool = False) -> None:
        """
        Sort the messages, as list.sort() does.
        """
        ...

    @property
    def type_name(self) -> str:
        """
        The name of the messages' type, such as NodeProto.
        """
        ...

    def _equal(self, message: object, start: int, stop: int, most: int) -> builtins.list[int]:
        """
        Return the positions in a range of the messages that are equal, at most so many.
        """
        ...

class ValueList(_lists.ValueList[_Value]):
    """
    The values of a repeated field of numbers or strings, as a list.

    It always shows the field as it is now, and a change of it changes the message. Every change of a list
    of numbers, except append() and extend(), reads the whole list: to change many, assign a new list, as
    in `attribute.value = array`.
    """

    def insert(self, index: typing.SupportsIndex, value: _Value) -> None:
        """
        Insert a value before a position.
        """
        ...

    def MergeFrom(self, values: Iterable[_Value]) -> None:
        """
        Add values at the end, as extend() does.
        """
        ...

    def sort(self, *, key: Callable[[_Value], Any] | None = None, reverse: bool = False) -> None:
        """
        Sort the values, as list.sort() does.
        """
        ...

class UnknownField:
    """
    A field that the schema does not know.

    `data` is an int or bytes, or an UnknownFieldList for a group.
    """

    @property
    def data(self) -> Any: ...
    @property
    def field_number(self) -> int: ...
    @property
    def wire_type(self) -> int: ...

class UnknownFieldIterator(Iterator[UnknownField]):
    def __next__(self) -> UnknownField: ...

class UnknownFieldList(_lists.UnknownFieldList):
    """
    An immutable sequence of the fields that the schema does not know.

    The elements, of class UnknownField, are made on access.
    """

class ProtoView(_messages.ProtoView):
    """
    A message under the names of onnx.proto, with protobuf's Python interface.

    An absent field reads as protobuf's default, and an absent message as an empty view; writing to the
    view makes the message present. A message that was removed from its model can still be read. Equal
    messages have the same hash, so an edit changes the hash.

    Example:
        >>> model.proto.graph.node[0].op_type
    """

    def Clear(self) -> None:
        """
        Remove all fields, unknown ones included.
        """

    def ClearField(self, name: str) -> None:
        """
        Remove a field, or the member of a oneof that is set.

        Raises:
            ValueError: the message has no field of this name.
        """

    def CopyFrom(self, other: Any) -> None:
        """
        Replace all fields by those of a message of the same type.

        Raises:
            TypeError: `other` is not a message of this type.
        """

    def DiscardUnknownFields(self) -> None:
        """
        Remove the unknown fields of the message and of all messages in it.
        """

    def FromString(self, serialized: bytes | bytearray | memoryview) -> ProtoView:
        """
        Return a new message of the same type, parsed from a serialized one.

        Raises:
            ParseError: the bytes are not a message of this type.
        """

    def HasField(self, name: str) -> bool:
        """
        Return whether a singular field is present, even if it holds its default.

        `name` may be a oneof: is one of its members present?

        Raises:
            ValueError: the message has no such field.
        """

    def MergeFrom(self, other: Any) -> None:
        """
        Add the fields of a message of the same type.

        Singular fields are replaced, singular messages merge, repeated fields grow. `other` may be a message
        of the protobuf library.

        Raises:
            TypeError: `other` is not a message of this type.
        """

    def MergeFromString(self, serialized: bytes | bytearray | memoryview) -> int:
        """
        Add the fields of a serialized message of the same type; return the number of bytes.

        `serialized` is bytes, a bytearray or a memoryview; the last two are copied.

        Raises:
            ParseError: the bytes are not a message of this type.
        """

    def ParseFromString(self, serialized: bytes | bytearray | memoryview) -> int:
        """
        Replace all fields by those of a serialized message; return the number of bytes.

        `serialized` is bytes, a bytearray or a memoryview; the last two are copied.

        Raises:
            ParseError: the bytes are not a message of this type.
        """

    def SerializePartialToString(self, deterministic: bool | None = None) -> bytes:
        """
        Return the message as bytes.

        They are the bytes of the file, unknown fields included. `loads_proto` and protobuf read them.

        Args:
            deterministic: return the bytes that protobuf writes instead: known fields sorted by number in
                their shortest form, then the unknown ones. Equal messages have the same bytes.
        """

    def SerializeToString(self, deterministic: bool | None = None) -> bytes:
        """
        Return the message as bytes.

        They are the bytes of the file, unknown fields included. `loads_proto` and protobuf read them.

        Args:
            deterministic: return the bytes that protobuf writes instead: known fields sorted by number in
                their shortest form, then the unknown ones. Equal messages have the same bytes.
        """

    def SetInParent(self) -> None:
        """
        Make the message present in its parent.
        """

    def WhichOneof(self, name: str) -> str | None:
        """
        Return the name of the member of the oneof that is set, or None.
        """

    def __contains__(self, name: Any) -> bool:
        """
        Return HasField(name).
        """

    def __delattr__(self, name: str) -> None: ...
    def __getattr__(self, arg0: str) -> Any: ...
    def __setattr__(self, name: str, value: Any) -> None: ...
    def __str__(self) -> str: ...
    def _reading(self) -> tuple[bytes, tuple[str, bool, str, bool], bool, dict[str, int]]:
        """
        Return how to read a copy of the message as this one is read.
        """

    def to_dict(self, preserving_proto_field_name: bool = False) -> dict[str, Any]:
        """
        Return the message as a dict, as protobuf's JSON mapping defines it.

        64-bit integers become strings, bytes become Base64, enums become names. Unknown fields are left out.

        Args:
            preserving_proto_field_name: use the names of onnx.proto instead of lowerCamelCase.

        Raises:
            LimitError: `limit.text_bytes`: the result takes more than about `Limits(text_bytes=...)` bytes.
        """

    def to_json(
        self,
        indent: typing.SupportsInt | typing.SupportsIndex | None = 2,
        preserving_proto_field_name: bool = False,
    ) -> str:
        """
        Return to_dict() as JSON, the text that protobuf's MessageToJson writes.

        Args:
            indent: spaces for each level; None for one line.
            preserving_proto_field_name: as for to_dict().
        """

    def to_text(
        self,
        longest: typing.SupportsInt | typing.SupportsIndex = 18446744073709551615,
        print_unknown_fields: bool = False,
    ) -> str:
        """
        Return the message in protobuf's text format.

        Args:
            longest: strings, bytes and packed values longer than this are cut.
            print_unknown_fields: print them after the others, by their numbers. Bytes are printed as a
                string, even if they may be a message.

        Raises:
            LimitError: `limit.text_bytes`: the text has more than `Limits(text_bytes=...)` bytes.
        """

    def write_json(
        self,
        write: Callable[[str], object],
        longest: typing.SupportsInt | typing.SupportsIndex = 18446744073709551615,
        field: str | None = None,
        index: typing.SupportsInt | typing.SupportsIndex | None = None,
    ) -> None:
        """
        Call `write` with the JSON of the message in parts, with the names of onnx.proto.

        Args:
            write: a function that takes a str.
            longest: as for to_text(). A longer value becomes an object with its length and first part.
            field: write the value of this field alone.
            index: write this element of the field's list alone.
        """

    def write_text(
        self,
        write: Callable[[str], object],
        longest: typing.SupportsInt | typing.SupportsIndex = 18446744073709551615,
        limited: bool = False,
        print_unknown_fields: bool = False,
    ) -> None:
        """
        Call `write` with the text of to_text(), in parts: the whole may not fit in memory.

        Args:
            write: a function that takes a str.
            longest: as for to_text().
            limited: raise a LimitError as to_text() does.
            print_unknown_fields: as for to_text().
        """

    @property
    def unknown_fields(self) -> UnknownFieldList:
        """
        The fields that today's onnx.proto does not know, in file order.

        A sequence of UnknownField.
        """

    @property
    def message_type(self) -> str:
        """
        The name of the message's type, such as TensorProto.
        """
        ...

    def ByteSize(self) -> int:
        """
        Return the number of bytes of SerializeToString().
        """
        ...

    def _fields(self) -> builtins.list[tuple[str, Any]]:
        """
        Return `(name, value)` for each field that is set, sorted by number.
        """
        ...

class AttributeMapping(_mappings.AttributeMapping):
    """
    Attributes by name, in file order.

    A new value is a number, text, bytes, list, array, Tensor, Graph or type, or an Attribute, which is
    copied. If a name is repeated, its last attribute counts, and you get a RepeatedKeyWarning. A copy or
    a pickle is a dict.
    """

    @property
    def _message(self) -> ProtoView:
        """
        The message that has the attributes.
        """

    def __getitem__(self, key: str) -> Attribute:
        """
        Return self[key].
        """
        ...

    def __delitem__(self, key: str) -> None:
        """
        Delete self[key].
        """
        ...

    def setdefault(self, key: str, default: Any = None) -> Attribute:
        """
        Return the attribute of a name; if there is none, make one of the default first.
        """
        ...

class OpsetMapping(_mappings.FieldMapping[int]):
    """
    Versions of operator sets by domain.

    If a domain is repeated, its highest version counts. A copy or a pickle is a dict.
    """

    def __getitem__(self, key: str) -> int:
        """
        Return self[key].
        """
        ...

    def __setitem__(self, key: str, value: Any) -> None:
        """
        Set self[key] to value.
        """
        ...

    def __delitem__(self, key: str) -> None:
        """
        Delete self[key].
        """
        ...

    def setdefault(self, key: str, default: Any = None) -> int:
        """
        Return the value of a key; if there is none, give it the default first.
        """
        ...

class StringMapping(_mappings.FieldMapping[str]):
    """
    Strings by key, such as `metadata_props`.

    If a key is repeated, its last value counts, and you get a RepeatedKeyWarning. A copy or a pickle is
    a dict.
    """

    def __getitem__(self, key: str) -> str:
        """
        Return self[key].
        """
        ...

    def __setitem__(self, key: str, value: Any) -> None:
        """
        Set self[key] to value.
        """
        ...

    def __delitem__(self, key: str) -> None:
        """
        Delete self[key].
        """
        ...

    def setdefault(self, key: str, default: Any = None) -> str:
        """
        Return the value of a key; if there is none, give it the default first.
        """
        ...

class Node(_messages.Node):
    """
    A node of a graph or function.
    """

    @property
    def attributes(self) -> AttributeMapping:
        """
        The attributes as a mapping of names to Attribute, in file order.

        Assigning a number, str, bytes, list, array, Tensor, Graph or type makes an attribute of it. If a
        name is repeated, its last attribute counts, and you get a RepeatedKeyWarning.
        """

    @attributes.setter
    def attributes(self, arg1: Mapping[str, Any]) -> None: ...
    @property
    def device_configurations(self) -> MessageList[NodeDeviceConfiguration]:
        """
        NodeProto.device_configurations
        """

    @device_configurations.setter
    def device_configurations(
        self, arg1: Iterable[NodeDeviceConfiguration | ProtoView]
    ) -> None: ...
    @property
    def doc_string(self) -> str:
        """
        NodeProto.doc_string
        """

    @doc_string.setter
    def doc_string(self, arg1: str) -> None: ...
    @property
    def domain(self) -> str:
        """
        NodeProto.domain
        """

    @domain.setter
    def domain(self, arg1: str) -> None: ...
    @property
    def inputs(self) -> ValueList[str]:
        """
        Names of values; an omitted input is an empty one. `graph.value(name)` has the type and the shape.
        """

    @inputs.setter
    def inputs(self, arg1: Iterable[str]) -> None: ...
    @property
    def metadata_props(self) -> StringMapping:
        """
        NodeProto.metadata_props
        """

    @metadata_props.setter
    def metadata_props(self, arg1: Mapping[str, str]) -> None: ...
    @property
    def name(self) -> str:
        """
        NodeProto.name
        """

    @name.setter
    def name(self, arg1: str) -> None: ...
    @property
    def op_type(self) -> str:
        """
        NodeProto.op_type
        """

    @op_type.setter
    def op_type(self, arg1: str) -> None: ...
    @property
    def outputs(self) -> ValueList[str]:
        """
        NodeProto.output
        """

    @outputs.setter
    def outputs(self, arg1: Iterable[str]) -> None: ...
    @property
    def overload(self) -> str:
        """
        NodeProto.overload
        """

    @overload.setter
    def overload(self, arg1: str) -> None: ...
    @property
    def proto(self) -> ProtoView:
        """
        The source message under the exact names of onnx.proto.
        """

class Attribute(_messages.Attribute):
    """
    An attribute of a node.
    """

    @property
    def doc_string(self) -> str:
        """
        AttributeProto.doc_string
        """

    @doc_string.setter
    def doc_string(self, arg1: str) -> None: ...
    @property
    def ref_attr_name(self) -> str:
        """
        AttributeProto.ref_attr_name
        """

    @ref_attr_name.setter
    def ref_attr_name(self, arg1: str) -> None: ...
    @property
    def value(self) -> Any:
        """
        The value, or None for a reference to an attribute of the function (`ref_attr_name`).

        A value is a float, int, bytes, Tensor, Graph, SparseTensor or type, or a list of them. Assigning a
        value sets the type as well; a str or an array may be assigned, too.
        """

    @value.setter
    def value(self, arg1: Any) -> None: ...
    @property
    def name(self) -> str:
        """
        AttributeProto.name
        """
        ...

    @property
    def proto(self) -> ProtoView:
        """
        The source message under the exact names of onnx.proto.
        """
        ...

    @property
    def type(self) -> AttributeType:
        """
        The type as an AttributeType.

        If the file does not store the type, it is the type of the value that is present.
        """
        ...

    def _assign(self, made: ProtoView) -> None:
        """
        Take the value of a new AttributeProto, whose doc_string is cleared.
        """
        ...

class ValueInfo(_messages.ValueInfo):
    """
    The name and type of a value.
    """

    @property
    def doc_string(self) -> str:
        """
        ValueInfoProto.doc_string
        """

    @doc_string.setter
    def doc_string(self, arg1: str) -> None: ...
    @property
    def dtype(self) -> DataType | int | None:
        """
        The element type of a tensor as a DataType, or None. A value without a type becomes a tensor.
        """

    @dtype.setter
    def dtype(self, arg1: Any) -> None: ...
    @property
    def metadata_props(self) -> StringMapping:
        """
        ValueInfoProto.metadata_props
        """

    @metadata_props.setter
    def metadata_props(self, arg1: Mapping[str, str]) -> None: ...
    @property
    def name(self) -> str:
        """
        ValueInfoProto.name
        """

    @name.setter
    def name(self, arg1: str) -> None: ...
    @property
    def shape(self) -> tuple[int | str | None, ...] | None:
        """
        The dimensions of a tensor as a tuple, or None if the rank is unknown.

        Each dimension is an int, a str (`dim_param`) or None (unknown). Placeholders that exporters write for
        unknown sizes are None: `?`, `-1`, `None`, `unk__` with digits, negative numbers. `.proto` has them.
        """

    @shape.setter
    def shape(self, arg1: Sequence[int | str | None] | None) -> None: ...
    @property
    def type(
        self,
    ) -> TensorType | SparseTensorType | SequenceType | MapType | OptionalType | OpaqueType | None:
        """
        The type as a TensorType, SequenceType, MapType, ..., or None.
        """

    @type.setter
    def type(self, arg1: Any) -> None: ...
    @property
    def proto(self) -> ProtoView:
        """
        The source message under the exact names of onnx.proto.
        """
        ...

    def _set_of_tensor(self, field: str, value: Any) -> None:
        """
        Set the elem_type or the shape of a value that is, or becomes, a tensor.
        """
        ...

class Function(_messages.Function):
    """
    A function that the model defines.
    """

    def _check_new_use(
        self, old: Any, new: Any, outputs: bool, place: typing.SupportsInt | typing.SupportsIndex
    ) -> None:
        """
        Raise what replace_uses() would, if a node is inserted that makes `new`.
        """

    def _where_made(self, name: Any, inside: bool = True) -> str:
        """
        Where a value has the name, also in subgraphs if `inside`; an empty str: nowhere.
        """

    def bypass(self, node: Node) -> None:
        """
        Remove a node: its first input takes the place of its output.

        If the output is one of the graph or function, it keeps its name, and the node that makes the input
        makes it. Types of later values are not checked: `check()` compares them.

        Raises:
            TypeError: it is not a node.
            ValueError: another output of the node is used; it has no first input; its output would have
                to be an input, an initializer, a value of a graph around this one, or another output; a
                subgraph that uses the output has a value of its own with the name of the input; the node
                is in another graph or function; or, in a function, an attribute has a graph as its default.
            ParseError: `model.duplicate_name`: several nodes make one of the values.
            EditError: the graph or function was removed from its model.
        """

    def consumers(self, value: str) -> builtins.list[Node]:
        """
        Return the nodes that have `value` among their inputs, in order, each once.

        Nodes in subgraphs are included. Outputs of graphs are not nodes; `uses` lists them as well.
        """

    def producer(self, value: str) -> Node | None:
        """
        Return the node whose outputs include `value`, or None.

        A subgraph sees the values of the graphs around it: if it does not make `value`, the node may be in
        one of them. A value without a producer is an input, an initializer, or not visible here.

        The first call of this method, `consumers` or `uses` reads all nodes. Later calls look a name up;
        after an edit they read the nodes that were edited.

        Raises:
            ParseError: `model.duplicate_name`: several nodes have an output of this name.
        """

    def replace_uses(self, old: str, new: str, outputs: bool = False) -> None:
        """
        Replace all uses of the value `old` by the value `new`.

        Uses are inputs of nodes, also in subgraphs and in training, and sharding specs. The node that makes
        `new` keeps its inputs, so a node can be put behind a value: insert one that makes `new` from `old`,
        then call this. `old` itself stays, with its type and documentation.

        Args:
            old: the name of a value that is visible in this graph or function.
            new: the name of another one.
            outputs: also replace `old` as an output, by the name and the type of `new`.

        Raises:
            KeyError: there is no value of a name.
            ValueError: a node that uses `old`, or holds this graph, is or comes before the one that makes
                `new`; a subgraph that uses `old` has its own value `new`; or, with `outputs`, both are
                outputs, `new` is a value of a graph around this one or an input of the function, or
                nothing says which type and rank `new` has, which an output of the model's own graph needs.
                Or, in a function, an attribute has a graph as its default.
            ParseError: `model.duplicate_name`: several nodes make `new`.
            EditError: the graph or function was removed from its model.
        """

    def topological_order(self) -> builtins.list[Node]:
        """
        Return the nodes in an order in which each follows the nodes whose outputs it uses.

        The uses of its subgraphs count as well. Nodes that are already in such an order keep it.

        Raises:
            ParseError: `model.cycle`: there is no such order. `model.duplicate_name`: several nodes have an
                output of the same name.
        """

    def value(self, name: str) -> ValueInfo | None:
        """
        Return the ValueInfo of an input, an output or a value between nodes; None without one.

        In a subgraph, the value may be one of the graphs around it. The inputs and outputs of functions have
        names only.

        Raises:
            ParseError: `model.duplicate_name`: several of them have this name.
        """

    @property
    def attribute_protos(self) -> AttributeMapping:
        """
        The attributes that have a default, as a mapping of names to Attribute.
        """

    @attribute_protos.setter
    def attribute_protos(self, arg1: Mapping[str, Any]) -> None: ...
    @property
    def attributes(self) -> ValueList[str]:
        """
        FunctionProto.attribute
        """

    @attributes.setter
    def attributes(self, arg1: Mapping[str, Any]) -> None: ...
    @property
    def doc_string(self) -> str:
        """
        FunctionProto.doc_string
        """

    @doc_string.setter
    def doc_string(self, arg1: str) -> None: ...
    @property
    def domain(self) -> str:
        """
        FunctionProto.domain
        """

    @domain.setter
    def domain(self, arg1: str) -> None: ...
    @property
    def inputs(self) -> ValueList[str]:
        """
        FunctionProto.input
        """

    @inputs.setter
    def inputs(self, arg1: Iterable[str]) -> None: ...
    @property
    def metadata_props(self) -> StringMapping:
        """
        FunctionProto.metadata_props
        """

    @metadata_props.setter
    def metadata_props(self, arg1: Mapping[str, str]) -> None: ...
    @property
    def name(self) -> str:
        """
        FunctionProto.name
        """

    @name.setter
    def name(self, arg1: str) -> None: ...
    @property
    def nodes(self) -> MessageList[Node]:
        """
        FunctionProto.node
        """

    @nodes.setter
    def nodes(self, arg1: Iterable[Node | ProtoView]) -> None: ...
    @property
    def opset_imports(self) -> OpsetMapping:
        """
        The imported operator sets as a mapping of domains to versions.
        """

    @opset_imports.setter
    def opset_imports(self, arg1: Mapping[str, int]) -> None: ...
    @property
    def outputs(self) -> ValueList[str]:
        """
        FunctionProto.output
        """

    @outputs.setter
    def outputs(self, arg1: Iterable[str]) -> None: ...
    @property
    def overload(self) -> str:
        """
        FunctionProto.overload
        """

    @overload.setter
    def overload(self, arg1: str) -> None: ...
    @property
    def proto(self) -> ProtoView:
        """
        The source message under the exact names of onnx.proto.
        """

    @property
    def since_version(self) -> int:
        """
        FunctionProto.since_version
        """

    @since_version.setter
    def since_version(self, arg1: int) -> None: ...
    @property
    def status(self) -> OperatorStatus:
        """
        FunctionProto.status
        """

    @status.setter
    def status(self, arg1: int) -> None: ...
    @property
    def value_infos(self) -> MessageList[ValueInfo]:
        """
        FunctionProto.value_info
        """

    @value_infos.setter
    def value_infos(self, arg1: Iterable[ValueInfo | ProtoView]) -> None: ...
    def _uses(self, value: str) -> builtins.list[tuple[Any, int]]:
        """
        Return the arguments of each `types.Use`.
        """
        ...

class DeviceConfiguration(_shown.Displayed):
    """
    A DeviceConfigurationProto.
    """

    @property
    def devices(self) -> ValueList[str]:
        """
        DeviceConfigurationProto.device
        """

    @devices.setter
    def devices(self, arg1: Iterable[str]) -> None: ...
    @property
    def name(self) -> str:
        """
        DeviceConfigurationProto.name
        """

    @name.setter
    def name(self, arg1: str) -> None: ...
    @property
    def num_devices(self) -> int:
        """
        DeviceConfigurationProto.num_devices
        """

    @num_devices.setter
    def num_devices(self, arg1: int) -> None: ...
    @property
    def proto(self) -> ProtoView:
        """
        The source message under the exact names of onnx.proto.
        """

class IntIntListEntry(_shown.Displayed):
    """
    An IntIntListEntryProto.
    """

    @property
    def key(self) -> int:
        """
        IntIntListEntryProto.key
        """

    @key.setter
    def key(self, arg1: int) -> None: ...
    @property
    def proto(self) -> ProtoView:
        """
        The source message under the exact names of onnx.proto.
        """

    @property
    def values(self) -> ValueList[int]:
        """
        IntIntListEntryProto.value
        """

    @values.setter
    def values(self, arg1: Iterable[int]) -> None: ...

class NodeDeviceConfiguration(_shown.Displayed):
    """
    A NodeDeviceConfigurationProto.
    """

    @property
    def configuration_id(self) -> str:
        """
        NodeDeviceConfigurationProto.configuration_id
        """

    @configuration_id.setter
    def configuration_id(self, arg1: str) -> None: ...
    @property
    def pipeline_stage(self) -> int:
        """
        NodeDeviceConfigurationProto.pipeline_stage
        """

    @pipeline_stage.setter
    def pipeline_stage(self, arg1: int) -> None: ...
    @property
    def proto(self) -> ProtoView:
        """
        The source message under the exact names of onnx.proto.
        """

    @property
    def sharding_specs(self) -> MessageList[ShardingSpec]:
        """
        NodeDeviceConfigurationProto.sharding_spec
        """

    @sharding_specs.setter
    def sharding_specs(self, arg1: Iterable[ShardingSpec | ProtoView]) -> None: ...

class Operator(_shown.Displayed):
    """
    An OperatorProto.
    """

    @property
    def doc_string(self) -> str:
        """
        OperatorProto.doc_string
        """

    @doc_string.setter
    def doc_string(self, arg1: str) -> None: ...
    @property
    def op_type(self) -> str:
        """
        OperatorProto.op_type
        """

    @op_type.setter
    def op_type(self, arg1: str) -> None: ...
    @property
    def proto(self) -> ProtoView:
        """
        The source message under the exact names of onnx.proto.
        """

    @property
    def since_version(self) -> int:
        """
        OperatorProto.since_version
        """

    @since_version.setter
    def since_version(self, arg1: int) -> None: ...
    @property
    def status(self) -> OperatorStatus:
        """
        OperatorProto.status
        """

    @status.setter
    def status(self, arg1: int) -> None: ...

class OperatorSet(_messages.OperatorSet):
    """
    A set of operators.
    """

    @property
    def doc_string(self) -> str:
        """
        OperatorSetProto.doc_string
        """

    @doc_string.setter
    def doc_string(self, arg1: str) -> None: ...
    @property
    def domain(self) -> str:
        """
        OperatorSetProto.domain
        """

    @domain.setter
    def domain(self, arg1: str) -> None: ...
    @property
    def functions(self) -> MessageList[Function]:
        """
        OperatorSetProto.functions
        """

    @functions.setter
    def functions(self, arg1: Iterable[Function | ProtoView]) -> None: ...
    @property
    def ir_build_metadata(self) -> str:
        """
        OperatorSetProto.ir_build_metadata
        """

    @ir_build_metadata.setter
    def ir_build_metadata(self, arg1: str) -> None: ...
    @property
    def ir_version(self) -> int:
        """
        OperatorSetProto.ir_version
        """

    @ir_version.setter
    def ir_version(self, arg1: int) -> None: ...
    @property
    def ir_version_prerelease(self) -> str:
        """
        OperatorSetProto.ir_version_prerelease
        """

    @ir_version_prerelease.setter
    def ir_version_prerelease(self, arg1: str) -> None: ...
    @property
    def magic(self) -> str:
        """
        OperatorSetProto.magic
        """

    @magic.setter
    def magic(self, arg1: str) -> None: ...
    @property
    def operators(self) -> MessageList[Operator]:
        """
        OperatorSetProto.operator
        """

    @operators.setter
    def operators(self, arg1: Iterable[Operator | ProtoView]) -> None: ...
    @property
    def opset_version(self) -> int:
        """
        OperatorSetProto.opset_version
        """

    @opset_version.setter
    def opset_version(self, arg1: int) -> None: ...
    @property
    def proto(self) -> ProtoView:
        """
        The source message under the exact names of onnx.proto.
        """
        ...

class ShardedDim(_shown.Displayed):
    """
    A ShardedDimProto.
    """

    @property
    def axis(self) -> int:
        """
        ShardedDimProto.axis
        """

    @axis.setter
    def axis(self, arg1: int) -> None: ...
    @property
    def proto(self) -> ProtoView:
        """
        The source message under the exact names of onnx.proto.
        """

    @property
    def simple_shardings(self) -> MessageList[SimpleShardedDim]:
        """
        ShardedDimProto.simple_sharding
        """

    @simple_shardings.setter
    def simple_shardings(self, arg1: Iterable[SimpleShardedDim | ProtoView]) -> None: ...

class ShardingSpec(_shown.Displayed):
    """
    A ShardingSpecProto.
    """

    @property
    def devices(self) -> ValueList[int]:
        """
        ShardingSpecProto.device
        """

    @devices.setter
    def devices(self, arg1: Iterable[int]) -> None: ...
    @property
    def index_to_device_group_maps(self) -> MessageList[IntIntListEntry]:
        """
        ShardingSpecProto.index_to_device_group_map
        """

    @index_to_device_group_maps.setter
    def index_to_device_group_maps(self, arg1: Iterable[IntIntListEntry | ProtoView]) -> None: ...
    @property
    def proto(self) -> ProtoView:
        """
        The source message under the exact names of onnx.proto.
        """

    @property
    def sharded_dims(self) -> MessageList[ShardedDim]:
        """
        ShardingSpecProto.sharded_dim
        """

    @sharded_dims.setter
    def sharded_dims(self, arg1: Iterable[ShardedDim | ProtoView]) -> None: ...
    @property
    def tensor_name(self) -> str:
        """
        ShardingSpecProto.tensor_name
        """

    @tensor_name.setter
    def tensor_name(self, arg1: str) -> None: ...

class SimpleShardedDim(_shown.Displayed):
    """
    A SimpleShardedDimProto.
    """

    @property
    def dim_param(self) -> str:
        """
        SimpleShardedDimProto.dim_param
        """

    @dim_param.setter
    def dim_param(self, arg1: str) -> None: ...
    @property
    def dim_value(self) -> int:
        """
        SimpleShardedDimProto.dim_value
        """

    @dim_value.setter
    def dim_value(self, arg1: int) -> None: ...
    @property
    def num_shards(self) -> int:
        """
        SimpleShardedDimProto.num_shards
        """

    @num_shards.setter
    def num_shards(self, arg1: int) -> None: ...
    @property
    def proto(self) -> ProtoView:
        """
        The source message under the exact names of onnx.proto.
        """

class QuantizationAnnotation(_shown.Displayed):
    """
    A TensorAnnotation.
    """

    @property
    def proto(self) -> ProtoView:
        """
        The source message under the exact names of onnx.proto.
        """

    @property
    def quant_parameter_tensor_names(self) -> StringMapping:
        """
        TensorAnnotation.quant_parameter_tensor_names
        """

    @quant_parameter_tensor_names.setter
    def quant_parameter_tensor_names(self, arg1: Mapping[str, str]) -> None: ...
    @property
    def tensor_name(self) -> str:
        """
        TensorAnnotation.tensor_name
        """

    @tensor_name.setter
    def tensor_name(self, arg1: str) -> None: ...

class TrainingInfo(_shown.Displayed):
    """
    A TrainingInfoProto.
    """

    @property
    def algorithm(self) -> Graph | None:
        """
        TrainingInfoProto.algorithm
        """

    @algorithm.setter
    def algorithm(self, arg1: Graph | ProtoView | None) -> None: ...
    @property
    def initialization(self) -> Graph | None:
        """
        TrainingInfoProto.initialization
        """

    @initialization.setter
    def initialization(self, arg1: Graph | ProtoView | None) -> None: ...
    @property
    def initialization_bindings(self) -> StringMapping:
        """
        TrainingInfoProto.initialization_binding
        """

    @initialization_bindings.setter
    def initialization_bindings(self, arg1: Mapping[str, str]) -> None: ...
    @property
    def proto(self) -> ProtoView:
        """
        The source message under the exact names of onnx.proto.
        """

    @property
    def update_bindings(self) -> StringMapping:
        """
        TrainingInfoProto.update_binding
        """

    @update_bindings.setter
    def update_bindings(self, arg1: Mapping[str, str]) -> None: ...

class Graph(_messages.Graph):
    """
    A graph: the model's own, or one that an attribute holds.

    Properties read fields; methods search, or build a new list. A node is decoded when it is used. One
    call returns a whole column (`op_types()`, `node_inputs()`...), which is many times faster than a
    loop.
    """

    def _check_new_use(
        self, old: Any, new: Any, outputs: bool, place: typing.SupportsInt | typing.SupportsIndex
    ) -> None:
        """
        Raise what replace_uses() would, if a node is inserted that makes `new`.
        """

    def _where_made(self, name: Any, inside: bool = True) -> str:
        """
        Where a value has the name, also in subgraphs if `inside`; an empty str: nowhere.
        """

    def add_output(self, value: str) -> None:
        """
        Make a value of the graph its last output.

        Its type is that of its ValueInfo, or of its initializer. In a subgraph, the node that holds it
        must fit: both branches of an If need as many outputs as the node has.

        Raises:
            KeyError: there is no value of this name.
            ValueError: it is an output already; it is a value of a graph around this one; or the graph is
                the model's own, and nothing says which type and rank the value has.
            EditError: the graph was removed from its model.
        """

    def bypass(self, node: Node) -> None:
        """
        Remove a node: its first input takes the place of its output.

        If the output is one of the graph or function, it keeps its name, and the node that makes the input
        makes it. Types of later values are not checked: `check()` compares them.

        Raises:
            TypeError: it is not a node.
            ValueError: another output of the node is used; it has no first input; its output would have
                to be an input, an initializer, a value of a graph around this one, or another output; a
                subgraph that uses the output has a value of its own with the name of the input; the node
                is in another graph or function; or, in a function, an attribute has a graph as its default.
            ParseError: `model.duplicate_name`: several nodes make one of the values.
            EditError: the graph or function was removed from its model.
        """

    def consumers(self, value: str) -> builtins.list[Node]:
        """
        Return the nodes that have `value` among their inputs, in order, each once.

        Nodes in subgraphs are included. Outputs of graphs are not nodes; `uses` lists them as well.
        """

    def node_inputs(self) -> builtins.list[builtins.list[str]]:
        """
        Return the input names of each node.
        """

    def node_names(self) -> builtins.list[str]:
        """
        Return the name of each node.
        """

    def node_outputs(self) -> builtins.list[builtins.list[str]]:
        """
        Return the output names of each node.
        """

    def op_counts(self) -> dict[str, int]:
        """
        Return how often each `op_type` occurs, the most common first.
        """

    def op_types(self) -> builtins.list[str]:
        """
        Return the `op_type` of each node.
        """

    def producer(self, value: str) -> Node | None:
        """
        Return the node whose outputs include `value`, or None.

        A subgraph sees the values of the graphs around it: if it does not make `value`, the node may be in
        one of them. A value without a producer is an input, an initializer, or not visible here.

        The first call of this method, `consumers` or `uses` reads all nodes. Later calls look a name up;
        after an edit they read the nodes that were edited.

        Raises:
            ParseError: `model.duplicate_name`: several nodes have an output of this name.
        """

    def replace_uses(self, old: str, new: str, outputs: bool = False) -> None:
        """
        Replace all uses of the value `old` by the value `new`.

        Uses are inputs of nodes, also in subgraphs and in training, and sharding specs. The node that makes
        `new` keeps its inputs, so a node can be put behind a value: insert one that makes `new` from `old`,
        then call this. `old` itself stays, with its type and documentation.

        Args:
            old: the name of a value that is visible in this graph or function.
            new: the name of another one.
            outputs: also replace `old` as an output, by the name and the type of `new`.

        Raises:
            KeyError: there is no value of a name.
            ValueError: a node that uses `old`, or holds this graph, is or comes before the one that makes
                `new`; a subgraph that uses `old` has its own value `new`; or, with `outputs`, both are
                outputs, `new` is a value of a graph around this one or an input of the function, or
                nothing says which type and rank `new` has, which an output of the model's own graph needs.
                Or, in a function, an attribute has a graph as its default.
            ParseError: `model.duplicate_name`: several nodes make `new`.
            EditError: the graph or function was removed from its model.
        """

    def topological_order(self) -> builtins.list[Node]:
        """
        Return the nodes in an order in which each follows the nodes whose outputs it uses.

        The uses of its subgraphs count as well. Nodes that are already in such an order keep it.

        Raises:
            ParseError: `model.cycle`: there is no such order. `model.duplicate_name`: several nodes have an
                output of the same name.
        """

    def value(self, name: str) -> ValueInfo | None:
        """
        Return the ValueInfo of an input, an output or a value between nodes; None without one.

        In a subgraph, the value may be one of the graphs around it. The inputs and outputs of functions have
        names only.

        Raises:
            ParseError: `model.duplicate_name`: several of them have this name.
        """

    @property
    def dimension_params(self) -> builtins.dict[str, builtins.list[builtins.tuple[str, int]]]:
        """
        The names of dimensions, with the values and axes that have them.

        A dict by name, in the order of first use. Each name has a list of pairs: the name of an input, an
        output or an inner value of this graph, and the axis. For a sequence, a map or an optional, the axis is
        that of its elements. Placeholders such as `?` are no names; see `ValueInfo.shape`.
        """

    @property
    def doc_string(self) -> str:
        """
        GraphProto.doc_string
        """

    @doc_string.setter
    def doc_string(self, arg1: str) -> None: ...
    @property
    def initializers(self) -> Initializers:
        """
        The tensors by name, in file order.
        """

    @property
    def inputs(self) -> MessageList[ValueInfo]:
        """
        The inputs: a sequence of ValueInfo.
        """

    @inputs.setter
    def inputs(self, arg1: Iterable[ValueInfo | ProtoView]) -> None: ...
    @property
    def is_removed(self) -> bool:
        """
        Whether the graph was removed from its model: it can be read, but not changed.
        """

    @property
    def metadata_props(self) -> StringMapping:
        """
        The metadata, as for Model.
        """

    @metadata_props.setter
    def metadata_props(self, arg1: Mapping[str, str]) -> None: ...
    @property
    def name(self) -> str:
        """
        GraphProto.name
        """

    @name.setter
    def name(self, arg1: str) -> None: ...
    @property
    def nodes(self) -> MessageList[Node]:
        """
        The nodes, in topological order: a sequence of Node.
        """

    @nodes.setter
    def nodes(self, arg1: Iterable[Node | ProtoView]) -> None: ...
    @property
    def outputs(self) -> MessageList[ValueInfo]:
        """
        The outputs: a sequence of ValueInfo.
        """

    @outputs.setter
    def outputs(self, arg1: Iterable[ValueInfo | ProtoView]) -> None: ...
    @property
    def overridable_inputs(self) -> builtins.list[ValueInfo]:
        """
        The inputs that a caller may give: an initializer of their name is their default.
        """

    @property
    def proto(self) -> ProtoView:
        """
        The source message under the exact names of onnx.proto.
        """

    @property
    def quantization_annotations(self) -> MessageList[QuantizationAnnotation]:
        """
        A sequence of QuantizationAnnotation.
        """

    @quantization_annotations.setter
    def quantization_annotations(
        self, arg1: Iterable[QuantizationAnnotation | ProtoView]
    ) -> None: ...
    @property
    def required_inputs(self) -> builtins.list[ValueInfo]:
        """
        The inputs that a caller must give: those without an initializer of their name.
        """

    @property
    def sparse_initializers(self) -> SparseInitializers:
        """
        The sparse tensors by the name of their values, in file order.
        """

    @property
    def value_infos(self) -> MessageList[ValueInfo]:
        """
        The values between nodes: a sequence of ValueInfo.
        """

    @value_infos.setter
    def value_infos(self, arg1: Iterable[ValueInfo | ProtoView]) -> None: ...
    def _rename(self, new_names: dict[str, str]) -> None:
        """
        Rename values by their old names.
        """
        ...

    def _uses(self, value: str) -> builtins.list[tuple[Any, int]]:
        """
        Return the arguments of each `types.Use`.
        """
        ...

class Initializers(_mappings.Initializers):
    """
    The initializers of a graph by name, in file order.

    Assigning an array, a Tensor, a TensorProto or a torch tensor replaces the tensor; a new name goes to
    the end. Arrays of 4096 bytes or more are not copied: keep them unchanged until a save.

    Keys are unique. If several initializers have the same name, looking it up raises ParseError
    `model.duplicate_name`, unless they are the segments of one tensor. `all()` yields each of them, and
    the unnamed ones.
    """

    def dtypes(self) -> builtins.list[DataType | int]:
        """
        Return the DataType of each initializer of `all()`; an int if ONNX has no such type.
        """
        ...

    def names(self) -> builtins.list[str]:
        """
        Return the name of each initializer of `all()`, in one call.
        """
        ...

    def nbytes(self) -> builtins.list[int]:
        """
        Return the stored size of each initializer of `all()`, in bytes.
        """
        ...

    def shapes(self) -> builtins.list[tuple[int, ...]]:
        """
        Return the stored shape of each initializer of `all()`, in one call.
        """
        ...

    def views(self, names: Sequence[str] | str | None = None) -> dict[str, numpy.ndarray[Any, Any]]:
        """
        Return the initializers as read-only arrays by name; see `Model.views`.
        """
        ...

    def _evict(self, names: Any) -> None:
        """
        See `Model.evict`.
        """
        ...

    def _rename(self, new_names: dict[str, str]) -> None:
        """
        Rename initializers by their old names.
        """
        ...

    def _replace(self, name: str, made: ProtoView) -> bool:
        """
        Give an initializer the values of a new tensor. Return False, and change nothing, if the type or shape differ. Raise KeyError if there is none.
        """
        ...

    def _prefetch(self, names: Any) -> None:
        """
        See `Model.prefetch`.
        """
        ...

    def _residency(self, names: Any) -> dict[str, tuple[int, int]]:
        """
        Return the resident bytes and all bytes of each tensor by name; see `Model.residency`.
        """
        ...

    def _selected(self, names: Any) -> Iterable[str]:
        """
        Return the names that the argument of a bulk call selects; see `Model.views`.
        """
        ...

    @property
    def _stored_nbytes(self) -> int:
        """
        The stored size of all initializers, in bytes.
        """
        ...

    def all(self) -> Iterator[Tensor]:
        """
        Return an iterator over every tensor in file order, repeated and unnamed ones included.
        """
        ...

    def __getitem__(self, key: str) -> Tensor:
        """
        Return self[key].
        """
        ...

    def __delitem__(self, key: str) -> None:
        """
        Delete self[key].
        """
        ...

    def setdefault(self, key: str, default: Any = None) -> Tensor:
        """
        Return the initializer of a name; if there is none, add one with these values first.
        """
        ...

class SparseInitializers(_mappings.ByName[SparseTensor]):
    """
    The sparse initializers of a graph by the name of their values, in file order.

    Assigning a SparseTensor or a SparseTensorProto, such as one of `make_sparse_tensor`, copies it; a new
    name goes to the end.

    Looking up a repeated name raises ParseError `model.duplicate_name`. `all()` yields every sparse
    initializer, unnamed ones too.
    """

    def all(self) -> Iterator[SparseTensor]:
        """
        Return an iterator over every tensor in file order, repeated and unnamed ones included.
        """
        ...

    def __getitem__(self, key: str) -> SparseTensor:
        """
        Return self[key].
        """
        ...

    def __setitem__(self, key: str, value: Any) -> None:
        """
        Set self[key] to value.
        """
        ...

    def __delitem__(self, key: str) -> None:
        """
        Delete self[key].
        """
        ...

    def setdefault(self, key: str, default: Any = None) -> SparseTensor:
        """
        Return the initializer of a name; if there is none, add one with these values first.
        """
        ...

class Tensor(_tensors.Tensor):
    """
    A tensor of a model. The tensor and its arrays keep the model's bytes alive.
    """

    def __array__(self, dtype: Any = None, copy: Any = None) -> _ndarray[Any, Any]: ...
    def __complex__(self) -> complex: ...
    def __contains__(self, arg0: Any) -> bool: ...
    def __dlpack__(
        self,
        *,
        stream: Any = None,
        max_version: Any = None,
        dl_device: Any = None,
        copy: Any = None,
    ) -> Any:
        """
        Return a DLPack capsule that is flagged read-only, for `torch.from_dlpack` and others.

        The capsule of a file shows copy-on-write pages, or a copy if a copy costs less. A consumer that
        ignores the flag therefore does no harm. With `copy=False` it shows the stored bytes themselves.
        Types of 2, 4 and 6 bits are packed.

        Raises:
            BufferError: the tensor holds strings; or `copy=False`, and the capsule needs a copy.
        """

    def __float__(self) -> float: ...
    def __index__(self) -> int: ...
    def __int__(self) -> int: ...
    def __iter__(self) -> Any: ...
    def __len__(self) -> int: ...
    def _box(
        self,
        ranges: collections.abc.Sequence[
            tuple[
                typing.SupportsInt | typing.SupportsIndex, typing.SupportsInt | typing.SupportsIndex
            ]
        ],
    ) -> _ndarray[Any, Any]:
        """
        Return the elements of a box as a new array.

        Args:
            ranges: for each axis the first index and the number of indices.

        Raises:
            IndexError: the tensor has no such box, or its values are not stored as bytes.
        """

    def _file_size(self) -> int | None:
        """
        Return the size in bytes of the file that holds the values, or None.
        """

    def _file_state(self) -> tuple[int, int, int, int] | str | None:
        """
        Return the state of the file of the values when it was opened, or None.

        The state is the device, inode, size and time of modification in ns; for a file behind a URL it
        is a text.
        """

    def _message(self) -> bytes | None:
        """
        Return the bytes of the message, or None for one segment of several.
        """

    def _read(
        self,
        begin: typing.SupportsInt | typing.SupportsIndex,
        nbytes: typing.SupportsInt | typing.SupportsIndex,
    ) -> bytearray:
        """
        Return stored bytes, read now.
        """

    def _reference(self) -> tuple[bytes, bytes, bytes, int, int, int, bool] | None:
        """
        Return where another process finds the values, as a tuple, or None.

        The tuple has the path or URL of a folder, the location of the file below it, the location as the
        model has it, the offset, the number of bytes, the size of the file, and whether the file has
        another hard link.

        The result is None if no file stores the values as they are, or if no name in the folders of the
        model leads to the same file any longer.
        """

    def histogram(
        self,
        bins: int | Sequence[float] | _ndarray[Any, Any] = 10,
        *,
        sample: typing.SupportsInt | typing.SupportsIndex | None = None,
    ) -> tuple[_ndarray[Any, Any], _ndarray[Any, Any]]:
        """
        Return how many values lie in each bin, and the edges of the bins.

        The result is that of `numpy.histogram` for the values as float64. Each bin goes from its lower edge
        to below its upper one; the last bin has its upper edge, too. NaN, and values outside the edges, are
        in no bin: `Model.stats` counts NaN and infinities. Reads all values, in several threads, and keeps
        few of them in memory; values in fields such as `int64_data` are decoded as a whole.

        Args:
            bins: the number of bins of equal width, from the least finite value to the greatest one; or the
                edges of the bins, in ascending order. At most 65 536 bins.
            sample: read only about this many values, in runs of 16 384 that are spread evenly. None reads
                all.

        Returns:
            Two arrays: the counts as int64, and the edges as float64, one edge more than counts. For a
            tensor without finite values, the edges go from 0 to 1; if all values are equal, from 0.5 below
            to 0.5 above.

        Raises:
            TensorError: the shape, the type and the stored bytes do not agree.
            ExternalDataError: the external file is missing, too short or unsafe.
            FileChangedError: the file has changed since it was loaded.
            TypeError: the tensor holds strings or complex numbers, or `bins` is not a number or numbers.
            ValueError: there are no bins, or too many; or an edge is NaN or less than the one before.

        Example:
            >>> counts, edges = model.initializers["w"].histogram(32)
        """

    def item(self) -> Any:
        """
        Return the value of a tensor with one element, as a Python object.
        """

    def numpy(
        self,
        dtype: DTypeLike | DataType | None = None,
        *,
        out: _ndarray[Any, Any] | None = None,
        copy: bool | None = None,
        writable: bool = False,
    ) -> _ndarray[Any, Any]:
        """
        Return the values as an array of shape `shape`.

        The array is a read-only view of the file if the values are stored as whole bytes: raw, external,
        or packed in `float_data` or `double_data`. Otherwise it is a new array. A view may be unaligned;
        a new array is aligned to 64 bytes. Types of 2, 4 and 6 bits have one byte per element, as in
        ml_dtypes.

        Args:
            dtype: convert to this type, a NumPy dtype or an onnxmap.DataType. The values are those of
                `astype`: rounded to nearest, ties to even, and infinite if too large. A DOUBLE is
                rounded once, unlike by ml_dtypes.
            out: write the values into this array of the same shape, converted to its dtype, and return
                it.
            copy: None copies only if needed. True always copies, and the copy is writable. False raises
                ValueError instead of copying.
            writable: return an array that may be written to without changing the file or the model. It
                uses copy-on-write pages of the file if they cost less than a copy.

        Returns:
            A numpy.ndarray. It keeps the file or buffer alive.

        Raises:
            TensorError: the shape, the type and the stored bytes do not agree.
            ExternalDataError: the external file is missing, too short or unsafe.
            FileChangedError: the file has changed since it was loaded.
            ValueError: `out` has another shape or is read-only; or `copy=False`, and the values must be
                decoded or converted.
            TypeError: `out` is not an array.

        Example:
            >>> weights = model.initializers["w"].numpy()
        """

    def packed(self) -> _ndarray[Any, Any]:
        """
        Return the stored bytes of a 2-, 4- or 6-bit tensor as a read-only, flat uint8 array.

        The bytes have the layout of `raw_data`. The array is a view if the stored bytes are mapped or in
        a buffer, and a new array if they are in a typed field or in a file that is read.

        Raises:
            TypeError: the tensor has another type.

        Source: onnx.proto, TensorProto.raw_data.
        """

    def tobytes(self) -> bytes:
        """
        Return the values as bytes in the layout of `raw_data`: little-endian and packed.

        Raises:
            TypeError: the tensor holds strings.
        """

    @property
    def _stored_nbytes(self) -> int | None:
        """
        The number of bytes of the values, as stored; None if they are in a typed field.
        """

    @property
    def doc_string(self) -> str:
        """
        The documentation in Markdown.
        """

    @doc_string.setter
    def doc_string(self, arg1: str) -> None: ...
    @property
    def dtype(self) -> DataType:
        """
        The element type as a DataType. Raises TensorError `tensor.dtype`.
        """

    @property
    def file(self) -> str | None:
        """
        The path of the file that holds the values, or None.
        """

    @property
    def is_aligned(self) -> bool:
        """
        Whether numpy() returns a view that is aligned for its type.
        """

    @property
    def is_external(self) -> bool:
        """
        Whether the values are in another file.
        """

    @property
    def is_view(self) -> bool:
        """
        Whether numpy() returns a view.
        """

    @property
    def metadata_props(self) -> StringMapping:
        """
        The metadata as a mapping of names to values.
        """

    @metadata_props.setter
    def metadata_props(self, arg1: Mapping[str, str]) -> None: ...
    @property
    def name(self) -> str:
        """
        The name, or an empty string.
        """

    @property
    def nbytes(self) -> int:
        """
        The number of bytes of the values, as stored.
        """

    @property
    def ndim(self) -> int:
        """
        The number of dimensions.
        """

    @property
    def offset(self) -> int | None:
        """
        The offset of the values in `file`, in bytes, or None.
        """

    @property
    def proto(self) -> ProtoView:
        """
        The source message under the exact names of onnx.proto.
        """

    @property
    def segment(self) -> ProtoView | None:
        """
        If this is a piece of a larger tensor, its `begin` and `end` in that tensor; otherwise None.

        Pieces of one name are read as one tensor.
        """

    @property
    def shape(self) -> tuple[int, ...]:
        """
        The dimensions as a tuple of int. Raises TensorError.
        """

    @property
    def size(self) -> int:
        """
        The number of elements. Raises TensorError.
        """

    @property
    def _external(self) -> tuple[str, int, int | None, str | None] | None:
        """
        The arguments of `types.ExternalData`, or None.
        """
        ...

    def _view_at(self, key: Any) -> Any:
        """
        Return `numpy()[key]`; None if the array would be no view.
        """
        ...

class SparseTensor(_tensors.SparseTensor):
    """
    A sparse tensor: stored values and their indices.
    """

    @property
    def indices(self) -> Tensor:
        """
        The indices of the values: a Tensor of shape [nnz] (linear) or [nnz, rank].
        """

    @property
    def name(self) -> str:
        """
        The name, which is stored as the name of the values.
        """

    @property
    def nnz(self) -> int:
        """
        The number of stored values.
        """

    @property
    def proto(self) -> ProtoView:
        """
        The source message under the exact names of onnx.proto.
        """

    @property
    def shape(self) -> tuple[int, ...]:
        """
        The shape of the dense tensor.
        """
        ...

    @property
    def values(self) -> Tensor:
        """
        The stored values: a Tensor of shape [nnz].
        """
        ...

    def _check_structure(self) -> None:
        """
        Check that the values, indices and shape agree.
        """
        ...

    def _check_dense(
        self, what: str, nbytes: int, remedy: str, max_bytes: int | None = None
    ) -> None:
        """
        Check types and shapes. Raise LimitError if so many bytes are more than `max_bytes`, or the model's limit.
        """
        ...

    def _positions(self) -> _ndarray[Any, Any]:
        """
        Return the checked positions of the values in the flattened tensor.
        """
        ...

class Neighbours:
    """
    Models, and the data files that they use.
    """

    def owner_of(self, path: str) -> str | None:
        """
        Return the path of a model that uses this file as data, or that is this file.
        """

    def user_of(self, path: str) -> str | None:
        """
        Return the path of a model that is known to use this file, or this link, as data.
        """

    @property
    def unreadable(self) -> str | None:
        """
        The path of a likely model that cannot be read, so nobody knows what it uses. Of several, the one that was changed last.
        """

class ExternalFile:
    """
    An open data file, in the state that it had when it was opened.
    """

    def check_unchanged(self) -> None:
        """
        Raise FileChangedError if the file's size or time of modification has changed.

        Does nothing with `watch=False`.
        """

    def readinto(self, offset: typing.SupportsInt | typing.SupportsIndex, buffer: Any) -> None:
        """
        Fill the buffer with the bytes from `offset` on.

        Uses read calls, not a mapping.

        Raises:
            FileChangedError: the file has become shorter.
            ValueError: the range ends after the end of the file.
        """

    @property
    def identity(self) -> tuple[int, int]:
        """
        A pair that identifies the file: device and inode, or another pair for a remote file.
        """

    @property
    def path(self) -> str:
        """
        The path.
        """

    @property
    def size(self) -> int:
        """
        The size in bytes.
        """

class Bulk:
    """
    The initializers of a bulk read, each found and checked.
    """

    def arrays(
        self, threads: typing.SupportsInt | typing.SupportsIndex, tell: Any
    ) -> dict[str, _ndarray[Any, Any]]:
        """
        Return all tensors as fresh arrays by name.

        Args:
            threads: how many threads read and decode; 0 for as many as help.
            tell: None, or a function that is called with the bytes done, some 20 times a second.
        """

    @property
    def array_nbytes(self) -> int:
        """
        The bytes of all arrays, except arrays of strings.
        """

    @property
    def nbytes(self) -> int:
        """
        The bytes that reading makes, before NumPy's conversions, except strings.
        """

class Stream:
    """
    The stream that onnxmap.TensorStream wraps.
    """

    def next(self) -> tuple[str, _ndarray[Any, Any]] | None:
        """
        Return the next name and array; None at the end.
        """

    def stop(self) -> None:
        """
        End the stream and all its background work.
        """

class ModelDifference:
    """
    Two models that are being compared; see onnxmap.diff.
    """

    def finish(
        self, threads: typing.SupportsInt | typing.SupportsIndex, tell: Any
    ) -> tuple[builtins.list[tuple[str, Any]], builtins.list[tuple[Any, ...]], int]:
        """
        Compare the large tensors and return what differs. Call it once.

        Args:
            threads: how many threads compare; 0 for as many as help.
            tell: None, or a function that is called with the bytes done, some 20 times a second.

        Returns:
            Changes outside of items, items, and how many differences were left out.
        """

    @property
    def nbytes(self) -> int:
        """
        The bytes of the large tensors of each model, which finish() compares.
        """

class FoldersBeneath:
    """
    New folders for files beneath another folder.
    """

    def make(self, folder: bytes, location: bytes) -> None:
        """
        Make the missing folders of a location. An error for a link on the way.
        """

    def remove(self) -> None:
        """
        Remove the new folders that are empty.
        """

class SavePlan:
    """
    A model that refers to the files of its values.
    """

    def check_missing_files(self) -> None:
        """
        Raise the error of the first tensor whose data file does not exist.
        """

    def check_referred_files(self) -> None:
        """
        Raise FileChangedError if a file to which the model refers is not what it was.
        """

    def has_data(self) -> bool:
        """
        Return whether there are large values that no file has.
        """

    def has_external(self) -> bool:
        """
        Return whether a file outside the model has values of it.
        """

    def write_data_to(self, take: Any) -> None:
        """
        Call `take` with the bytes of these values, in order.
        """

    def write_model_to(self, take: Any) -> None:
        """
        Call `take` with the bytes of the model, in order.
        """

class Stats:
    """
    The initializers of `Model.stats`, each found and checked.
    """

    def read(
        self, threads: typing.SupportsInt | typing.SupportsIndex, tell: Any
    ) -> tuple[
        builtins.list[tuple[str, DataType, tuple[int, ...], tuple[Any, ...]]], tuple[Any, ...]
    ]:
        """
        Return the row of each tensor, and the row of all values.

        Args:
            threads: how many threads read and sum; 0 for as many as help.
            tell: None, or a function that is called with the bytes done, some 20 times a second.
        """

    @property
    def nbytes(self) -> int:
        """
        The bytes that are read, or made by decoding.
        """

def add_setter(cls: Any, name: str, setter: Any) -> None:
    """
    Let a function of an object and a value set a property.
    """

def append_bytes(document: Document, path: bytes, bytes: bytes, sync: bool) -> None:
    """
    Append bytes to the file that a document was loaded from.
    """

def attribute_fields() -> dict[int, str]:
    """
    Return the field of the value of each AttributeType that has one.
    """

def check_data_location(folder: bytes, location: bytes) -> None: ...
def check_in_place(document: Document) -> None:
    """
    Raise FileChangedError if the loaded file is no longer at its path, or has changed.
    """

def check_output(path: bytes, replace_read_only: bool) -> None:
    """
    Raise what a save to a path raises because of the object that has the name now.
    """

def check_rules(
    root: ProtoView,
    wanted: collections.abc.Sequence[bool],
    most: typing.SupportsInt | typing.SupportsIndex,
    values: bool,
) -> tuple[builtins.list[tuple[int, str, str]], builtins.list[int]]:
    """
    Return the findings in a model (rule, path, message), and how many each rule has.
    """

def compare_models(
    a: Document,
    b: Document,
    threads: typing.SupportsInt | typing.SupportsIndex,
    atol: typing.SupportsFloat | typing.SupportsIndex,
    rtol: typing.SupportsFloat | typing.SupportsIndex,
    ignore: Any,
    cast: bool,
) -> ModelDifference:
    """
    Walk over two models and note what differs; see `onnxmap.diff`.
    """

def copy_into(target: ProtoView, message: Any) -> None:
    """
    Replace all fields of a message by those of another one. External tensors of an object of a model with another folder become inline ones, which refer to their files.
    """

def data_name_after(
    model: bytes, name: bytes, i: typing.SupportsInt | typing.SupportsIndex
) -> str: ...
def data_type_bits(number: typing.SupportsInt | typing.SupportsIndex) -> int:
    """
    Return the bits of one element; 0 if the elements have no fixed width.
    """

def data_type_facts() -> builtins.list[tuple[str, int, int, str, str]]:
    """
    Return name, number, bits, typed field and NumPy name of each element type.
    """

def data_type_named(name: Any) -> int:
    """
    Return the number of the type with this name of ONNX or NumPy, or spelling; 0 for none.
    """

def data_type_of(dtype: Any) -> int:
    """
    Return the number of the DataType of a numpy.dtype; 0 if there is none.
    """

def dedupe(document: Document) -> builtins.list[tuple[str, str]]:
    """
    See `Model.dedupe`.
    """

def document_of(view: ProtoView) -> Document | None:
    """
    Return the document that a view is the whole of, or None.
    """

def enum_values(name: str) -> dict[str, int]:
    """
    Return the members of an enum of the schema.
    """

def external_file(tensor: Tensor) -> ExternalFile | None:
    """
    Return the open file of an external tensor; None if the tensor is not external.
    """

def external_paths(
    model: bytes, locations_in_text: _protocols.LocationsInText
) -> builtins.list[str]: ...
def extract(document: Document, inputs: Any, outputs: Any) -> Document:
    """
    See `Model.extract`.
    """

def file_locations(document: Document) -> builtins.list[bytes]:
    """
    Return the locations of data files and of EPContext nodes, each once.
    """

def file_paths(document: Document) -> dict[str, str | None]:
    """
    Return the path of each of these files by location; None if it is no local file.
    """

def find_message(message_type: str, object: Any) -> ProtoView | None:
    """
    Return the message that an object of any library is or has; None if it is no such one.
    """

def find_neighbours(
    folders: collections.abc.Sequence[bytes],
    but: collections.abc.Sequence[bytes],
    also: collections.abc.Sequence[bytes],
    locations_in_text: _protocols.LocationsInText,
) -> Neighbours: ...
def folders_beneath(sync: bool) -> FoldersBeneath: ...
def hold_loaded(
    tensor: ProtoView,
    offset: typing.SupportsInt | typing.SupportsIndex,
    nbytes: typing.SupportsInt | typing.SupportsIndex,
) -> None:
    """
    Set the raw_data of a TensorProto to bytes of the file from which its model was loaded, which are not copied.
    """

def hold_raw_data(tensor: ProtoView, buffer: Any) -> None:
    """
    Set the raw_data of a TensorProto to the bytes of a buffer, which are not copied if they are many.
    """

def hold_values(tensor: ProtoView, values: Tensor) -> bool:
    """
    Set the raw_data of a TensorProto to the stored bytes of a Tensor, which are not copied. Return False if it has none in one place in memory, or in a file that is mapped.
    """

def inline_functions(document: Document, names: Any) -> builtins.list[str]:
    """
    See `Model.inline_functions`.
    """

def is_plain_location(location: bytes, folder: bytes) -> bool: ...
def is_safe_location(location: bytes) -> bool:
    """
    Return whether the text of an external location names a file that may be opened.
    """

def is_stopped() -> bool:
    """
    Return whether the core no longer needs the result of this thread's work.
    """

def kernel_paths() -> builtins.list[str]:
    """
    Return the names of the kernel sets that this machine can run.
    """

def kernels_in_use() -> str:
    """
    Return the name of the kernel set in use.
    """

def lift_constants(document: Document, min_bytes: Any) -> builtins.list[str]:
    """
    See `Model.lift_constants`.
    """

def load_beside(
    path: bytes,
    buffer: Any,
    options: _protocols.LoadOptions,
    folder: bytes,
    state: typing.Annotated[
        collections.abc.Sequence[typing.SupportsInt | typing.SupportsIndex], "FixedSize(4)"
    ],
) -> Document:
    """
    Return a model in a buffer whose external data are ranges of a file of any kind.
    """

def load_buffer(
    buffer: Any,
    message: str,
    options: _protocols.LoadOptions,
    external_root: bytes | _protocols.RemoteFolder,
    require_model: bool = False,
) -> Document: ...
def load_file(
    path: bytes,
    message: str,
    options: _protocols.LoadOptions,
    external_root: bytes | _protocols.RemoteFolder,
    folder: bytes,
) -> Document: ...
def load_remote(
    file: _protocols.RangeFile,
    message: str,
    options: _protocols.LoadOptions,
    external_root: bytes | _protocols.RemoteFolder,
    folder: str,
) -> Document: ...
def load_remote_safetensors(
    file: _protocols.RangeFile,
    location: str,
    options: _protocols.LoadOptions,
    root: _protocols.RemoteFolder,
) -> Document: ...
def load_safetensors(path: bytes, options: _protocols.LoadOptions, folder: bytes) -> Document: ...
def loaded_raw_data(tensor: ProtoView) -> tuple[int, int] | None:
    """
    Return the offset and the length of the raw_data of a TensorProto in the file from which its model was loaded; None if it is empty, or was edited.
    """

def looks_like(head: bytes) -> str | None:
    """
    Return the format of a file that begins with these bytes, or None.
    """

def map_keys(map: ProtoView) -> builtins.list[Any]:
    """
    Return the keys of a MapProto, as many as it has values. Texts are bytes.
    """

def match_lists(old: Any, new: Any) -> builtins.list[tuple[int, int]]:
    """
    Return the positions of equal keys in two lists of bytes, as ascending pairs.

    They are the ends of the lists, and as many as possible between them. There, a key that occurs twice
    in a list has no partner.
    """

def merge(a: Document, b: Document, connect: Any, prefix: str, share: Any) -> Document:
    """
    See `onnxmap.merge`.
    """

def message_type_of(object: Any) -> str:
    """
    Return the type of a message, like "NodeProto"; an empty string for other objects.

    The message is a ProtoView, an object that has one (`.proto`), or protobuf's own.
    """

def new(message_type: str, /, **kwargs: Any) -> ProtoView:
    """
    Return a new message.

    Args:
        message_type: the name of its type, such as "NodeProto".
        fields: values of its fields, by their names in onnx.proto. A repeated field takes an iterable,
            a message a dict or a message, which is copied; None leaves the field absent.

    Raises:
        TypeError: a value has the wrong type.
        ValueError: ONNX has no such message type or no such field, or a number is out of range.

    Example:
        >>> onnxmap.new("NodeProto", op_type="Relu", input=["x"], output=["y"])
    """

def new_beside(view: ProtoView, message_type: str, /, **kwargs: Any) -> ProtoView:
    """
    Return a new message whose external data are in the folder of those of a view.
    """

def numpy_dtype(number: typing.SupportsInt | typing.SupportsIndex) -> numpy.dtype[Any]:
    """
    Return the numpy.dtype of an element type.
    """

def option_names() -> dict[str, tuple[str, ...]]:
    """
    Return the names that each option with several choices accepts.
    """

def optional_value(optional: ProtoView) -> ProtoView | None:
    """
    Return the message that an OptionalProto holds, or None.
    """

def pack(codes: Any, bits: typing.SupportsInt | typing.SupportsIndex, packed: Any) -> None:
    """
    Pack the low bits of bytes, as ONNX packs its types of less than 8 bits.
    """

def parse_text(text: str, message: str, parse: Any) -> bytes:
    """
    Return the bytes of the message that a text describes, with the unknown fields that it has by number. `parse` makes protobuf's message of the rest of the text.
    """

def plan_bulk(
    initializers: Initializers, names: Any, dtype: Any, copies: bool, release_pages: bool
) -> Bulk:
    """
    Return the plan for a bulk read of these initializers.
    """

def plan_stats(initializers: Initializers, names: Any) -> Stats:
    """
    Return the plan for the statistics of these initializers.
    """

def property_value(arg0: ProtoView, arg1: str) -> Any:
    """
    Return the value of a field in the form in which Node, Graph and the other classes give it.
    """

def prune(document: Document) -> tuple[builtins.list[str], ...]:
    """
    See `Model.prune`.
    """

def remove_file(folder: bytes, location: bytes, sync: bool) -> None:
    """
    Remove a file beneath a folder, under the lock that a save takes.
    """

def rename_file(
    old_folder: bytes,
    old_location: bytes,
    new_folder: bytes,
    new_location: bytes,
    sync: bool,
    may_replace: bool = False,
    replace_read_only: bool = False,
) -> None:
    """
    Rename a file beneath a folder, under the locks that a save takes.
    """

def rename_locations(document: Document, names: Any) -> None:
    """
    Edit a model: replace locations by new ones, both as bytes.
    """

def root_of(view: ProtoView) -> ProtoView:
    """
    Return the whole message that a view is a part of.
    """

def rules() -> builtins.list[tuple[str, str, str, str, str]]:
    """
    Return the rules that check_rules() knows: name, level, requirement, source, text, advice.
    """

def save_models(
    models: Any,
    options: _protocols.SaveOptions,
    hooks: _protocols.SaveHooks,
    copies: collections.abc.Mapping[str, str] | None = None,
    is_message: bool = False,
    take: Any = None,
) -> dict[str, Any]:
    """
    Write models of one folder. Return the fields of a SaveReport.

    Args:
        models: the message, the path, data files by the positions of tensors whose values are in the
            model, and which external values that stay must be there: "all", "placed" by an edit,
            "none".
        options: a SaveOptions.
        hooks: what only Python can do.
        copies: by location, the new locations of data files that are copied; all others stay.
        is_message: the only message may be no model.
        take: is called with the bytes of the only model, in order, instead of any path.
    """

def save_plan(
    model: ProtoView, location: bytes, least_nbytes: typing.SupportsInt | typing.SupportsIndex
) -> SavePlan:
    """
    Plan a model whose large values refer to files.

    Args:
        model: the model.
        location: the path of a new file for values that no file has, without its first slash.
        least_nbytes: smaller values stay in the model.
    """

def schema() -> dict[str, Any]:
    """
    Return all messages and enums of the schema, as dicts.
    """

def seal() -> None:
    """
    Keep the classes from being changed, once they have all methods.
    """

def sequence_values(sequence: ProtoView) -> Sequence[ProtoView]:
    """
    Return the messages that a SequenceProto holds.
    """

def set_dims(
    document: Document, dims: Any, inputs: Any, constants: bool
) -> tuple[builtins.list[str], builtins.list[str], builtins.list[Any]]:
    """
    See `Model.set_dims`.
    """

def set_property(view: ProtoView, name: str, value: Any) -> None:
    """
    Set a field: a list replaces all values, a mapping all entries, and a message or None the message.
    """

def sort(document: Document) -> None:
    """
    See `Model.sort`.
    """

def start_stream(
    bulk: Bulk,
    window: typing.SupportsInt | typing.SupportsIndex,
    threads: typing.SupportsInt | typing.SupportsIndex,
) -> Stream: ...
def state_variables(arg0: ProtoView) -> builtins.list[str]: ...
def strip(document: Document, doc_strings: bool, metadata: bool, value_infos: bool) -> None:
    """
    See `Model.strip`.
    """

def take_locations(document: Document) -> dict[int, bytes]:
    """
    Remove the locations of tensors that also have values. Return them by position.
    """

def tensor_path(tensor: Tensor) -> str:
    """
    Return the path of the tensor in the model, such as `graph.initializer[3]`.
    """

def text_form(head: bytes) -> str | None:
    """
    Return "textproto" or "json" if a file that begins with these bytes is a model in that form, else None.
    """

def unused_bytes(document: Document) -> dict[str, int]:
    """
    Return the bytes of each external file that no tensor of a model uses, by path.
    """

def usable_cpus() -> int:
    """
    Return the number of processors that this process may run on.
    """

def use_kernels(name: str) -> None:
    """
    Use a kernel set from now on, in the whole process.
    """

def wrap(view: ProtoView) -> Any:
    """
    Return the object of a message's class, or a ProtoView if its type has no class.
    """

VIEW_KEYS: str = "onnxmap.view."
