"""The report: `build/bench/report.json` and `.md`, and the tables in this folder's README.

`python -m bench.report` prints the tables of the JSON file. With `--readme` it puts them into
README.md. There, rows of questions that are not in the JSON file stay.
"""

from __future__ import annotations

import datetime as dt
import importlib.metadata
import importlib.util
import json
import os
import platform
import sys
import textwrap
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from bench.question import Answer

FOLDER = Path(__file__).resolve().parent
BUILD_FOLDER = FOLDER.parent / "build" / "bench"
BEGIN, END = "<!-- results: begin -->\n", "<!-- results: end -->\n"
PACKAGES = (
    "onnxmap", "numpy", "ml_dtypes", "onnx", "protobuf", "onnx-ir", "onnx-extended", "safetensors",
    "onnxruntime",
)  # fmt: skip
MEGABYTE = 1e6
LINE_CHARACTERS = 120
CONTENDER_HEADING = (
    "| # | Contender | ours / this | time of this | anonymous + file MB | peak MB | faults "
    "| descriptors | mappings | Pss MB |"
)
MEASURED_ON = ": measured on "


def report_path(smoke: bool) -> Path:
    """Return the path of the report. A smoke run has its own, and never overwrites figures."""
    return BUILD_FOLDER / ("smoke.json" if smoke else "report.json")


def record(answer: Answer, smoke: bool) -> None:
    """Put the answer to one question into the JSON report. Other answers stay."""
    path = report_path(smoke)
    path.parent.mkdir(parents=True, exist_ok=True)
    found = json.loads(path.read_text()) if path.exists() else {}
    found[answer.question.key] = answer.as_json() | {"environment": environment()}
    path.write_text(json.dumps(found, indent=1) + "\n")


def write_markdown(smoke: bool) -> Path:
    """Write the JSON report as Markdown beside it, and return the path."""
    path = report_path(smoke)
    target = path.with_suffix(".md")
    target.write_text(markdown(json.loads(path.read_text()), once=smoke))
    return target


