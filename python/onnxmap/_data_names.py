"""The names of data files that are copied or moved with a model.

Whoever made the model chose these names, and they must not become files that mean something:
`.bashrc`, `numpy.py`, `Makefile`. A name stays only if it is plainly that of a data file.
"""

from __future__ import annotations

import os
import posixpath
import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

_MODEL_SUFFIX = ".onnx"
_LONGEST_NAME = 255  # bytes
# The extensions that exporters and tools give to files of weights.
_OF_DATA = re.compile(
    r"\.(data|bin|dat|raw|weights?|bias|params|pb|tensors?|safetensors|onnx_data(_[0-9]+)?)",
    re.IGNORECASE,
)


def is_text(location: str) -> bool:
    """Return whether a data file of this name can be read by other programs.

    Protobuf refuses texts that are not UTF-8. A backslash is a separator for some readers.
    """
    return "\\" not in location and not any("\ud800" <= letter <= "\udfff" for letter in location)


def is_plain(location: str, folder: str) -> bool:
    """Return whether a data file may keep its location when it comes into a folder.

    Args:
        location: the location, without `.` and `..`.
        folder: the folder of the new model.
    """
    subfolder, name = posixpath.split(location)
    return (
        _is_data_name(name)
        and not any(part.startswith(".") for part in location.split("/"))
        and os.path.lexists(os.path.join(folder, subfolder))
    )


def names_after(model: str, name: str) -> Iterator[str]:
    """Yield names for a data file that cannot keep its own, the best first.

    Args:
        model: the name of the new model.
        name: the name of the data file, without folders.
    """
    stem = os.path.splitext(model)[0]
    kept = name.lstrip(".")
    if not _OF_DATA.fullmatch(os.path.splitext(kept)[1]):
        kept += ".data"
    if name.lower().endswith(_MODEL_SUFFIX):  # of a view, whose data file is a model itself
        yield f"{model}.data"
    elif _is_data_name(f"{stem}.{kept}"):
        yield f"{stem}.{kept}"
    number = 1
    while True:
        yield f"{model}.data" if number == 1 else f"{model}.{number}.data"
        number += 1


def copied_locations(
    locations: Iterable[str],
    folder: str,
    model: str,
    is_free: Callable[[str], bool] = lambda _: True,
) -> dict[str, str]:
    """Return the new locations of data files that cannot keep theirs in the folder of a new model.

    Args:
        locations: the locations of all data files of the model.
        folder: the folder of the new model.
        model: its name.
        is_free: whether a data file may have a location. By default, the save finds out.
    """
    plain = {each: posixpath.normpath(each) for each in locations}
    kept = {each for each in plain.values() if is_plain(each, folder) and is_free(each)} - {model}
    taken = {model, *kept}
    named: dict[str, str] = {}
    for location in sorted(set(plain.values()) - kept):
        names = names_after(model, posixpath.basename(location))
        named[location] = next(name for name in names if name not in taken and is_free(name))
        taken.add(named[location])
    return {each: named[location] for each, location in plain.items() if location in named}


def _is_data_name(name: str) -> bool:
    return (
        _OF_DATA.fullmatch(os.path.splitext(name)[1]) is not None
        and name.isprintable()
        and is_text(name)
        and ".." not in name  # onnx refuses that anywhere in a location
        and len(os.fsencode(name)) <= _LONGEST_NAME
    )
