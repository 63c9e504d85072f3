"""Registers how models and messages are pickled. `pickled_models.py` does it."""

from __future__ import annotations

import copyreg
from typing import Any

from onnxmap import _core
from onnxmap._base.later import import_module
from onnxmap._files.model import Model


def _reduce(thing: Any) -> Any:
    pickled_models = import_module("onnxmap._files.pickled_models")  # most programs pickle nothing
    if isinstance(thing, Model):
        return pickled_models.reduce_model(thing)
    return pickled_models.reduce_message(thing)


# All messages but models, and tensors, which have a method for it.
_MESSAGES = {cls for cls in vars(_core).values() if isinstance(cls, type) and hasattr(cls, "proto")}
_MESSAGES = {_core.ProtoView, *_MESSAGES} - {_core.Document, _core.Tensor}
for _class in (Model, *_MESSAGES):
    copyreg.pickle(_class, _reduce)
