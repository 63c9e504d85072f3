"""The arrays of an `.npz` archive as a model: ranges of the file, or values that are decoded."""

from __future__ import annotations

import io
import math
import os
import pathlib
import stat
import struct
import zipfile
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.lib import format as npy

from onnxmap import _core
from onnxmap._base.enums import DataType
from onnxmap._base.text import counted
from onnxmap._make.messages import make_graph, make_model
from onnxmap._make.tensor_values import tensor_of
from onnxmap.errors import LimitError, ParseError, warn

_MOST_HEADER = 10_000  # bytes: as many as NumPy reads
_MOST_DIRECTORY = 1 << 24  # bytes; zipfile needs ten times as many for what they say
_AT_ONCE = 1 << 20  # bytes
_MOST_NAMED = 10
_STRING = 256  # bytes that a string needs while it is decoded
# Tags of protobuf for fields that have a length, by their numbers in onnx.proto.
_GRAPH, _INITIALIZER, _RAW_DATA = (bytes([number << 3 | 2]) for number in (7, 5, 9))
_TOO_LARGE = (
    "the arrays that must be read now have more than Limits(dense_bytes=...) bytes; raise the "
    "limit, or store them uncompressed, in C order"
)


class ArchiveFile(io.BufferedReader):
    """An open archive. No record in it can make zipfile read gigabytes as the directory."""

    def read(self, size: int | None = -1, /) -> bytes:
        """Return the next bytes, as every file does.

        Raises:
            ValueError: these are more than a directory may have.
        """
        if size is not None and size > _MOST_DIRECTORY:
            text = f"its directory would have {size} bytes, at most {_MOST_DIRECTORY} are allowed"
            raise ValueError(text)
        return super().read(size)


def open_regular(name: str) -> ArchiveFile:
    """Open a file to read. Nothing else is waited for.

    Raises:
        ParseError: it is a pipe or a device.
        OSError: it is a folder, or cannot be opened.
    """
    flags = os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC
    file = ArchiveFile(io.FileIO(name, opener=lambda path, _: os.open(path, flags)))
    if stat.S_ISREG(os.fstat(file.fileno()).st_mode):
        return file
    file.close()
    raise ParseError(f"{name!r} is not a regular file", code="model.not_regular")


def model_of(file: ArchiveFile, archive: zipfile.ZipFile, room: int) -> np.ndarray[Any, Any]:
    """Return the bytes of a model whose initializers are the members that are arrays.

    An array is external data in the file if that has its elements as ONNX stores them. The others
    are decoded into the model itself, so that they are in memory once.

    Args:
        file: the file of the archive.
        archive: what zipfile says about it.
        room: how many bytes of arrays may be decoded.

    Raises:
        ValueError, or what zipfile raises: the archive is damaged, or has no arrays.
        LimitError: more bytes must be decoded.
        TypeError: ONNX has no type for the elements.
    """
    model = make_model(make_graph([], "arrays", [], []))
    graph: list[bytes | _Array] = [model.graph.SerializeToString()]
    names, others = set(), []
    for member in archive.infolist():
        if member.is_dir() and not member.file_size:
            continue
        array = _array_in(archive, member)
        if array is None:
            others.append(member.filename)
            continue
        if not array.is_known and array.dtype.kind not in "SU":
            what = f"the member {member.filename!r} has elements of the type {array.dtype}"
            raise TypeError(f"{file.name!r}: {what}, and ONNX has no such type")
        tensor = array.in_file(file)
        is_in_model = tensor is None
        if is_in_model:
            room -= member.file_size
            room -= 0 if array.is_known else _STRING * math.prod(array.shape)
            if room < 0:
                raise LimitError(_TOO_LARGE, code="limit.dense_bytes")
            tensor = array.without_values() if array.is_known else array.of_strings()
        tensor.name = member.filename.removesuffix(".npy")
        if tensor.name in names:
            raise ValueError("two arrays have the same name")
        names.add(tensor.name)
        content: list[bytes | _Array] = [tensor.SerializeToString()]
        if is_in_model and array.is_known:
            content += _RAW_DATA + _varint(len(array)), array
        graph += _INITIALIZER + _varint(sum(map(len, content))), *content
    if archive.infolist() and not names:
        raise ValueError("none of its members is an array")
    if others:
        named = ", ".join(map(repr, others[:_MOST_NAMED]))
        left = counted(len(others), "member")
        warn("TensorWarning", f"{file.name!r}: left out {left} without an array: {named}")
    model.ClearField("graph")
    return _joined([model.SerializeToString(), _GRAPH + _varint(sum(map(len, graph))), *graph])


