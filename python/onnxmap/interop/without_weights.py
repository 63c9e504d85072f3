"""Structures: a model's message without its large values, and the values put back into one.

Other libraries read a structure, which is small, instead of the model. A tensor in it has an
external entry instead of its values. A token is an entry that only this process understands: it
stands for a Tensor, and so for the message and the file that have the values.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, NamedTuple

from onnxmap import _core
from onnxmap._base.enums import DataLocation
from onnxmap._base.options import Options, options_of
from onnxmap._base.paths import absolute_or_url
from onnxmap._base.schema import message_rows
from onnxmap.errors import ExternalDataError, TensorError

if TYPE_CHECKING:
    from collections.abc import Callable

    from onnxmap._base.new_message import Message

_LEAST = 1 << 10  # bytes; smaller values stay in a structure
_MOST_READ = 64 << 20  # bytes of small external tensors

_FIELDS = message_rows("TensorProto")
VALUE_FIELDS = (*(name for name in _FIELDS if name.endswith("_data")), "data_location")
# What a structure may say about a tensor: it wins over what the tensor said before.
SAID_FIELDS = tuple(_FIELDS.keys() - {*VALUE_FIELDS, "segment"})
# Those that protobuf writes before the name of a tensor.
_BEFORE_THE_NAME = [
    name for name in VALUE_FIELDS if _FIELDS[name]["number"] < _FIELDS["name"]["number"]
]


class FileRange(NamedTuple):
    """The bytes of a file that are a tensor's values."""

    file: str  # an absolute path, or a URL
    offset: int
    nbytes: int


def structure_of(
    document: _core.Document, take: Callable[[Message, _core.Tensor, bool, str], None]
) -> bytes:
    """Return the message of a model without the values that `take` removes.

    Args:
        document: the model. It does not change.
        take: called with a copy of each tensor's message, which it may change, the Tensor, whether
            other programs need its values in the message, and its path.
    """
    proto = document.proto
    # Large contents are not copied: the copy refers to them until `take` removes them.
    copy = _core.load_buffer(b"", "ModelProto", Options(limits=options_of(proto).limits), b"")
    copy.proto.CopyFrom(proto)
    tensors = zip(document.tensors(), document.shape_tensors(), copy.tensors(), strict=True)
    for (where, tensor), is_inline, (_, copied) in tensors:
        take(copied.proto, tensor, is_inline, where)
    return copy.proto.SerializeToString()


def is_large(tensor: _core.Tensor) -> bool:
    """Return whether a tensor is too large for a structure that does not need its values."""
    try:
        return tensor.nbytes >= _LEAST
    except TensorError:  # they do not fit the shape
        return tensor.is_external or tensor.proto.ByteSize() >= _LEAST


def clear_values(message: Message) -> None:
    """Remove the values of a tensor, or where they are. Its type and shape stay."""
    for field in VALUE_FIELDS:
        message.ClearField(field)


def refer(message: Message, location: str, offset: int, nbytes: int | None) -> None:
    """Replace the values of a tensor by an external entry."""
    clear_values(message)
    entries = {"location": location, "offset": str(offset)}
    if nbytes is not None:
        entries["length"] = str(nbytes)
    for key, value in entries.items():
        message.external_data.add(key=key, value=value)
    message.data_location = int(DataLocation.EXTERNAL)


def put_inline(message: Message, tensor: _core.Tensor) -> None:
    """Put the values of an external tensor into the message."""
    values = tensor.tobytes()
    clear_values(message)
    message.raw_data = values


def range_of(tensor: _core.Tensor) -> FileRange | None:
    """Return where a file has the values as they are; None if no file does.

    Raises:
        TensorError, ExternalDataError: the values cannot be found.
    """
    file, offset, nbytes = tensor.file, tensor.offset, tensor._stored_nbytes
    if not file or offset is None or not nbytes or tensor.proto.HasField("segment"):
        return None
    return FileRange(absolute_or_url(file), offset, nbytes)


