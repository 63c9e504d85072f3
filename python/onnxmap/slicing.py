"""Parts and bytes of tensors: only what is asked for is read, and all of it is written."""

from __future__ import annotations

from types import EllipsisType
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from onnxmap import _core


def read_slice(tensor: _core.Tensor, key: Any) -> Any:
    """What `tensor.numpy()[key]` gives; only basic indexing can leave bytes unread."""
    unread: Any = tensor._unread() if _is_basic(key) else None
    if unread is None:
        return tensor.numpy()[key]
    # Sliced without a look at its elements: only address, shape and strides of the part count.
    part = unread[(*key, ...) if isinstance(key, tuple) and ... not in key else key]
    if isinstance(part, np.generic):
        part = unread[key, ...]
    if part.size == 0:
        array = np.empty(part.shape, part.dtype)
        array.flags.writeable = False
        return array
    low, high = np.lib.array_utils.byte_bounds(part)
    data = tensor._read(low - unread.ctypes.data, high - low)
    address = part.__array_interface__["data"][0]
    array = np.ndarray(part.shape, part.dtype, data, address - low, part.strides)
    array.flags.writeable = False
    return array[()]


def _is_basic(key: Any) -> bool:
    keys = key if isinstance(key, tuple) else (key,)
    return all(
        part is None
        or (isinstance(part, (slice, EllipsisType, int, np.integer)) and not isinstance(part, bool))
        for part in keys
    )


def stored_bytes(tensor: _core.Tensor) -> Any:
    """The stored bytes of the values, flat: in place where they can be looked at."""
    view: Any = tensor._stored()
    return memoryview(tensor.tobytes() if view is None else view)


def write_all(file: Any, data: memoryview) -> None:
    """Writes bytes to a path, or to an object whose `write()` may take less than it is given."""
    if not hasattr(file, "write"):
        with open(file, "wb") as opened:  # noqa: PTH123 -- a path may be bytes
            write_all(opened, data)
        return
    while data:
        written = file.write(data)
        data = data[len(data) if written is None else written :]
