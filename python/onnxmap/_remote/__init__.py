"""Files behind URLs: `https://`, `s3://`, `memory://` and all others that fsspec reads."""

from __future__ import annotations

from typing import TYPE_CHECKING

from onnxmap._base.later import import_module

if TYPE_CHECKING:
    from onnxmap._remote import files

__all__ = ["files"]  # imported at its first use: asyncio takes time


def __getattr__(name: str) -> object:
    if name in __all__:
        return import_module(f"onnxmap._remote.{name}")
    raise AttributeError(name)
