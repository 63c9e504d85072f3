"""Completion in IPython and Jupyter."""

from __future__ import annotations

import sys
from contextlib import suppress

from onnxmap._base.later import import_module
from onnxmap._core import (
    AttributeMapping,
    Graph,
    Initializers,
    OperatorSet,
    OpsetMapping,
    SparseInitializers,
    StringMapping,
)

# Reading a property or an item of these only reads the file. The classes of the core are left out:
# IPython puts the methods of a class into a set, and those of pybind11 have no hash.
_READ_ATTRIBUTES = (Graph, OperatorSet)
_READ_ITEMS = (
    Initializers, SparseInitializers, AttributeMapping, OpsetMapping, StringMapping,
)  # fmt: skip


def let_ipython_complete(model: type) -> None:
    """Let IPython, if it is imported, read properties and items of models to complete what follows.

    `model` is the class Model.

    To complete `model.initializers["`, IPython evaluates `model.initializers`. By default it reads
    no properties of classes that it does not know, since they could change something. IPython has
    no public call to name more classes, so a version without these sets is left alone.
    """
    if "IPython" not in sys.modules:
        return
    with suppress(ImportError, LookupError, AttributeError, TypeError):
        policy = import_module("IPython.core.guarded_eval").EVALUATION_POLICIES["limited"]
        policy.allowed_getattr.update((model, *_READ_ATTRIBUTES))
        policy.allowed_getitem.update(_READ_ITEMS)
