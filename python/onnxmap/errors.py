"""The errors of onnxmap. Each has a stable `code`, and derives from a matching built-in class."""

from __future__ import annotations

import errno
import sys
from collections.abc import Sequence


class OnnxMapError(Exception):
    """Base of all errors that onnxmap raises about its input.

    Attributes:
        code: the stable name of the cause, like `wire.truncated`.
    """

    _fields: tuple[str, ...] = ("code",)
    code: str = ""

    def __init__(self, message: str = "", **fields: object) -> None:
        self._set_fields(fields)
        super().__init__(message)

    def _set_fields(self, fields: dict[str, object]) -> None:
        unknown = fields.keys() - set(self._fields)
        if unknown:
            raise TypeError(f"{type(self).__name__} has no field {min(unknown)!r}")
        for name, value in fields.items():
            setattr(self, name, value)

    def _message(self) -> str:
        return str(self.args[0]) if self.args else ""

    def __reduce__(self) -> tuple[object, ...]:
        fields = {name: getattr(self, name) for name in self._fields}
        return _rebuild, (type(self), self._message(), fields)


class ParseError(OnnxMapError, ValueError):
    """The bytes of a file are malformed: `wire.*` and `model.*`.

    Attributes:
        offset: the offset in the file, in bytes, where the bad item starts; or None.
        path: the path of the field, like `graph.initializer[3].dims`.
    """

    _fields = ("code", "offset", "path")
    offset: int | None = None
    path: str = ""


class LimitError(OnnxMapError, ValueError):
    """A limit of `Limits` is exceeded (`limit.*`); the message says how to raise it."""

    _fields: tuple[str, ...] = ("code", "offset", "path")
    offset: int | None = None
    path: str = ""


class TensorError(OnnxMapError, ValueError):
    """A tensor's type, shape and data do not agree: `tensor.*`.

    Attributes:
        tensor: the tensor's name, or the path to one without a name.
    """

    _fields = ("code", "tensor")
    tensor: str = ""


class SessionError(OnnxMapError, RuntimeError):
    """onnxruntime makes no session of a model: `session.*`."""


class UnknownNameError(OnnxMapError, KeyError):
    """Nothing has the name that was asked for; the message suggests names that exist.

    Attributes:
        name: what was asked for.
        nearest: up to three names that exist, the one that is most like `name` first.
    """

    _fields = ("code", "name", "nearest")
    name: object = None
    nearest: Sequence[str] = ()

    __str__ = OnnxMapError._message  # KeyError's shows the message in quotes


class EditError(OnnxMapError, ValueError):
    """A model cannot be changed like that: `edit.*`."""


class TensorWarning(UserWarning):
    """A tensor is wrong, and `lenient=True` read it as onnx does."""


class RepeatedKeyWarning(UserWarning):
    """A mapping lacks a value of the file, because a key occurs more than once there."""


class ExternalDataError(OnnxMapError, ValueError):
    """External data cannot be read: `ext.*`.

    Attributes:
        tensor: the tensor's name, or the path to one without a name.
        location: the location as the model spells it.
    """

    _fields: tuple[str, ...] = ("code", "tensor", "location")
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
        self._set_fields(fields)
        OSError.__init__(self, self._errno, message)

    def _message(self) -> str:
        return self.strerror or ""

    def __str__(self) -> str:
        return self._message()

    __reduce__ = OnnxMapError.__reduce__


class MissingDataError(_SystemError, FileNotFoundError, ExternalDataError):
    """The external file does not exist: `ext.missing`."""

    _errno = errno.ENOENT
    _fields = ("code", "tensor", "location", "filename")


class DataPermissionError(_SystemError, PermissionError, ExternalDataError):
    """The external file may not be read: `ext.permission`."""

    _errno = errno.EACCES
    _fields = ("code", "tensor", "location", "filename")


class FileChangedError(_SystemError):
    """A file changed after it was opened, or after a tensor in it was pickled: `file.changed`.

    Attributes:
        path: the path of that file.
    """

    _errno = errno.ESTALE
    _fields = ("code", "path", "filename")
    path: str = ""


class TransferTimeoutError(_SystemError, TimeoutError, LimitError):
    """A server took too long (`limit.timeout`) or sent too slowly (`limit.low_speed`)."""

    _errno = errno.ETIMEDOUT
    _fields = ("code", "offset", "path", "filename")


class SaveError(OnnxMapError, ValueError):
    """A model cannot be saved with these options: `save.*`."""


class CheckError(OnnxMapError, ValueError):
    """A check found something wrong: `check.failed`.

    Attributes:
        report: the CheckReport.
    """

    _fields = ("code", "report")
    report: object = None


_CLASS_OF_CODE: dict[str, type[OnnxMapError]] = {
    "ext.unsafe_path": UnsafePathError,
    "ext.checksum": ChecksumError,
    "ext.missing": MissingDataError,
    "ext.permission": DataPermissionError,
}
_CLASS_OF_FAMILY: dict[str, type[OnnxMapError]] = {
    "wire": ParseError,
    "model": ParseError,
    "limit": LimitError,
    "tensor": TensorError,
    "edit": EditError,
    "ext": ExternalDataError,
    "file": FileChangedError,
    "save": SaveError,
    "check": CheckError,
}


def _rebuild(cls: type[OnnxMapError], message: str, fields: dict[str, object]) -> OnnxMapError:
    return cls(message, **fields)


def warn_overlooked(message: str) -> None:
    """Warn that a tensor is wrong but was read."""
    _warn(message, TensorWarning)


def warn_repeated(field: str, key: object, whole: str = "") -> None:
    """Warn that a mapping of a field has only the last value of a key.

    Args:
        field: the name of the field.
        key: the key that is repeated.
        whole: what has all values; by default the field of `.proto`.
    """
    text = f"{key!r} occurs more than once; the last one counts"
    _warn(f"{field}: {text}, and {whole or f'.proto.{field}'} has all", RepeatedKeyWarning)


def _warn(message: str, category: type[Warning]) -> None:
    """Warn with the line of the user's program that called the package."""
    import warnings

    between = (__name__.partition(".")[0], "collections")  # which has methods of our mappings
    level, frame = 1, sys._getframe()
    while frame.f_back and frame.f_globals.get("__name__", "").partition(".")[0] in between:
        level, frame = level + 1, frame.f_back
    warnings.warn(printable(message), category, stacklevel=level)


def printable(message: str) -> str:
    """Return the message with the characters escaped that could control a terminal."""
    return "".join(c if c.isprintable() else ascii(c)[1:-1] for c in message)


def make_error(
    code: str, message: str, offset: int | None, path: str, file: str, tensor: str, location: str
) -> OnnxMapError:
    """Return the exception for an error of the C++ core."""
    cls = _CLASS_OF_CODE.get(code) or _CLASS_OF_FAMILY[code.partition(".")[0]]
    known = {
        "code": code,
        "offset": offset,
        "path": file if issubclass(cls, FileChangedError) else path,
        "filename": file or None,
        "tensor": tensor,
        "location": location,
    }
    return cls(printable(message), **{name: known[name] for name in cls._fields if name in known})
