"""The checks of a model."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from onnxmap import _core
    from onnxmap._checking import CheckReport


class ModelChecking(ABC):
    """The checks of a model."""

    __slots__ = ()

    @abstractmethod
    def _open(self) -> _core.Document:
        """The document; an error if the model is closed."""

    def check(
        self,
        *,
        values: bool = False,
        strict: bool = False,
        operators: bool = False,
        select: Iterable[str] | str | None = None,
        ignore: Iterable[str] | str | None = None,
    ) -> CheckReport:
        """Check the model, edits included, against the rules of the ONNX specification.

        It takes milliseconds, whatever the size of the weights: only the structure is read, and
        the typed fields of tensors of at most 64 KiB. External files are opened, but not read. The
        page "rules" of the documentation explains each rule, with an example that breaks it.

        Args:
            values: also read what only the values of tensors tell: whether bytes of BOOL are 0 or
                1, strings are UTF-8, values fit their type, unused bits are zero, and indices of
                sparse tensors ascend.
            strict: also give advice that many good models do not follow, such as that names are
                identifiers of C.
            operators: also ask `onnx.checker`, with the weights left out, whether the nodes fit the
                signatures of their operators. It stops at the first fault. Needs the extra
                `onnxmap[onnx]`.
            select: the names of the rules to look for, such as `["node.*", "value.cycle"]`. Then
                `strict` has no effect. By default, all rules.
            ignore: the names of rules to leave out.

        Returns:
            All findings, of each rule at most 1 000. `report.ok` is True if none is an error.

        Raises:
            ValueError: no rule has one of the names, `select` names `onnx.checker` alone without
                `operators`, or the model is closed.
            FileChangedError: the file of the model changed since it was loaded.
            OSError: a file cannot be opened, and not for a reason that a rule names.
        """
        from onnxmap import _checking

        document = self._open()
        chosen = _checking.chosen_rules(
            strict=strict, operators=operators, select=select, ignore=ignore
        )
        report = _checking.check_message(document.proto, chosen, values=values)
        if not operators or _checking.OPERATORS.name not in chosen:
            return report
        from onnxmap.interop.official import fault_of_operators

        fault = fault_of_operators(document)
        return report if fault is None else _checking.with_fault_of_operators(report, fault)
