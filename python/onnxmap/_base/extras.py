"""Packages that onnxmap needs for some calls only."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator


@contextmanager
def extra(name: str) -> Iterator[None]:
    """Let the error of a package that is missing say which extra of onnxmap installs it.

    Example:
        >>> with extra("torch"):
        ...     import torch  # doctest: +SKIP
    """
    try:
        yield
    except ModuleNotFoundError as error:
        advice = f"{error}; pip install 'onnxmap[{name}]'"
        raise ModuleNotFoundError(advice, name=error.name, path=error.path) from None
