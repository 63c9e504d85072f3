"""The rules of the ONNX specification, and what breaks them in a model."""

from __future__ import annotations

import fnmatch
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, overload

from onnxmap import _core
from onnxmap._base.text import nearest, suggestion
from onnxmap._show.display import describe_html
from onnxmap.errors import CheckError, printable

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    Patterns = Iterable[str] | str | None  # names of rules, which may have wildcards

Severity = Literal["error", "warning", "hint"]

_SEVERITIES: tuple[Severity, ...] = ("error", "warning", "hint")
# The levels of `rules.def`.
_SEVERITY_OF: Mapping[str, Severity] = {"strict": "hint", **{each: each for each in _SEVERITIES}}
# Findings of each rule that a report keeps. The others are counted.
MOST_OF_A_RULE = 1000
# Findings of each rule that a report prints.
_MOST_PRINTED = 10


@dataclass(frozen=True)
class Rule:
    """One rule of the specification.

    Attributes:
        name: its stable name, such as `node.outputs`.
        severity: of a finding: "error" where the specification says MUST or no reader can use the
            model, "warning" where it says SHOULD or readers differ, "hint" for advice.
        strict: whether it is only looked for on request, since many good models break it.
        source: where the specification says so, such as "IR.md, Nodes".
        text: the rule, in a sentence.
        advice: what to do if a model breaks it.
    """

    name: str
    severity: Severity
    strict: bool
    source: str
    text: str
    advice: str


RULES = tuple(
    Rule(name, _SEVERITY_OF[level], level == "strict", *texts)
    for name, level, _, *texts in _core.rules()
)
# The rule of what onnx itself says, which knows the shapes that each operator makes.
OFFICIAL = Rule(
    "onnx.checker", "error", False, "onnx.checker",
    "onnx.checker accepts the model, and so does its inference of types and shapes. It stops at "
    "one fault.",
    "Mend the other errors first, since it may mean one of them.",
)  # fmt: skip
_BY_NAME = {rule.name: rule for rule in (*RULES, OFFICIAL)}
# Those that need to know what nodes call.
_OF_OPERATORS = (
    "operator.*", "value.type", "value.shape", "*.unused", "*_import_unused", "*.opset_version",
    "function.opset_import",
)  # fmt: skip


@dataclass(frozen=True)
class Finding:
    """A place where a model breaks a rule.

    Attributes:
        severity: "error", "warning" or "hint"; see `Rule`.
        rule: the name of the rule, such as `node.outputs`.
        where: the path of the message from the model, such as `graph.node[3].attribute["axis"]`;
            empty for the model itself.
        message: what is wrong.
    """

    severity: Severity
    rule: str
    where: str
    message: str

    @property
    def advice(self) -> str:
        """What to do, in a sentence."""
        return _BY_NAME[self.rule].advice

    @property
    def source(self) -> str:
        """Where the specification has the rule, such as "IR.md, Nodes"."""
        return _BY_NAME[self.rule].source

    @property
    def text(self) -> str:
        """The rule, in a sentence."""
        return _BY_NAME[self.rule].text

    def __str__(self) -> str:
        place = f"{printable(self.where)}: " if self.where else ""
        return f"{place}{printable(self.message)} [{self.rule}]"