@dataclass(frozen=True)
class _Array:
    """A member that is an array. `begin`: where its elements begin; their bytes are its length."""

    archive: zipfile.ZipFile
    member: zipfile.ZipInfo
    dtype: np.dtype[Any]
    shape: tuple[int, ...]
    in_fortran_order: bool
    begin: int

    def __len__(self) -> int:
        return self.member.file_size - self.begin

    @property
    def is_known(self) -> bool:
        """Whether ONNX has a type of such numbers."""
        return _core.data_type_of(self.dtype.newbyteorder("=")) != 0

    def without_values(self) -> Any:
        data_type = DataType(self.dtype.newbyteorder("="))  # type: ignore[arg-type]
        return _core.new("TensorProto", dims=self.shape, data_type=int(data_type))

    def of_strings(self) -> Any:
        with self.archive.open(self.member) as content:
            return tensor_of(npy.read_array(content, allow_pickle=False), copy=True)

    def in_file(self, file: ArchiveFile) -> Any:
        """The TensorProto of a range of the file; None if the array must be decoded."""
        member, nbytes = self.member, len(self)
        is_stored = member.compress_type == zipfile.ZIP_STORED and not member.flag_bits & 1
        is_raw = self.is_known and self.dtype.isnative and not self.in_fortran_order
        if not (nbytes and is_stored and is_raw):
            return None
        file.seek(member.header_offset + 26)
        begin = self.begin + member.header_offset + 30 + sum(struct.unpack("<HH", file.read(4)))
        if begin + nbytes > os.fstat(file.fileno()).st_size:
            raise ValueError(f"the file ends within the member {member.filename!r}")
        made = self.without_values()
        made.data_location = 1
        place = {"location": pathlib.Path(file.name).name, "offset": begin, "length": nbytes}
        for key, value in place.items():
            made.external_data.add(key=key, value=str(value))
        return made

    def decode(self, memory: np.ndarray[Any, Any]) -> None:
        """Fill memory with the elements piece by piece, in the order and byte order of ONNX."""
        array = memory.view(self.dtype.newbyteorder("<"))
        flat: Any = array.reshape(self.shape).T.flat if self.in_fortran_order else array
        step = max(_AT_ONCE // self.dtype.itemsize, 1)
        with self.archive.open(self.member) as content:
            content.read(self.begin)
            for start in range(0, array.size, step):
                count = min(step, array.size - start)
                piece = np.frombuffer(content.read(count * self.dtype.itemsize), self.dtype)
                if len(piece) < count:
                    raise ValueError(f"the member {self.member.filename!r} ends too soon")
                flat[start : start + count] = piece


def _array_in(archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> _Array | None:
    """The array that a member is; None if it is no array."""
    shown = f"the member {member.filename!r}"
    with archive.open(member) as content:
        if content.read(len(npy.MAGIC_PREFIX)) != npy.MAGIC_PREFIX:
            return None
        version = tuple(content.read(2))
        if version not in ((1, 0), (2, 0), (3, 0)):
            raise ValueError(f"{shown} has version {version}")
        head = content.read(2 if version == (1, 0) else 4)
        length = int.from_bytes(head, "little")
        if length > _MOST_HEADER:  # it may be compressed
            raise ValueError(f"{shown} has a header of {length} bytes")
        text = io.BytesIO(head + content.read(length))
        read = npy.read_array_header_1_0 if version == (1, 0) else npy.read_array_header_2_0
        shape, in_fortran_order, dtype = read(text)
        begin = content.tell()
    if not all(type(each) is int and 0 <= each < 1 << 63 for each in shape):
        raise ValueError(f"{shown} has the shape {shape}")
    if dtype.hasobject or dtype.itemsize == 0:
        raise ValueError(f"{shown} has pickled objects, or elements without bytes")
    if begin + math.prod(shape) * dtype.itemsize != member.file_size:
        raise ValueError(f"{shown} has another size than its array")
    return _Array(archive, member, dtype, shape, in_fortran_order and len(shape) > 1, begin)


def _joined(pieces: list[bytes | _Array]) -> np.ndarray[Any, Any]:
    """The pieces in new memory."""
    joined = np.empty(sum(map(len, pieces)), np.uint8)
    end = 0
    for piece in pieces:
        begin, end = end, end + len(piece)
        if isinstance(piece, bytes):
            joined[begin:end] = np.frombuffer(piece, np.uint8)
        else:
            piece.decode(joined[begin:end])
    return joined


def _varint(number: int) -> bytes:
    low, rest = number & 0x7F, number >> 7
    return bytes([low | 0x80]) + _varint(rest) if rest else bytes([low])
