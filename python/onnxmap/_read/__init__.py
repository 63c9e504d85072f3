"""What reads models: arrays, streams, statistics, checks, checksums, differences."""

from __future__ import annotations

from typing import Any

from onnxmap._base.later import import_module

# Imported at their first use. The files of URLs cost import time: asyncio.
_LATER = {
    "bulk_arrays": "onnxmap._read.bulk_arrays", "checks": "onnxmap._read.checks",
    "checksums": "onnxmap._read.checksums", "stats": "onnxmap._read.stats",
    "remote_files": "onnxmap._remote.files",
}  # fmt: skip


def __getattr__(name: str) -> Any:
    if name in _LATER:
        return import_module(_LATER[name])
    raise AttributeError(name)
