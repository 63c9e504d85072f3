"""The forms of model files: protobuf's binary form, its text format, and its JSON."""

from __future__ import annotations

import os
from typing import Literal

from onnxmap.errors import REMEDIES, SaveError

FileForm = Literal["protobuf", "textproto", "json"]

BINARY: FileForm = "protobuf"
FORMS: tuple[FileForm, ...] = ("protobuf", "textproto", "json")
# None: a form that only onnx knows. Source: onnx.serialization.
_BY_EXTENSION: dict[str, FileForm | None] = {
    ".onnx": "protobuf", ".pb": "protobuf",
    ".textproto": "textproto", ".txtpb": "textproto", ".prototxt": "textproto",
    ".pbtxt": "textproto",
    ".json": "json", ".onnxjson": "json",
    ".onnxtxt": None, ".onnxtext": None,
}  # fmt: skip
# Files of weights alone. They have no graph, and their readers refuse a model of such a name.
OF_WEIGHTS = (".safetensors", ".safetensors.index.json", ".npz", ".npy")


def form_of(path: bytes, given: FileForm | None, source: FileForm) -> FileForm:
    """Return the form in which a model is saved to a path.

    Args:
        path: the path. Its extension decides, unless a form is given.
        given: the form that the caller wants, or None.
        source: the form that the model was loaded from, which an unknown extension leaves.

    Raises:
        SaveError: the extension is that of a file of weights, or of a form that only onnx knows.
    """
    if given is not None:
        return given
    check_not_weights(path)
    extension = os.path.splitext(os.fsdecode(path))[1]
    form = _BY_EXTENSION.get(extension.lower(), source)
    if form is not None:
        return form
    text = f"{extension} is the extension of onnx's own text, which onnxmap does not write"
    raise SaveError(text, code="save.format", remedy=REMEDIES["format"])


def check_not_weights(path: bytes) -> None:
    """Raise SaveError if the name of a new model or message is that of a file of weights."""
    name = os.fsdecode(os.path.basename(path))
    if name.lower().endswith(OF_WEIGHTS):
        text = f"{name!r} is the name of a file of weights, which cannot hold a graph"
        raise SaveError(text, code="save.format", remedy=REMEDIES["weights"])


def check_form(given: object) -> None:
    """Raise ValueError if a caller wants a form that does not exist."""
    if given is not None and given not in FORMS:
        names = ", ".join(map(repr, FORMS))
        raise ValueError(f"format must be one of {names}, or None, not {given!r}")
