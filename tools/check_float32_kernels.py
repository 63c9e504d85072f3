"""Converts all 2^32 float32 codes to float16 and bfloat16; compares with NumPy and ml_dtypes.

    python tools/check_float32_kernels.py           # all codes, all sets of kernels: some minutes
    python tools/check_float32_kernels.py --codes 0x7f800000 0x80000000 --kernels scalar

It stops with status 1 at the first code whose result differs in a bit. It needs 1 GB of memory.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from typing import Any

import ml_dtypes
import numpy as np

import onnxmap
from onnxmap import _core

ALL_CODES = 1 << 32
CODES_AT_ONCE = 1 << 24  # 64 MiB of float32; with copies and results below 300 MB
TARGETS: dict[str, Any] = {"float16": np.float16, "bfloat16": ml_dtypes.bfloat16}

Array = np.ndarray[Any, Any]


def _varint(value: int) -> bytes:
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*out, value])


def tensor_of(codes: Array) -> onnxmap.Tensor:
    """Return a FLOAT tensor with these bits as raw_data, from a model in memory."""
    # A ModelProto with a GraphProto, whose initializer has name "t", data_type, dims and raw_data.
    tensor = b"\x42\x01t\x10\x01\x08" + _varint(codes.size) + b"\x4a" + _varint(codes.nbytes)
    graph = b"\x2a" + _varint(len(tensor) + codes.nbytes) + tensor
    head = b"\x08\x0a\x3a" + _varint(len(graph) + codes.nbytes) + graph
    buffer = np.empty(len(head) + codes.nbytes, np.uint8)
    buffer[: len(head)] = np.frombuffer(head, np.uint8)
    buffer[len(head) :] = codes.view(np.uint8)
    return onnxmap.loads(buffer).initializers["t"]


def first_difference(found: Array, expected: Array) -> int | None:
    """Return the position of the first element whose bits differ, or None."""
    different = found.view(np.uint16) != expected.view(np.uint16)
    return int(different.argmax()) if different.any() else None


def check_piece(begin: int, end: int, kernels: Sequence[str]) -> bool:
    """Return whether the codes from `begin` to `end` are converted right; print one that is not."""
    codes = np.arange(begin, end, dtype=np.uint64).astype(np.uint32)
    tensor = tensor_of(codes)
    for target, dtype in TARGETS.items():
        with np.errstate(all="ignore"):
            expected = codes.view(np.float32).astype(dtype)
        for name in kernels:
            _core.use_kernels(name)
            found = tensor.numpy(dtype=dtype)
            if (at := first_difference(found, expected)) is not None:
                ours, theirs = (int(array.view(np.uint16)[at]) for array in (found, expected))
                print(
                    f"\n{name}: float32 {begin + at:#010x} to {target}: "
                    f"{ours:#06x}, not {theirs:#06x}",
                    file=sys.stderr,
                )
                return False
    return True


def _number(text: str) -> int:
    return int(text, 0)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command and return its exit status."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument(
        "--codes", nargs=2, type=_number, default=(0, ALL_CODES), metavar=("BEGIN", "END"),
        help="check only these codes, without END",
    )  # fmt: skip
    parser.add_argument(
        "--kernels", nargs="+", default=_core.kernel_paths(), choices=_core.kernel_paths()
    )
    options = parser.parse_args(arguments)
    begin, end = options.codes
    if not 0 <= begin < end <= ALL_CODES:
        parser.error("--codes must be 0 <= BEGIN < END <= 2^32")
    started = time.monotonic()
    before = _core.kernels_in_use()
    try:
        for first in range(begin, end, CODES_AT_ONCE):
            last = min(first + CODES_AT_ONCE, end)
            if not check_piece(first, last, options.kernels):
                return 1
            share = (last - begin) / (end - begin)
            seconds = time.monotonic() - started
            print(
                f"\r{share:6.1%} of the codes, {seconds:.0f} s", end="", file=sys.stderr, flush=True
            )
    finally:
        _core.use_kernels(before)
    print(f"\n{end - begin} codes agree in {', '.join(options.kernels)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
