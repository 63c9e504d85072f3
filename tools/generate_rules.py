"""Write docs/rules: the rules of Model.check(), each with an example that breaks it.

    python tools/generate_rules.py            # writes the pages
    python tools/generate_rules.py --check    # has exit status 1 if a page would change

The rules are from cpp/check/rules.def, by way of the extension. The examples are those that the
tests try: tests/python/check/examples.
"""

from __future__ import annotations

import difflib
import re
import sys
import textwrap
from itertools import groupby
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PAGES = ROOT / "docs/rules"
sys.path.insert(0, str(ROOT / "tests/python"))

from check.examples import EXAMPLES
from check.examples.example import SMALL, SMALL_SET, WHOLE, Example

from onnxmap import _core

COLUMNS = 118
MOST_LINES = 24  # of an example; the middle of a longer one is left out

SUBJECTS = {
    "model": "Models",
    "graph": "Graphs",
    "value": "Values",
    "node": "Nodes",
    "operator": "Signatures of operators",
    "attribute": "Attributes",
    "tensor": "Tensors",
    "ext": "External data",
    "type": "Types",
    "function": "Functions",
    "training": "Training",
    "quantization": "Quantization",
    "operator_set": "Operator sets",
}

NOTE = "<!-- Written by tools/generate_rules.py from the rules and their examples. -->"

INDEX = f"""\
{NOTE}

# Rules

The rules that `Model.check()` and `OperatorSet.check()` look for.
A check looks at the structure of a model, and at the signatures of the operators of ONNX.

| severity | meaning |
|---|---|
| error | the specification says MUST, or no reader can use the model |
| warning | the specification says SHOULD, or readers differ |
| hint | advice |
| strict | advice that is only given on request, since many good models break the rule |

In brackets stands what the specification says: MUST, SHOULD, or "readers differ" if it is silent,
and readers of models differ or fail.

IR.md, ExternalData.md and MetadataProps.md are pages of the specification.
The comments of `onnx.proto` are part of the specification, too.

Each rule has an example that breaks it, in the text format of protobuf.
Most examples show only what is added to this model:

```text
{SMALL}```

The examples of the rules about operator sets show what is added to this operator set:

```text
{SMALL_SET}```

| rules about | number |
|---|---|
"""


def lines_of(text: str, first: str = "", rest: str = "") -> str:
    """Return text with one sentence a line, and no long line."""
    lines: list[str] = []
    for sentence in re.split(r"(?<=[.!?]) (?=[A-Za-z])", text):
        start = rest if lines else first
        lines += textwrap.wrap(
            sentence, COLUMNS, initial_indent=start, subsequent_indent=rest, break_on_hyphens=False
        )
    return "\n".join(lines)


def code_of(example: Example) -> str:
    """Return the broken model as a block of code."""
    lines = textwrap.dedent(example.broken).strip().splitlines()
    if len(lines) > MOST_LINES:
        left_out = len(lines) - MOST_LINES
        middle = MOST_LINES // 2
        lines[middle:-middle] = [f"# {left_out} more lines"]
    return "\n".join(["```text", *lines, "```"])


def subject_of(example: Example) -> str:
    """Return the subject of the sentence about an example."""
    return "This model" if example.base == WHOLE else "This"


def section(rule: tuple[str, str, str, str, str, str], example: Example) -> str:
    """Return what the page says about a rule."""
    name, severity, requirement, source, text, advice = rule
    place = f"`{example.where}`" if example.where else "the root"
    parts = [
        f"## {name}",
        "",
        lines_of(text),
        "",
        f"- Severity: {severity} ({requirement})",
        lines_of(f"Source: {source}", "- ", "  "),
        lines_of(f"Advice: {advice}", "- ", "  "),
        "",
        f"{subject_of(example)} breaks the rule at {place}:",
        "",
        code_of(example),
    ]
    if example.also:
        rules = " and ".join(f"`{rule}`" for rule, _ in example.also)
        parts += ["", f"It breaks {rules} as well: {example.why}."]
    return "\n".join(parts)


def pages() -> dict[str, str]:
    """Return the pages by their names."""
    first = {}
    for example in EXAMPLES:
        first.setdefault(example.rule, example)
    made = {"index.md": INDEX}
    for subject, rules in groupby(_core.rules(), lambda rule: rule[0].partition(".")[0]):
        title = SUBJECTS[subject]
        sections = [section(rule, first[rule[0]]) + "\n" for rule in rules]
        made[f"{subject}.md"] = "\n".join([NOTE, "", f"# {title}", "", *sections])
        made["index.md"] += f"| [{title}]({subject}.md) | {len(sections)} |\n"
    names = "\n".join(name for name in made if name != "index.md")
    made["index.md"] += f"\n```{{toctree}}\n:hidden:\n\n{names}\n```\n"
    return made


def main() -> int:
    """Write or check the pages; return 1 if one is stale."""
    fresh = pages()
    kept = {path.name: path.read_text() for path in PAGES.glob("*.md")}
    if "--check" not in sys.argv[1:]:
        PAGES.mkdir(exist_ok=True)
        for name in kept.keys() - fresh.keys():
            (PAGES / name).unlink()
        for name, text in fresh.items():
            (PAGES / name).write_text(text)
        return 0
    if kept == fresh:
        return 0
    for name in sorted(kept.keys() | fresh.keys()):
        texts = (kept.get(name, "").splitlines(), fresh.get(name, "").splitlines())
        print(
            *difflib.unified_diff(*texts, f"docs/rules/{name}", "the rules", lineterm=""), sep="\n"
        )
    print("docs/rules is stale; run make rules")
    return 1


if __name__ == "__main__":
    sys.exit(main())
