"""An example of a rule: a change to a small model that breaks the rule, and one that keeps it."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from dataclasses import InitVar, dataclass, field
from pathlib import Path

from google.protobuf import text_format
from google.protobuf.message import Message
from onnx import ModelProto, OperatorSetProto

SMALL = """\
ir_version: 10
opset_import { version: 21 }
graph {
  name: "small"
  input { name: "x" type { tensor_type { elem_type: 1 shape { } } } }
  node { op_type: "Relu" input: "x" output: "y" }
  output { name: "y" type { tensor_type { elem_type: 1 shape { } } } }
}
"""
SMALL_SET = """\
magic: "ONNXOPSET"
ir_version: 10
domain: "org.example"
opset_version: 2
"""
PLACE = re.compile("«([^|»]*)[|]([^»]*)»")
WHOLE = ""  # the base of an example that is a whole model

MODEL_FILE = "model.onnx"
LATIN = b"(latin1)"  # in an example, it stands for these bytes, which are not UTF-8
NOT_UTF8 = b"\xe9" * len(LATIN)
Prepare = Callable[[Path], None]  # puts something other than a file at the path


@dataclass(frozen=True)
class StandIn:
    """A field of the same form that stands for another one, until the bytes are there."""

    meant: str
    written: str
    meant_key: bytes  # the field's tag
    written_key: bytes
    content: bytes


@dataclass(frozen=True)
class Example:
    """Both texts are in the text format of protobuf, and are merged into `base`.

    A text without a graph stands for a model without one. If the two texts differ in few places,
    they are written once, as `text`: «a|b» is a in the broken one, and b in the kept one.
    """

    rule: str
    where: str  # the path at which the finding is
    broken: str = ""
    kept: str = ""
    text: InitVar[str] = ""
    base: str = SMALL
    files: Mapping[str, bytes | Prepare] = field(default_factory=dict)  # beside the model
    kept_files: Mapping[str, bytes | Prepare] | None = None  # those of `kept`, if others
    in_memory: bool = False  # whether the broken model is loaded from bytes
    values: bool = False  # whether values must be read
    also: tuple[tuple[str, str], ...] = ()  # findings that cannot be avoided, and `why`
    why: str = ""
    needs_user: bool = False  # whether root is not affected
    stand_in: StandIn | None = None  # for what the text format refuses

    def __post_init__(self, text: str) -> None:
        if text:
            assert PLACE.search(text)
            assert not self.broken
            assert not self.kept
            object.__setattr__(self, "broken", PLACE.sub(r"\1", text))
            object.__setattr__(self, "kept", PLACE.sub(r"\2", text))

    @property
    def is_operator_set(self) -> bool:
        return self.base == SMALL_SET

    @property
    def is_runnable(self) -> bool:
        return not self.needs_user or os.geteuid() != 0

    def message(self, text: str) -> Message:
        """Return the base after merging a text into it."""
        made: Message = OperatorSetProto() if self.is_operator_set else ModelProto()
        text_format.Merge(self.base, made)
        text_format.Merge(text, made)
        return made

    def broken_bytes(self) -> bytes:
        """Return the file of the broken model."""
        other = self.stand_in
        if other is None:
            return self.message(self.broken).SerializeToString().replace(LATIN, NOT_UTF8)
        assert self.broken.count(other.meant) == 1
        text = self.broken.replace(other.meant, other.written)
        data = self.message(text).SerializeToString()
        assert data.count(other.written_key + other.content) == 1
        return data.replace(other.written_key + other.content, other.meant_key + other.content)

    def write_files(self, folder: Path, is_broken: bool) -> None:
        """Put the files of the example into a folder."""
        files = self.files if is_broken or self.kept_files is None else self.kept_files
        for name, content in files.items():
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            if isinstance(content, bytes):
                path.write_bytes(content)
            else:
                content(path)
