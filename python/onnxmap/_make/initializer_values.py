"""New values of initializers, beside those that they have."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from onnxmap import _core
from onnxmap._base.enums import DataType
from onnxmap._base.schema import enum_names
from onnxmap._make.tensor_values import is_tensor_message, tensor_of
from onnxmap.errors import warn

if TYPE_CHECKING:
    from onnxmap._base.new_message import Message

_Form = tuple[int, tuple[int, ...]]


def values_for(initializers: _core.Initializers, name: str, values: Any) -> Message:
    """Return a new tensor for an initializer. Warn if an array changes its type or shape."""
    made = tensor_of(values, copy=False)
    before = None if is_tensor_message(values) else initializers.get(name)
    if before is None:
        return made
    old, now = _form(before.proto), _form(made)
    if old != now:
        warn(
            "TensorWarning",
            f"initializer {name!r} was {_text(old)}, and is now {_text(now)}; "
            f"initializers.replace({name!r}, values) keeps both; if you mean it, assign "
            f"make_tensor({name!r}, data_type, dims, values)",
        )
    return made


def replacement_for(initializers: _core.Initializers, name: str, values: Any) -> Message:
    """Return a new tensor with the type and the shape of an initializer."""
    made = tensor_of(values, copy=False)
    old, now = _form(initializers[name].proto), _form(made)
    if old[1] != now[1]:
        raise ValueError(
            f"initializer {name!r} has the shape {old[1]!r}, and the values have {now[1]!r}"
        )
    return made if old == now else _in_type_of(old, now, made)


def _in_type_of(old: _Form, now: _Form, made: Message) -> Message:
    """Values of another type, converted by NumPy."""
    to, given = _known_type(old), _known_type(now)
    are_texts = DataType.STRING in (to, given)
    if are_texts or (_is_whole(to) and not _is_whole(given)):
        raise TypeError(
            f"the initializer is {to.name}, and the values are {given.name}: convert them first"
        )
    return tensor_of(_core.wrap(made).numpy(to.numpy()), copy=False)


def _form(tensor: Message) -> _Form:
    return tensor.data_type, tuple(tensor.dims)


def _text(form: _Form) -> str:
    kind, shape = form
    return f"{enum_names('TensorProto.DataType').get(kind, kind)} of shape {shape!r}"


def _known_type(form: _Form) -> DataType:
    if not form[0] or form[0] not in enum_names("TensorProto.DataType"):
        raise TypeError(f"{_text(form)} does not have an element type of ONNX")
    return DataType(form[0])


def _is_whole(kind: DataType) -> bool:
    return kind.name.startswith(("INT", "UINT"))
