"""The report: `build/bench/report.json` and `.md`, and the table in this folder's README.

`python -m bench.report` prints the tables from the JSON; with `--readme` it puts them into README.md.
"""

from __future__ import annotations

import datetime as dt
import importlib.metadata
import importlib.util
import json
import os
import platform
import sys
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


def report_path(smoke: bool) -> Path:
    """A smoke run never overwrites what was measured."""
    return BUILD_FOLDER / ("smoke.json" if smoke else "report.json")


def record(answer: Answer, smoke: bool) -> None:
    """Put one question's answer into the JSON report; the other questions' answers stay."""
    path = report_path(smoke)
    path.parent.mkdir(parents=True, exist_ok=True)
    found = json.loads(path.read_text()) if path.exists() else {}
    found[answer.question.key] = answer.as_json() | {"environment": environment()}
    path.write_text(json.dumps(found, indent=1) + "\n")


def write_markdown(smoke: bool) -> Path:
    """The JSON report as Markdown beside it."""
    path = report_path(smoke)
    target = path.with_suffix(".md")
    target.write_text(markdown(json.loads(path.read_text()), once=smoke))
    return target


def environment() -> dict[str, Any]:
    """What the figures depend on."""
    cpu = ""
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            cpu = line.partition(":")[2].strip()
    return {
        "date": dt.datetime.now(dt.timezone.utc).date().isoformat(),
        "cpu": cpu,
        "cores": len(os.sched_getaffinity(0)),
        "memory_gb": round(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") / 1e9),
        "kernel": platform.release(),
        "python": platform.python_version(),
        "editable_build": is_editable(),
        "packages": {name: _version(name) for name in PACKAGES},
    }


def is_editable() -> bool:
    """Whether onnxmap is an editable install, whose import hook costs what a user never pays."""
    return any("editable" in type(finder).__module__ for finder in sys.meta_path) and bool(
        importlib.util.find_spec("onnxmap")
    )


def _version(name: str) -> str:
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return "absent"


def markdown(found: dict[str, Any], once: bool = False) -> str:
    """Both tables: targets first, then all contenders."""
    keys = sorted(found, key=_order)
    lines = ["A run of one round each: the figures mean nothing.", ""] if once else []
    lines += [
        "| # | Work | Target | Found: median (min to max) | Pairs | Met |",
        "|---|---|---|---|---|---|",
    ]
    for key in keys:
        lines += [_target_row(key, found[key]["title"], t) for t in found[key]["targets"]]
    lines += [
        "",
        "Every contender. Times are for orientation only; the rest is what the work added (medians).",
        "",
        "| # | Contender | ours / this | time of this | anonymous + file MB | peak MB | faults "
        + "| descriptors | mappings |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for key in keys:
        contenders = found[key]["contenders"]
        lines += [_contender_row(key, label, contenders) for label in contenders]
    lines.append("")
    for text in sorted({_environment_text(entry["environment"]) for entry in found.values()}):
        lines.append(text)
    return "\n".join(lines) + "\n"


def _order(key: str) -> tuple[int, str]:
    digits = "".join(c for c in key.split()[0] if c.isdigit())
    return int(digits or 0), key


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
        return f"| {key} | {label} | {reason}: {entry['error'][:90]} | | | | | | |"
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
        ]
    else:
        cells += [""] * 5
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
        f"Measured on {environment['date']}: {environment['cpu']}, {environment['cores']} cores, "
        f"{environment['memory_gb']} GB, Linux {environment['kernel']}, "
        f"CPython {environment['python']}{editable}; {packages}."
    )


def fill_readme(tables: str) -> None:
    """Put the tables between the marks of README.md."""
    readme = FOLDER / "README.md"
    head, _, rest = readme.read_text().partition(BEGIN)
    _, _, tail = rest.partition(END)
    readme.write_text(f"{head}{BEGIN}\n{tables}\n{END}{tail}")


def main() -> None:
    """Print the tables, or put them into the README."""
    tables = markdown(json.loads(report_path(smoke=False).read_text()))
    if "--readme" in sys.argv[1:]:
        fill_readme(tables)
    else:
        print(tables, end="")


if __name__ == "__main__":
    main()
