"""The errors of onnxmap. Each has a stable `code`, and derives from a matching built-in class."""

from __future__ import annotations

import errno
import sys
import warnings
from collections.abc import Sequence
from typing import NamedTuple


class Remedy(NamedTuple):
    """What to do about an error. `str()` is the advice with the arguments in it.

    Attributes:
        advice: a sentence, with `{}` for each argument.
        arguments: names and values of arguments of `load` or `save`. If the value is `...`, it
            is for you to fill in.
    """

    advice: str
    arguments: tuple[tuple[str, object], ...]

    def __str__(self) -> str:
        def told(value: object) -> object:
            return "..." if value is ... else f'"{value}"' if isinstance(value, str) else value

        return self.advice.format(*(f"{name}={told(value)}" for name, value in self.arguments))


class OnnxMapError(Exception):
    """Base of all errors that onnxmap raises about its input.

    Attributes:
        code: the stable name of the cause, like `wire.truncated`.
        remedy: arguments of `load` or `save` that help, a Remedy; or None.
    """

    code: str = ""
    remedy: Remedy | None = None

    def __init__(self, message: str = "", **fields: object) -> None:
        super().__init__(message)
        self._set_fields(fields)

    def _set_fields(self, fields: dict[str, object]) -> None:
        for name, value in fields.items():
            if not hasattr(type(self), name):
                raise TypeError(f"{type(self).__name__} has no field {name!r}")
            setattr(self, name, value)

    @property
    def message(self) -> str:
        """The text of the error without the remedy."""
        return str(self.args[-1]) if self.args else ""

    def __str__(self) -> str:
        return self.message if self.remedy is None else f"{self.message}; {self.remedy}"


class ParseError(OnnxMapError, ValueError):
    """The bytes of a file are malformed: `wire.*` and `model.*`.

    Attributes:
        offset: the offset in the file, in bytes, where the bad item starts; or None.
        path: the path of the field, like `graph.initializer[3].dims`.
    """

    offset: int | None = None
    path: str = ""


class LimitError(OnnxMapError, ValueError):
    """A limit of `Limits` is exceeded (`limit.*`); the message says how to raise it.

    Attributes:
        offset: the offset in the file, in bytes, where the limit is exceeded; or None.
        path: the path of the field, like `graph.initializer[3].dims`.
    """

    offset: int | None = None
    path: str = ""


class TensorError(OnnxMapError, ValueError):
    """A tensor's type, shape and data do not agree: `tensor.*`.

    Attributes:
        tensor: the tensor's name, or the path to one without a name.
    """

    tensor: str = ""


class SessionError(OnnxMapError, RuntimeError):
    """onnxruntime could not create a session for the model: `session.*`."""


class UnknownNameError(OnnxMapError, KeyError):
    """Nothing has the name that was asked for; the message suggests names that exist.

    Attributes:
        name: what was asked for.
        nearest: up to three names that exist, the one that is most like `name` first.
    """

    name: object = None
    nearest: Sequence[str] = ()

    __str__ = OnnxMapError.__str__  # KeyError's shows the message in quotes


class EditError(OnnxMapError, ValueError):
    """A model cannot be changed like that: `edit.*`."""


class TensorWarning(UserWarning):
    """An invalid tensor was read as onnx does (`lenient=True`), or a value has another type now.

    Or a member of an `.npz` archive is no array.
    """


class RepeatedKeyWarning(UserWarning):
    """A key occurs more than once in the file, and a mapping shows only its last value."""


class ExternalDataError(OnnxMapError, ValueError):
    """External data cannot be read: `ext.*`.

    Attributes:
        tensor: the tensor's name, or the path to one without a name.
        location: the location as the model spells it.
    """

    tensor: str = ""
    location: str = ""


class UnsafePathError(ExternalDataError):
    """An external location leads out of the model's folder: `ext.unsafe_path`."""


class ChecksumError(ExternalDataError):
    """External data differ from their declared SHA-1: `ext.checksum`."""


# OSError comes first in the bases of these classes: with ValueError first, `errno` stays None.
# The constructor of OSError takes no fields, so this one sets both sides.
class _SystemError(OSError, OnnxMapError):
    _errno = 0

    def __init__(self, message: str = "", **fields: object) -> None:
        OSError.__init__(self, self._errno, message)
        self._set_fields(fields)

    __str__ = OnnxMapError.__str__

    def __reduce__(self) -> tuple[object, ...]:
        return type(self), (self.message,), {"filename": self.filename, **vars(self)}


