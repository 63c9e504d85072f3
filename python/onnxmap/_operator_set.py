"""Operator sets."""

from __future__ import annotations

from typing import TYPE_CHECKING, NoReturn

from onnxmap import _core
from onnxmap._assignments import set_or_explain
from onnxmap._display import describe

if TYPE_CHECKING:
    from collections.abc import Iterable

    from onnxmap._checking import CheckReport

# Source: onnx-operators.proto, OperatorSetProto.magic.
MAGIC = "ONNXOPSET"


class OperatorSet:
    """A set of operators: an OperatorSetProto."""

    __slots__ = ("proto",)

    def __init__(self, proto: _core.ProtoView) -> None:
        self.proto = proto

    def __eq__(self, other: object) -> bool:
        return self.proto == other.proto if isinstance(other, OperatorSet) else NotImplemented

    def __hash__(self) -> int:
        return hash(self.proto)

    @property
    def magic(self) -> str:
        """The text that marks a file of operators: "ONNXOPSET"."""
        return self.proto.magic

    @property
    def ir_version(self) -> int:
        """The version of the ONNX format (IR version)."""
        return self.proto.ir_version

    @property
    def ir_version_prerelease(self) -> str:
        """The prerelease part of the version of the format, as in Semantic Versioning."""
        return self.proto.ir_version_prerelease

    @property
    def ir_build_metadata(self) -> str:
        """The build metadata of the version of the format, as in Semantic Versioning."""
        return self.proto.ir_build_metadata

    @property
    def domain(self) -> str:
        """The domain of the operators, in reverse DNS order."""
        return self.proto.domain

    @property
    def opset_version(self) -> int:
        """The version of the set."""
        return self.proto.opset_version

    @property
    def doc_string(self) -> str:
        """The documentation of the set, in Markdown."""
        return self.proto.doc_string

    @property
    def operators(self) -> _core.MessageList[_core.Operator]:
        """The operators of the set."""
        return _core.friendly(self.proto, "operator")

    @property
    def functions(self) -> _core.MessageList[_core.Function]:
        """The operators of the set that are functions, with their definitions."""
        return _core.friendly(self.proto, "functions")

    def check(
        self,
        *,
        strict: bool = False,
        select: Iterable[str] | str | None = None,
        ignore: Iterable[str] | str | None = None,
    ) -> CheckReport:
        """Check the set against the rules of the ONNX specification; see `Model.check`."""
        from onnxmap._checking import check_message, chosen_rules

        chosen = chosen_rules(strict=strict, select=select, ignore=ignore)
        return check_message(self.proto, chosen)

    if not TYPE_CHECKING:  # a type checker reports a wrong name by itself
        __setattr__ = set_or_explain

        def __getattr__(self, name: str) -> NoReturn:
            from onnxmap._names import missing_attribute

            raise missing_attribute(OperatorSet, "OperatorSetProto", name)

    def __repr__(self) -> str:
        return describe(self)
