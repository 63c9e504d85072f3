"""Tensors for torch."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from onnxmap._base.extras import extra

with extra("torch"):
    import torch

if TYPE_CHECKING:
    from collections.abc import Sequence

    from onnxmap import _core
    from onnxmap._core import Initializers

_NATIVE = "?bBhHiIlLqQefdFD"  # NumPy's type characters that torch.from_numpy() takes


def to_torch(tensor: _core.Tensor) -> Any:
    """See `Tensor.torch`."""
    dtype = tensor.dtype
    if dtype.bits < 8 and "INT" in dtype.name:
        # torch has no arithmetic for integers of fewer than 8 bits, so each value gets a byte.
        widened = np.uint8 if dtype.name.startswith("U") else np.int8
        return torch.from_numpy(tensor.numpy(dtype=widened, copy=True))
    if dtype.numpy().char in _NATIVE:
        return torch.from_numpy(tensor.numpy(writable=True))
    torch_dtype = getattr(torch, dtype.numpy().name, None) if dtype.bits >= 8 else None
    if torch_dtype is None:
        advice = "numpy(dtype=numpy.float32) gives numbers as float32, packed() the stored bytes"
        raise TypeError(f"torch has no type for {dtype.name}; {advice} of packed elements")
    # NumPy and torch both have the type, but cannot exchange it. So they exchange bytes.
    array = tensor.numpy(writable=True)
    data = torch.from_numpy(array.reshape(-1).view(np.uint8))
    return data.view(torch_dtype).reshape(array.shape)


def to_torch_tensors(
    initializers: Initializers, names: Sequence[str] | str | None, device: Any, dtype: Any
) -> dict[str, Any]:
    """See `Model.torch`."""
    if dtype is not None and not (isinstance(dtype, torch.dtype) and dtype.is_floating_point):
        raise TypeError(f"dtype must be a floating-point type of torch, not {dtype!r}")
    tensors = {}
    for name in initializers._selected(names):
        made = to_torch(initializers[name])
        is_converted = dtype is not None and made.is_floating_point()
        tensors[name] = made.to(device=device, dtype=dtype if is_converted else None)
    return tensors