class Tokens:
    """Tensors by the tokens that stand for them in the structures of one task."""

    def __init__(self) -> None:
        # Nothing in a model can be equal to it by chance.
        self._location = f"onnxmap-token-{os.urandom(16).hex()}"
        self._prefix = self._location.encode()
        self.tensors: list[_core.Tensor] = []  # those that have tokens
        self._nbytes_read = 0  # of external tensors

    def take(self, message: Message, tensor: _core.Tensor, is_inline: bool, _where: str) -> None:
        """Put a token into the message of a large tensor; a `take` of `structure_of`."""
        if is_large(tensor) and not is_inline:
            self.put(message, tensor)
        elif tensor.is_external:
            # Other libraries need the values, as they do if they are in the model. But a small file
            # whose tensors all name the same bytes must not become a large message.
            try:
                self._nbytes_read += tensor.nbytes
                if self._nbytes_read > _MOST_READ:
                    self.put(message, tensor)
                else:
                    put_inline(message, tensor)
            except (ExternalDataError, TensorError):
                self.put(message, tensor)

    def put(self, message: Message, tensor: _core.Tensor) -> None:
        """Put a token into the message of a tensor."""
        self.tensors.append(tensor)
        refer(message, self._location, len(self.tensors) - 1, None)

    def bytes_for(self, tensor: _core.Tensor) -> bytes:
        """Return the token of a tensor as bytes, which may be its raw_data."""
        self.tensors.append(tensor)
        return self._prefix + b"%020d" % (len(self.tensors) - 1)

    def at(self, location: str, offset: int | None) -> _core.Tensor | None:
        """Return the tensor whose token is an entry with this location and offset, or None."""
        return self.tensors[offset or 0] if location == self._location else None

    def _number_in(self, tensor: _core.Tensor) -> int | None:
        """The number of the token that a tensor has; None if it has none."""
        message = tensor.proto
        if tensor.is_external:
            entries = entries_of(message)
            return int(entries["offset"]) if entries.get("location") == self._location else None
        stored = _core.loaded_raw_data(message)
        if stored is None or stored[1] != len(self._prefix) + 20:
            return None
        data = bytes(message.raw_data)
        return int(data[-20:]) if data.startswith(self._prefix) else None

    def complete(self, message: Message) -> None:
        """Give the tensors of a message, which is a document of its own, what their tokens mean."""
        for tensor, number in self._found_in(message):
            give_values(tensor.proto, self.tensors[number])

    def complete_all(self, message: Message) -> bool:
        """Do the same if each token occurs once. Else do nothing, and return False."""
        if sorted(number for _, number in self._found_in(message)) != [*range(len(self.tensors))]:
            return False
        self.complete(message)
        return True

    def _found_in(self, message: Message) -> list[tuple[_core.Tensor, int]]:
        document = _core.document_of(message)
        assert document is not None
        found = [(tensor, self._number_in(tensor)) for _, tensor in document.tensors()]
        return [(tensor, number) for tensor, number in found if number is not None]


def give_values(message: Message, tensor: _core.Tensor) -> None:
    """Give a tensor of a structure the values of the Tensor that it stands for.

    The message keeps what the structure says: name, shape, type, documentation, metadata. The rest
    is that of the Tensor. Large values are not copied. An external tensor of another folder
    becomes an inline one that refers to its file. The fields are in the order of their numbers, as
    protobuf writes them.
    """
    source = tensor.proto
    rest = _core.new_beside(message, "TensorProto")
    _core.copy_into(rest, tensor)
    said = _core.new("TensorProto")
    said.CopyFrom(message)
    clear_values(said)
    said.ClearField("segment")
    for field in SAID_FIELDS:
        rest.ClearField(field)
    message.Clear()
    message.dims.extend(said.dims)
    _set(message, "data_type", said, source)
    if rest.HasField("segment"):
        message.segment.CopyFrom(rest.segment)
        rest.ClearField("segment")
    if any(len(getattr(rest, field)) for field in _BEFORE_THE_NAME):
        message.MergeFrom(rest)
        rest.Clear()
    _set(message, "name", said, source)
    external = list(rest.external_data)
    location = rest.data_location if rest.HasField("data_location") else None
    rest.ClearField("external_data")
    rest.ClearField("data_location")
    message.MergeFrom(rest)
    _set(message, "doc_string", said, source)
    message.external_data.extend(external)
    if location is not None:
        message.data_location = location
    message.metadata_props.extend(said.metadata_props)


def _set(message: Message, field: str, said: Message, source: Message) -> None:
    """Set a field to what the structure says. An empty text counts as absent, and stays empty."""
    if said.HasField(field):
        setattr(message, field, getattr(said, field))
    elif source.HasField(field) and not getattr(source, field):
        setattr(message, field, getattr(source, field))


def entries_of(message: Message) -> dict[str, str]:
    """Return the external entries of a tensor. The last entry of a key counts."""
    return {entry.key: entry.value for entry in message.external_data}
