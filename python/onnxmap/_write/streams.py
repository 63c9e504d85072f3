"""Paths that mean a stream of this process, such as `/dev/stdout`."""

from __future__ import annotations

import os
import re
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import BinaryIO

    from onnxmap._base.paths import Path

_MOST_LINKS = 40  # as many as Linux follows
_OWN_DESCRIPTORS = re.compile(rb"/proc/self/(task/[0-9]+/)?fd/|/dev/fd/")


@contextmanager
def own_stream(path: Path) -> Iterator[BinaryIO | None]:
    """Open what a path like `/dev/stdout` or `/dev/fd/3` means: a descriptor of this process.

    None for all other paths, and for a terminal, which takes no bytes of a model. The descriptor
    is written to as it is, at its position: what `> file` or `| program` in a shell expects.
    """
    descriptor = own_descriptor(path)
    if descriptor is None or os.isatty(descriptor):
        yield None
        return
    if descriptor == 1 and sys.stdout is not None:
        sys.stdout.flush()
    with os.fdopen(os.dup(descriptor), "wb", buffering=0) as stream:
        yield stream


def own_descriptor(path: Path) -> int | None:
    """Return the number of the descriptor that a path leads to; None for all other paths."""
    place = os.fsencode(path)
    for _ in range(_MOST_LINKS):
        folder, name = os.path.split(place)
        if name.isdigit() and _OWN_DESCRIPTORS.fullmatch(_without_links(folder)):
            return int(name)
        try:
            place = os.path.join(folder, os.readlink(place))
        except (OSError, ValueError):
            return None
    return None


def _without_links(folder: bytes) -> bytes:
    """The path of a folder, in which this process is called `self`."""
    own = b"/proc/%d/" % os.getpid()
    real = os.path.realpath(folder) + b"/"
    return b"/proc/self/" + real[len(own) :] if real.startswith(own) else real