def environment() -> dict[str, Any]:
    """Return what the figures depend on: machine, system and versions."""
    cpu = ""
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            cpu = line.partition(":")[2].strip()
    return {
        "date": dt.datetime.now(dt.UTC).date().isoformat(),
        "cpu": cpu,
        "cores": len(os.sched_getaffinity(0)),
        "memory_gb": round(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") / 1e9),
        "kernel": platform.release(),
        "python": platform.python_version(),
        "editable_build": is_editable(),
        "packages": {name: _version(name) for name in PACKAGES},
    }


def is_editable() -> bool:
    """Return whether onnxmap is an editable install, whose import hook costs time."""
    return any("editable" in type(finder).__module__ for finder in sys.meta_path) and bool(
        importlib.util.find_spec("onnxmap")
    )


def _version(name: str) -> str:
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return "absent"


@dataclass
class Tables:
    """The rows of both tables by question, and the questions by environment."""

    targets: dict[str, list[str]]
    contenders: dict[str, list[str]]
    environments: dict[str, set[str]]

    @classmethod
    def of_report(cls, found: dict[str, Any]) -> Tables:
        """Make the tables of a report."""
        tables = cls({}, {}, {})
        for key, entry in found.items():
            title, contenders = entry["title"], entry["contenders"]
            tables.targets[key] = [_target_row(key, title, t) for t in entry["targets"]]
            tables.contenders[key] = [_contender_row(key, name, contenders) for name in contenders]
            text = _environment_text(entry["environment"])
            tables.environments.setdefault(text, set()).add(key)
        return tables

    @classmethod
    def of_text(cls, text: str) -> Tables:
        """Read tables back from the text that `text()` made."""
        tables = cls({}, {}, {})
        rows = tables.targets
        for line in text.splitlines():
            if line == CONTENDER_HEADING:
                rows = tables.contenders
            if line.startswith("| ") and not line.startswith("| # |"):
                rows.setdefault(line.split(" | ")[0].removeprefix("| "), []).append(line)
        for paragraph in text.split("\n\n"):
            keys, mark, environment = " ".join(paragraph.split()).partition(MEASURED_ON)
            if mark:
                tables.environments.setdefault(environment, set()).update(keys.split(", "))
        return tables

    def update(self, new: Tables) -> None:
        """Replace the rows of all questions in `new`."""
        renewed = new.contenders.keys()
        self.targets = {k: rows for k, rows in self.targets.items() if k not in renewed}
        self.targets |= new.targets
        self.contenders |= new.contenders
        left = {text: keys - renewed for text, keys in self.environments.items()}
        self.environments = {text: keys for text, keys in left.items() if keys}
        for text, keys in new.environments.items():
            self.environments.setdefault(text, set()).update(keys)

    def text(self) -> str:
        """Return the targets, then all contenders, then the environments."""
        lines = [
            "| # | Work | Target | Found: median (min to max) | Pairs | Met |",
            "|---|---|---|---|---|---|",
            *_in_order(self.targets),
            "",
            "Every contender.",
            "Times are for orientation only; the rest is what the work added (medians).",
            "",
            CONTENDER_HEADING,
            "|---|---|---|---|---|---|---|---|---|---|",
            *_in_order(self.contenders),
            "",
        ]
        for environment, keys in sorted(self.environments.items()):
            paragraph = ", ".join(sorted(keys, key=_order)) + MEASURED_ON + environment
            lines += [textwrap.fill(paragraph, LINE_CHARACTERS, break_on_hyphens=False), ""]
        return "\n".join(lines)


def markdown(found: dict[str, Any], once: bool = False) -> str:
    """Return both tables of a report."""
    head = "One round of each contender: the figures mean nothing.\n\n" if once else ""
    return head + Tables.of_report(found).text()


def _in_order(rows: dict[str, list[str]]) -> list[str]:
    return [row for key in sorted(rows, key=_order) for row in rows[key]]


def _order(key: str) -> tuple[float, str]:
    digits = "".join(c for c in key.split()[0] if c.isdigit())
    return float(digits or "inf"), key


def _target_row(key: str, title: str, target: dict[str, Any]) -> str:
    bound = f"{target['claim']} {target.get('sense', '')} {_number(target['bound'])}"
    if target.get("pairs"):
        figure = _spread(target)
        if "interval" in target:
            low, high = target["interval"]
            figure += f"; 95 %: {_number(low)} to {_number(high)}"
    else:
        figure = "not measured"
    met = {True: "yes", False: "**no**", None: "?"}[target["met"]]
    return f"| {key} | {title} | {bound} | {figure} | {target.get('pairs', 0)} | {met} |"


def _contender_row(key: str, label: str, contenders: dict[str, Any]) -> str:
    entry = contenders[label]
    if entry["error"]:
        reason = entry["known_failure"] or "failed"
        return f"| {key} | {label} | {reason}: {entry['error'][:90]} | | | | | | | |"
    counters = entry["counters"]
    ratio = entry["ours_over_this"]
    seconds = sorted(entry["seconds"])[len(entry["seconds"]) // 2]
    cells = [key, label, _spread(ratio) if ratio["pairs"] else "", _time(seconds)]
    if "rss_anon" in counters:
        cells += [
            f"{counters['rss_anon'] / MEGABYTE:,.1f} + {counters['rss_file'] / MEGABYTE:,.1f}",
            f"{counters['rss_peak'] / MEGABYTE:,.1f}",
            f"{counters['minor_faults'] + counters['major_faults']:,}",
            f"{counters['descriptors']:,}",
            f"{counters['mappings']:,}",
            f"{counters['pss'] / MEGABYTE:,.1f}" if "pss" in counters else "",
        ]
    else:
        cells += [""] * 6
    return "| " + " | ".join(cells) + " |"


def _spread(values: dict[str, Any]) -> str:
    return " ".join(
        [
            _number(values["median"]),
            f"({_number(values['min'])} to {_number(values['max'])})",
        ]
    )


def _number(value: float) -> str:
    if value == 0 or abs(value) >= 100:
        return f"{value:,.0f}"
    return f"{value:.3g}"


def _time(seconds: float) -> str:
    return f"{seconds:.3g} s" if seconds >= 1 else f"{seconds * 1e3:.3g} ms"


def _environment_text(environment: dict[str, Any]) -> str:
    packages = ", ".join(f"{name} {version}" for name, version in environment["packages"].items())
    editable = ", an editable build of onnxmap" if environment["editable_build"] else ""
    return (
        f"{environment['date']}: {environment['cpu']}, {environment['cores']} cores, "
        f"{environment['memory_gb']} GB, Linux {environment['kernel']}, "
        f"CPython {environment['python']}{editable}; {packages}."
    )


def fill_readme(found: dict[str, Any]) -> None:
    """Put the tables between the marks of README.md. Rows of other questions stay."""
    readme = FOLDER / "README.md"
    head, _, rest = readme.read_text().partition(BEGIN)
    old, _, tail = rest.partition(END)
    tables = Tables.of_text(old)
    tables.update(Tables.of_report(found))
    readme.write_text(f"{head}{BEGIN}\n{tables.text()}\n{END}{tail}")


def main() -> None:
    """Print the tables, or put them into the README."""
    found = json.loads(report_path(smoke=False).read_text())
    if "--readme" in sys.argv[1:]:
        fill_readme(found)
    else:
        print(markdown(found), end="")


if __name__ == "__main__":
    main()