class MissingDataError(_SystemError, FileNotFoundError, ExternalDataError):
    """The external file does not exist: `ext.missing`."""

    _errno = errno.ENOENT


class DataPermissionError(_SystemError, PermissionError, ExternalDataError):
    """The external file may not be read: `ext.permission`."""

    _errno = errno.EACCES


class FileChangedError(_SystemError):
    """A file changed after it was opened, or after a tensor in it was pickled: `file.changed`.

    Attributes:
        path: the path of that file.
    """

    _errno = errno.ESTALE
    code = "file.changed"
    path: str = ""


class TransferTimeoutError(_SystemError, TimeoutError, LimitError):
    """A server took too long (`limit.timeout`) or sent too slowly (`limit.low_speed`)."""

    _errno = errno.ETIMEDOUT


class SaveError(OnnxMapError, ValueError):
    """A model cannot be saved with these options: `save.*`."""


class CheckError(OnnxMapError, ValueError):
    """A check found something wrong: `check.failed`.

    Attributes:
        report: the CheckReport.
    """

    report: object = None


# Errors of the core name a remedy by its key.
REMEDIES = {
    "contained": Remedy(
        "{} follows links that stay in the folder", (("link_policy", "contained"),)
    ),
    "format": Remedy("use another one, or pass {}", (("format", "protobuf"),)),
    "hard_links": Remedy("{} reads it", (("allow_hardlinks", True),)),
    "root": Remedy("name it with {}", (("external_root", ...),)),
    "attributes": Remedy("{} takes them as they are", (("attributes", True),)),
    "trusted": Remedy("{} follows it", (("link_policy", "trusted"),)),
    "loss": Remedy("{} writes them as infinity, the largest number or 0", (("allow_loss", True),)),
    "over_2gib": Remedy(
        "put the weights into a data file with {}, or pass {}",
        (("external_data", "weights.data"), ("allow_over_2gib", True)),
    ),
    "weights": Remedy('model.extract_weights("w.safetensors") writes one', ()),
    "view": Remedy("load that file, and save the view again with {}", (("external_data", "view"),)),
}
# By the code, or by the part before its dot.
_CLASSES: dict[str, type[OnnxMapError]] = {
    "ext.unsafe_path": UnsafePathError, "ext.checksum": ChecksumError,
    "ext.missing": MissingDataError, "ext.permission": DataPermissionError,
    "wire": ParseError, "model": ParseError, "limit": LimitError, "tensor": TensorError,
    "edit": EditError, "ext": ExternalDataError, "file": FileChangedError, "save": SaveError,
    "check": CheckError, "name": UnknownNameError,
}  # fmt: skip


def warn(category: str, message: str) -> None:
    """Warn with the line of the user's program that called the package.

    Args:
        category: the name of a class of this module.
        message: the text, which may have any characters.
    """
    between = (__name__.partition(".")[0], "collections")  # which has methods of our mappings
    level, frame = 1, sys._getframe()
    while frame.f_back and frame.f_globals.get("__name__", "").partition(".")[0] in between:
        level, frame = level + 1, frame.f_back
    warnings.warn(printable(message), globals()[category], stacklevel=level)


def printable(text: str) -> str:
    r"""Return `text` with characters escaped that could control a terminal: `\n`, `\x1b`, `\u202e`.

    Characters that `str.isprintable` accepts stay unchanged. The others are control and format
    characters (which could hide or reorder text), other line ends, and bytes that are not UTF-8.
    """
    if text.isprintable():
        return text
    return "".join(char if char.isprintable() else _written_out(char) for char in text)


def _written_out(char: str) -> str:
    # Bytes that are not UTF-8 become lone surrogates (PEP 383).
    is_byte = "\udc80" <= char <= "\udcff"
    return f"\\x{ord(char) - 0xDC00:02x}" if is_byte else ascii(char)[1:-1]


def make_error(
    code: str,
    message: str,
    offset: int | None,
    path: str,
    file: str,
    tensor: str,
    location: str,
    remedy: str = "",
) -> OnnxMapError:
    """Return the exception for an error of the C++ core."""
    cls = _CLASSES.get(code) or _CLASSES[code.partition(".")[0]]
    known = {
        "code": code, "offset": offset, "tensor": tensor, "location": location,
        "filename": file or None, "path": file if issubclass(cls, FileChangedError) else path,
    }  # fmt: skip
    fields = {name: value for name, value in known.items() if hasattr(cls, name)}
    return cls(printable(message), remedy=REMEDIES[remedy] if remedy else None, **fields)
