"""Initializers as Dask arrays. Each process reads its chunks from the file itself."""

from __future__ import annotations

import functools
import math
import pickle
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from onnxmap._base.extras import extra
from onnxmap._read.pickled_tensors import (
    Reference,
    open_reference,
    reference_to,
    relocated_to,
    with_digest,
)
from onnxmap._read.tensor_parts import box_of
from onnxmap.errors import FileChangedError

with extra("dask"):
    import dask
    from dask.array import Array, from_array
    from dask.base import tokenize
    from dask.utils import parse_bytes

try:
    from distributed.protocol.serialize import dask_serialize
except ModuleNotFoundError:  # without distributed there is no cluster
    dask_serialize = None

if TYPE_CHECKING:
    from collections.abc import Sequence

    from onnxmap import _core
    from onnxmap._core import Initializers

ChunksArgument: TypeAlias = Any  # what dask.array.from_array takes
FileState: TypeAlias = "tuple[int, int, int, int] | str"  # what Tensor._file_state() returns

# Tensors that a process keeps open. Each takes a few kB. The core holds at most 32 descriptors for
# all of them.
_KEPT_OPEN = 1024


def to_dask(
    initializers: Initializers, names: Sequence[str] | str | None, chunks: ChunksArgument
) -> dict[str, Array]:
    """See `Model.to_dask`."""
    return {name: _array_of(initializers[name], chunks) for name in initializers._selected(names)}


def _array_of(tensor: _core.Tensor, chunks: ChunksArgument) -> Array:
    reference, state = reference_to(tensor), tensor._file_state()
    dtype, shape = tensor.dtype.numpy(), tensor.shape
    if isinstance(chunks, str):
        limit = dask.config.get("array.chunk-size") if chunks == "auto" else chunks
        chunks = _rows(shape, dtype.itemsize, parse_bytes(limit))
    source: FileValues | CarriedValues
    if reference is None or state is None:
        source = CarriedValues(tensor)
        return _from_source(source, -1, tokenize(source)).rechunk(chunks)
    source = FileValues(reference, state, dtype, shape, tensor)
    return _from_source(source, chunks, tokenize(reference, state, chunks))


def _from_source(source: FileValues | CarriedValues, chunks: ChunksArgument, token: str) -> Array:
    # inline_array puts the reference into each task. It is small, and Dask can then slice the chunk
    # before it is read.
    empty = np.empty((0,) * len(source.shape), source.dtype)
    return from_array(source, chunks, f"onnxmap-{token}", meta=empty, inline_array=True)


def _rows(shape: tuple[int, ...], itemsize: int, limit: int) -> tuple[int, ...]:
    """The shape of the largest chunk of at most `limit` bytes that is one range of the file."""
    if 0 in shape:  # one chunk: a chunk per row could be more chunks than memory can hold
        return tuple(max(count, 1) for count in shape)
    for axis in range(len(shape)):
        row = math.prod(shape[axis + 1 :]) * itemsize
        if row <= limit:
            return (1,) * axis + (min(shape[axis], limit // row),) + shape[axis + 1 :]
    return (1,) * len(shape)  # one element alone is larger than the limit


@dataclass(eq=False, slots=True)
class FileValues:
    """The values of a tensor in a file. A process that reads some of them opens the file."""

    _reference: Reference
    _state: FileState
    dtype: np.dtype[Any]
    shape: tuple[int, ...]
    _tensor: _core.Tensor | None = None  # None in other processes, which open the file

    @property
    def ndim(self) -> int:
        """The number of dimensions."""
        return len(self.shape)

    def __reduce__(self) -> Any:
        if self._tensor is not None:
            self._reference = _renewed(self._reference, self._tensor)
        return FileValues, (self._reference, self._state, self.dtype, self.shape)

    def __getitem__(self, key: Any) -> np.ndarray[Any, Any]:
        tensor = self._tensor
        if tensor is None:
            tensor = _opened(self._reference, self._state, relocated_to())
        return _read(tensor, self.shape, key if isinstance(key, tuple) else (key,))


def _renewed(reference: Reference, tensor: _core.Tensor) -> Reference:
    """Return a new reference with its digest: the file may have moved since the old one."""
    now = reference_to(tensor)
    if now is None:
        raise _changed(tensor, "was replaced or moved away")
    digest = reference.digest or with_digest(now, tensor).digest
    return now._replace(digest=digest)


def _changed(tensor: _core.Tensor, what: str) -> FileChangedError:
    text = f"tensor {tensor.name[:200]!r}: {tensor.file!r} {what} after to_dask()"
    return FileChangedError(text, path=tensor.file, filename=tensor.file)


class CarriedValues:
    """A tensor whose values go into the task, because no file holds them as they are."""

    def __init__(self, tensor: _core.Tensor) -> None:
        self._tensor = tensor
        self.dtype = tensor.dtype.numpy()
        self.shape = tensor.shape
        self.ndim = len(tensor.shape)

    def __dask_tokenize__(self) -> Any:
        function, arguments = self._tensor.__reduce__()
        return function.__name__, arguments

    def __getitem__(self, key: Any) -> np.ndarray[Any, Any]:
        found: np.ndarray[Any, Any] = np.asarray(self._tensor.numpy()[key])
        return found


@functools.lru_cache(_KEPT_OPEN)
def _opened(reference: Reference, state: FileState, root: str | None) -> _core.Tensor:
    # open_reference() reads the root itself. `root` is an argument to be part of the cache's key.
    # The file is never mapped: a worker counts the pages of a mapping as its own memory. It would
    # spill its arrays, and be killed at its memory limit, because of pages of the page cache.
    tensor = open_reference(reference, io="read")
    found = tensor._file_state()
    # The samples of a reference do not detect every change, so compare the modification time too.
    # On another machine device and time may differ, but a copy hardly has the same inode and size.
    is_same_file = isinstance(found, tuple) and found[1:3] == state[1:3]
    if found is not None and is_same_file and found[3] != state[3]:
        raise _changed(tensor, "was modified")
    return tensor


def _teach_distributed() -> None:
    """Make a cluster able to send arrays of float8_e5m2.

    NumPy does not find this type by its name. The receiver would not understand the message, and
    the sender would wait for ever (ml_dtypes issue 148). distributed pickles the other types of
    ml_dtypes, which works; this does the same for float8_e5m2.
    """
    send = dask_serialize.dispatch(np.ndarray)

    def send_array(
        array: np.ndarray[Any, Any], context: dict[str, Any] | None = None
    ) -> tuple[dict[str, Any], list[Any]]:
        if array.dtype.kind != "f" or array.dtype.itemsize != 1:
            return send(array, context)
        header, frames = send(array.view(np.uint8), context)
        return {**header, "dtype": (1, pickle.dumps(array.dtype))}, frames

    dask_serialize.register(np.ndarray)(send_array)


if dask_serialize is not None:
    _teach_distributed()


def _read(
    tensor: _core.Tensor, shape: tuple[int, ...], keys: tuple[Any, ...]
) -> np.ndarray[Any, Any]:
    if len(keys) != len(shape) or any(key is None or key is ... for key in keys):
        return np.array(tensor[keys])
    box, inside = box_of(tensor, keys)
    # A copy: otherwise a few elements would keep the whole box in memory.
    is_all = all(isinstance(index, slice) and index == slice(None) for index in inside)
    return box if is_all else np.array(box[inside])