@dataclass(frozen=True)
class CheckReport(Sequence[Finding]):
    """What `check` found: a list of Findings. It is empty if no rule is broken.

    Attributes:
        findings: at most 1 000 of each rule, those of one rule in the order of the model.
        counts: how often each rule is broken, by its name, in the order of the rules.
    """

    findings: Sequence[Finding]
    counts: Mapping[str, int] = field(default_factory=dict)
    _headings = ("severity", "rule", "where", "message")
    _repr_html_ = describe_html

    @property
    def ok(self) -> bool:
        """Whether there are no errors. There may be warnings and hints."""
        return not self.errors

    @property
    def errors(self) -> list[Finding]:
        """The findings that are errors."""
        return [each for each in self.findings if each.severity == "error"]

    def raise_if_failed(self) -> None:
        """Raise an error if there are errors.

        Raises:
            CheckError: its message is this report, and `.report` is this report.
        """
        if not self.ok:
            raise CheckError(str(self), code="check.failed", report=self)

    @overload
    def __getitem__(self, index: int) -> Finding: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Finding]: ...
    def __getitem__(self, index: int | slice) -> Finding | Sequence[Finding]:
        return self.findings[index]

    def __len__(self) -> int:
        return len(self.findings)

    def to_dict(self) -> dict[str, Any]:
        """Return the report as what `json.dumps` takes."""
        found = [{**vars(each), "advice": each.advice, "source": each.source} for each in self]
        return {"ok": self.ok, "counts": dict(self.counts), "findings": found}

    def summary(self) -> str:
        """Return how many errors, warnings and hints there are, in words."""
        counts = Counter[str]()
        for rule, count in self.counts.items():
            counts[_BY_NAME[rule].severity] += count
        told = [f"{n} {each}{'s' * (n > 1)}" for each in _SEVERITIES if (n := counts[each])]
        return ", ".join(told) or "no findings"

    def __str__(self) -> str:
        return "\n".join([self.summary(), *self.lines()])

    def __repr__(self) -> str:
        return f"<onnxmap.CheckReport: {self.summary()}>"

    def _rows(self) -> Iterator[tuple[str, ...]]:
        """Yield the cells of a table in a notebook, errors first."""
        for each in sorted(self.findings, key=lambda each: _SEVERITIES.index(each.severity)):
            yield each.severity, each.rule, each.where, each.message

    def lines(self, most: int = _MOST_PRINTED) -> Iterator[str]:
        """Yield the report in lines: rule by rule, errors first, the first findings and the advice.

        Args:
            most: findings of a rule that are printed; one more line counts the others. Of hints,
                one is printed.
        """
        by_rule: dict[str, list[Finding]] = {}
        for each in self.findings:
            by_rule.setdefault(each.rule, []).append(each)
        for name in sorted(by_rule, key=lambda name: _SEVERITIES.index(_BY_NAME[name].severity)):
            rule, found = _BY_NAME[name], by_rule[name]
            printed = found[: 1 if rule.severity == "hint" else most]
            for each in printed:
                place = f" ({printable(each.where)})" if each.where else ""
                yield f"{rule.severity} {name}: {printable(each.message)}{place}"
            if (left := self.counts.get(name, len(found)) - len(printed)) > 0:
                yield f"  and {left} more"
            yield f"  {rule.advice} ({rule.source})"


def with_official_fault(report: CheckReport, fault: str) -> CheckReport:
    """Return a report with what `onnx.checker` says, too."""
    finding = Finding(OFFICIAL.severity, OFFICIAL.name, "", fault)
    return CheckReport((*report, finding), {**report.counts, OFFICIAL.name: 1})


def check_message(
    message: _core.ProtoView, chosen: frozenset[str], *, values: bool = False, folder: str = ""
) -> CheckReport:
    """Look for the chosen rules in a ModelProto or an OperatorSetProto, which must be a root.

    The findings leave out the path of the `folder` of the data files.
    """
    wanted = [rule.name in chosen for rule in RULES]
    found, counts = _core.check_rules(message, wanted, MOST_OF_A_RULE, bool(values))
    broken = ((RULES[rule], where, _without(folder, text)) for rule, where, text in found)
    findings = [Finding(rule.severity, rule.name, *place) for rule, *place in broken]
    by_name = {rule.name: count for rule, count in zip(RULES, counts, strict=True) if count}
    return CheckReport(tuple(findings), by_name)


def _without(folder: str, text: str) -> str:
    """What a finding says, for users who need not know where a server has its models.

    A location is what the model says, so it stays.
    """
    if not folder or folder not in text:
        return text
    text = text.replace(f" (the model directory is '{folder}')", "")
    return re.sub(rf"(?<!external location )'{re.escape(folder)}/+", "'", text)


def chosen_rules(
    strict: bool, select: Patterns, ignore: Patterns, *, operators: bool = True, full: bool = False
) -> frozenset[str]:
    """The names of the rules to look for."""
    if select is None:
        chosen = {name for name, rule in _BY_NAME.items() if strict or not rule.strict}
    else:
        chosen = _named(select)
        if chosen == {OFFICIAL.name} and not full:
            raise ValueError(f"the rule {OFFICIAL.name} is only looked for with `full`")
    if not operators:
        chosen -= _named(_OF_OPERATORS)
    return frozenset(chosen - _named(ignore or ()))


def _named(patterns: Iterable[str]) -> set[str]:
    """The rules that have these names; a name may be a pattern, such as `tensor.*`."""
    patterns = [patterns] if isinstance(patterns, str) else patterns
    named: set[str] = set()
    for pattern in patterns:
        if not isinstance(pattern, str):
            raise TypeError(f"the name of a rule is a str, not {type(pattern).__name__}")
        found = fnmatch.filter(_BY_NAME, pattern)
        if not found:
            near = suggestion(nearest(pattern, list(_BY_NAME)))
            raise ValueError(f"no rule is named {pattern!r}{near}")
        named.update(found)
    return named
