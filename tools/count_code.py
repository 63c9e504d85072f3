"""Counts the lines of code, without docstrings, comments, imports and blank lines.

    python tools/count_code.py            # the figures; the architecture test bounds their total
    python tools/count_code.py --files    # a line for each file, largest last

It also counts the rows of the package seam and the imports that stand inside functions.
"""

from __future__ import annotations

import ast
import io
import re
import sys
import tokenize
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "python/onnxmap"
NOT_CODE = {
    tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT,
    tokenize.ENCODING, tokenize.ENDMARKER,
}  # fmt: skip
DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)


def python_lines(text: str) -> int:
    """Return the number of lines of code in the text of a Python file."""
    tree = ast.parse(text)
    left_out = {
        line
        for node in ast.walk(tree)
        if isinstance(node, ast.Import | ast.ImportFrom)
        for line in range(node.lineno, (node.end_lineno or node.lineno) + 1)
    }
    left_out |= docstring_lines(tree)
    tokens = tokenize.generate_tokens(io.StringIO(text).readline)
    code = {
        line
        for token in tokens
        if token.type not in NOT_CODE
        for line in range(token.start[0], token.end[0] + 1)
    }
    return len(code - left_out)


def docstring_lines(tree: ast.Module) -> set[int]:
    """Return the numbers of the lines that docstrings occupy."""
    lines = set()
    for node in ast.walk(tree):
        if isinstance(node, DOCUMENTED) and ast.get_docstring(node, clean=False) is not None:
            first = node.body[0]
            lines |= set(range(first.lineno, (first.end_lineno or first.lineno) + 1))
    return lines


def imports_in_functions(text: str) -> int:
    """Return how many import statements stand inside functions."""
    return sum(
        isinstance(inner, ast.Import | ast.ImportFrom)
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        for inner in ast.walk(node)
    )


def cpp_lines(text: str) -> int:
    """Return the number of lines of code in the text of a C++ file."""
    text = re.sub(r"/\*.*?\*/", "", text, flags=re.DOTALL)
    lines = (line.strip() for line in text.splitlines())
    return sum(
        bool(line) and not line.startswith(("//", "#include", "#pragma once")) for line in lines
    )


def seam_rows() -> int:
    """Return how many functions and classes of the package the core calls."""
    return (ROOT / "cpp/bindings/package_seam.hpp").read_text().count('python_object<"')


def lines_of_files() -> dict[Path, int]:
    """Return the lines of code of each file of the package and the core."""
    python = {file: python_lines(file.read_text()) for file in sorted(PACKAGE.rglob("*.py"))}
    core = sorted((ROOT / "cpp").rglob("*.[ch]pp"))
    return python | {file: cpp_lines(file.read_text()) for file in core}


def counts() -> dict[str, int]:
    """Return the lines of code of each part."""
    found = {"core": 0, "package": 0, "commands": 0, "report": 0}
    names = {"cli": "commands", "report": "report"}
    for file, count in lines_of_files().items():
        in_package = file.is_relative_to(PACKAGE)
        room = file.relative_to(PACKAGE).parts[0] if in_package else ""
        found[names.get(room, "package") if in_package else "core"] += count
    return found


def main() -> None:
    """Print the figures."""
    if "--files" in sys.argv[1:]:
        for file, count in sorted(lines_of_files().items(), key=lambda item: item[1]):
            print(f"{count:6} {file.relative_to(ROOT)}")
    found = counts()
    for part, count in found.items():
        print(f"{count:6} lines of the {part}")
    print(f"{sum(found.values()):6} lines of code")
    later = (imports_in_functions(file.read_text()) for file in PACKAGE.rglob("*.py"))
    print(f"{sum(later):6} imports inside functions")
    print(f"{seam_rows():6} rows of the package seam")


if __name__ == "__main__":
    main()
