"""The types of values, as `TypeProto` describes them; the types of messages; `ExternalData`."""

from __future__ import annotations

from functools import cache
from operator import itemgetter
from typing import Any, NamedTuple

from onnxmap import _core
from onnxmap._base.enums import DataType
from onnxmap._base.schema import is_repeated, message_rows, schema, type_name
from onnxmap._base.text import shape_in_words, type_in_words
from onnxmap.errors import printable

Shape = tuple["int | str | None", ...]


class ExternalData(NamedTuple):
    """Where the values of a tensor are, according to the model.

    Attributes:
        location: the path relative to the model's folder.
        offset: the offset of the values in the file, in bytes.
        length: their length in bytes; None if shape and type imply it.
        checksum: the SHA-1 of the whole file in hexadecimal digits, or None.
    """

    location: str
    offset: int
    length: int | None
    checksum: str | None


class Use(NamedTuple):
    """One place where a value is used.

    Attributes:
        user: the Node that has the value as an input, or the Graph or Function that has it as an
            output.
        position: the position in `user.inputs` or `user.outputs`.
    """

    user: _core.Node | _core.Graph | _core.Function
    position: int


def _repr(self: Any) -> str:
    """The type without the fields that have their defaults."""
    fields, usual = self._asdict(), self._field_defaults
    shown = [f"{name}={value!r}" for name, value in fields.items() if value != usual.get(name, ...)]
    return f"{type(self).__name__}({', '.join(shown)})"


def _str(self: Any) -> str:
    """The type in words, like `FLOAT [N, 3]` or `optional sequence of INT64 []`."""
    match self:
        case TensorType(dtype, shape):
            return f"{type_name(dtype)} {shape_in_words(shape)}"
        case SparseTensorType(dtype, shape):
            return f"sparse {type_name(dtype)} {shape_in_words(shape)}"
        case SequenceType(elem_type):
            return f"sequence of {type_in_words(elem_type)}"
        case OptionalType(elem_type):
            return f"optional {type_in_words(elem_type)}"
        case MapType(key_type, value_type):
            return f"map of {type_name(key_type)} to {type_in_words(value_type)}"
    return f"opaque {printable(f'{self.domain}.{self.name}')}"


class TensorType(NamedTuple):
    """A dense tensor.

    Attributes:
        dtype: the element type.
        shape: the dimensions: numbers, names, or None for unknown ones; None if the rank is
            unknown.
        shape_denotation: what each dimension means, like "DATA_BATCH", or None; empty if no
            dimension has one.
        denotation: what the tensor means, like "IMAGE", or None.
    """

    dtype: DataType | int
    shape: Shape | None
    shape_denotation: tuple[str | None, ...] = ()
    denotation: str | None = None


class SparseTensorType(NamedTuple):
    """A sparse tensor, with the fields of a TensorType.

    Attributes:
        dtype: the element type.
        shape: the dimensions of the dense tensor, as in TensorType.
        shape_denotation: what each dimension means, as in TensorType.
        denotation: what the tensor means, or None.
    """

    dtype: DataType | int
    shape: Shape | None
    shape_denotation: tuple[str | None, ...] = ()
    denotation: str | None = None


class SequenceType(NamedTuple):
    """A sequence of values of one type.

    Attributes:
        elem_type: the type of the values, one of the types here; None if it is not set.
        denotation: what the value means, or None.
    """

    elem_type: object
    denotation: str | None = None


class MapType(NamedTuple):
    """A map from keys of one element type to values of one type.

    Attributes:
        key_type: the element type of the keys: an integer type or STRING.
        value_type: the type of the values, one of the types here; None if it is not set.
        denotation: what the value means, or None.
    """

    key_type: DataType | int
    value_type: object
    denotation: str | None = None


class OptionalType(NamedTuple):
    """A value or nothing.

    Attributes:
        elem_type: the type of the value, one of the types here; None if it is not set.
        denotation: what the value means, or None.
    """

    elem_type: object
    denotation: str | None = None


class OpaqueType(NamedTuple):
    """A type that only an operator's domain understands.

    Attributes:
        domain: the domain of the type.
        name: the name of the type in its domain.
        denotation: what the value means, or None.
    """

    domain: str
    name: str
    denotation: str | None = None


# In the order in which the core numbers the kinds of types.
VALUE_TYPES = (TensorType, SparseTensorType, SequenceType, MapType, OptionalType, OpaqueType)
for _each in VALUE_TYPES:
    _each.__repr__ = _repr  # type: ignore[method-assign]
    _each.__str__ = _str  # type: ignore[method-assign]


class FieldType(NamedTuple):
    """A field of a message type.

    Attributes:
        name: the name in onnx.proto.
        number: the number that marks the field in a file.
        type: `int64`, `int32`, `uint64`, `float`, `double`, `string`, `bytes`, `enum` or `message`.
        type_name: the name of the enum or message type, else an empty string.
        is_repeated: whether the field holds a list.
        oneof: the name of the oneof that the field is a member of, else an empty string.
    """

    name: str
    number: int
    type: str
    type_name: str
    is_repeated: bool
    oneof: str


class MessageType(NamedTuple):
    """A type of message.

    Attributes:
        name: the name in onnx.proto, like "NodeProto".
        fields: its fields, sorted by number.
    """

    name: str
    fields: tuple[FieldType, ...]

    @property
    def fields_by_name(self) -> dict[str, FieldType]:
        """The fields by name."""
        return {field.name: field for field in self.fields}

    @property
    def fields_by_number(self) -> dict[int, FieldType]:
        """The fields by number."""
        return {field.number: field for field in self.fields}


@cache
def message_type(message: str) -> MessageType:
    """Return the type of a message, like "TensorProto.Segment"."""
    rows = [row for row in message_rows(message).values() if not row["retired"]]
    fields = (
        FieldType(**{name: row.get(name, is_repeated(row)) for name in FieldType._fields})
        for row in sorted(rows, key=itemgetter("number"))
    )
    return MessageType(message, tuple(fields))


def message_types() -> list[str]:
    """Return the names of all types of messages, as `new` and `loads_proto` take them."""
    return list(schema()["messages"])


def rule_names() -> list[str]:
    """Return the names of all rules of `check` but `onnx.checker`, as `select` takes them."""
    return [str(rule[0]) for rule in _core.rules()]


def enum_types() -> dict[str, dict[str, int]]:
    """Return the values of all enums: `enum_types()["TensorProto.DataType"]["FLOAT"]` is 1."""
    return {name: dict(values) for name, values in schema()["enums"].items()}
