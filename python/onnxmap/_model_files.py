"""Tells which files may be models, whatever they are called, and what data files they name."""

from __future__ import annotations

import os
import re

from onnxmap import _core
from onnxmap._options import Options
from onnxmap._text_heads import looks_like_json_model, looks_like_text_model
from onnxmap.errors import OnnxMapError, ParseError

MODEL_SUFFIX = ".onnx"
_IN_PROGRESS = (".onnxmap-tmp", ".onnxmap-old")  # files of a save that goes on, or was killed
_HEAD_BYTES = 4096
_CHUNK_BYTES = 1 << 20
_EXTERNAL_DATA = re.compile(rb"external_data|externalData")
# How protobuf writes a model: the field ir_version, which every valid model has, and the next tag.
# Weights hardly ever begin so. A model in onnx's own text, which onnxmap does not read, has <.
_OTHER_FIELD = rb'[\x12\x1a"(2:Br\xa2\xca\xd2]'
_FIRST_FIELD = re.compile(rb"\x08[\x01-\x7f]" + _OTHER_FIELD + rb"|\s*<\s*ir_version\b")
# Others may write any field first. Weights begin so now and then.
_KNOWN_FIELD = re.compile(rb"\x08|" + _OTHER_FIELD)


def is_model(path: str) -> bool:
    """Return whether a file can be read as a model in binary form."""
    try:
        _opened(path)
    except (OnnxMapError, OSError):
        return False
    return True


def external_paths(model: str) -> list[str]:
    """Return the paths that the external data of a model file name. It may be a text.

    Raises:
        OnnxMapError: the file is not a model.
        OSError: it cannot be read.
        ImportError: it is a text, and protobuf is not installed.
    """
    try:
        locations = _core.external_locations(_opened(model))
    except ParseError as error:
        in_text = None if error.code == "model.not_regular" else _locations_in_text(model)
        if in_text is None:
            raise
        locations = in_text
    folder = os.path.dirname(os.fsencode(model))
    return [os.fsdecode(os.path.join(folder, each)) for each in locations]


def names_of_models(folder: str, *, all_names: bool) -> list[str]:
    """Return the names of `*.onnx` files in a folder.

    With `all_names`, also of other regular files that may be models by how they begin, or that are
    models with data files.
    """
    try:
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError:
        return []
    try:
        with os.scandir(descriptor) as entries:
            return sorted(
                each.name
                for each in entries
                if _is_named(each.name) or (all_names and _may_be_model(each, folder, descriptor))
            )
    except OSError:
        return []
    finally:
        os.close(descriptor)


def is_likely_model(path: str) -> bool:
    """Return whether a file that cannot be read as a model may be one all the same."""
    if _is_named(path):
        return True
    try:
        return _begins_as_model(_head(path))
    except OSError:
        return True


def _is_named(path: str) -> bool:
    return path.lower().endswith(MODEL_SUFFIX)


def _may_be_model(entry: os.DirEntry[str], folder: str, descriptor: int) -> bool:
    if entry.name.endswith(_IN_PROGRESS):
        return False
    try:
        if not entry.is_file():
            return False
        head = _head(entry.name, descriptor)
    except FileNotFoundError:
        return False
    except OSError:  # nobody knows
        return True
    if _begins_as_model(head):
        return True
    # Other bytes may read as a model by chance, but not as one with data files.
    return _KNOWN_FIELD.match(head) is not None and _has_data(os.path.join(folder, entry.name))


def _has_data(path: str) -> bool:
    try:
        return bool(external_paths(path))
    except (OnnxMapError, OSError, ImportError):
        return False


def _head(path: str, folder: int | None = None) -> bytes:
    flags = os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC
    descriptor = os.open(path, flags, dir_fd=folder)
    try:
        return os.read(descriptor, _HEAD_BYTES)
    finally:
        os.close(descriptor)


def _begins_as_model(head: bytes) -> bool:
    return _FIRST_FIELD.match(head) is not None or _looks_like_text(head)


def _looks_like_text(head: bytes) -> bool:
    return looks_like_json_model(head) or looks_like_text_model(head)


def _opened(model: str) -> _core.Document:
    name = os.fsencode(model)
    folder = os.path.dirname(name)
    # `load` would refuse a view of a file that has changed.
    return _core.load_file(name, "ModelProto", Options(check="lazy"), folder, folder)


def _occurs(pattern: re.Pattern[bytes], path: str) -> bool:
    """Whether something short is in a file, which may be one line of gigabytes."""
    end = b""
    with open(path, "rb") as file:
        while chunk := file.read(_CHUNK_BYTES):
            if pattern.search(end + chunk):
                return True
            end = chunk[-_HEAD_BYTES:]
    return False


def _locations_in_text(model: str) -> list[bytes] | None:
    """The locations in a text form of a model; None if the file does not look like one."""
    if not _looks_like_text(_head(model)):
        return None
    # No need to parse a text without the field, in either form.
    if not _occurs(_EXTERNAL_DATA, model):
        return []
    from onnxmap._model_texts import bytes_of_text_file

    found = bytes_of_text_file(os.fsencode(model))
    if found is None:
        return None
    return _core.external_locations(_core.load_buffer(found[0], "ModelProto", Options(), b""))
