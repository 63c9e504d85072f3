"""What reads models: arrays, streams, statistics, checks, checksums, differences."""

from __future__ import annotations

from typing import TYPE_CHECKING

from onnxmap._base.later import import_module

if TYPE_CHECKING:
    from onnxmap._read import bulk_arrays, checks, checksums, stats

__all__ = ["bulk_arrays", "checks", "checksums", "stats"]  # imported at their first use


def __getattr__(name: str) -> object:
    if name in __all__:
        return import_module(f"onnxmap._read.{name}")
    raise AttributeError(name)
