"""Counts the bytes that processes of a Dask cluster send. Its workers import this module."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from distributed.comm.tcp import TCP

sent = 0


def count_sent_bytes() -> None:
    """Count from now on in this process."""
    global sent
    sent = 0
    if TCP.write.__name__ != "counting":
        TCP.write = counting(TCP.write)


def counting(write: Any) -> Any:
    async def counting(self: TCP, *arguments: Any, **options: Any) -> Any:
        global sent
        nbytes = await write(self, *arguments, **options)
        sent += nbytes
        return nbytes

    return counting


def sent_bytes() -> int:
    return sent


def opened_tensors() -> tuple[int, int]:
    """How many tensors this process opened for Dask, and how many it had open already."""
    from onnxmap.interop.dask import _opened

    return _opened.cache_info().misses, _opened.cache_info().hits


def mapped_files() -> list[str]:
    maps = Path("/proc/self/maps").read_text().splitlines()
    return [line.split()[-1] for line in maps if line.endswith(".onnx")]
