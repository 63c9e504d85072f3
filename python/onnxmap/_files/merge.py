"""`onnxmap.merge`: two models as one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from onnxmap import _core
from onnxmap._model import Model

if TYPE_CHECKING:
    from collections.abc import Mapping


def merge(
    a: Model, b: Model, connect: Mapping[str, str] | None = None, prefix: str | None = None
) -> Model:
    """Return a model that runs `a`, then `b`, with the weights of both by reference.

    Its inputs and outputs are those of both, `a`'s first, without the connected ones. Everything
    else about the model is `a`'s; what only `b` has, such as functions, imports and metadata, comes
    along. The files of both must stay as they are until the model is saved.

    Args:
        a: a model.
        b: another one.
        connect: inputs of `b` by the outputs of `a` that they become. An input that is connected
            loses its default.
        prefix: what to put before the names of `b`'s values and nodes, those of subgraphs included.

    Returns:
        A model that is edited: `revert()` leaves nothing of it.

    Raises:
        KeyError: there is no such output or input.
        ValueError: the models contradict each other. Both have a value or node of one name: give a
            prefix. They import two versions of a domain: call `convert_version` on one before. They
            have different functions, metadata or device configurations of one name. A connection
            has two types, or `b` has training information.

    Example:
        >>> both = onnxmap.merge(encoder, decoder, {"hidden": "states"}, prefix="decoder/")
        ... # doctest: +SKIP
    """
    for model in (a, b):
        if not isinstance(model, Model):
            raise TypeError(f"merge takes Models, not {type(model).__name__}")
    made = _core.merge(a._open(), b._open(), list((connect or {}).items()), prefix or "")
    return a._with(made)
