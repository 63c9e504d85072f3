"""Counts the lines of code, without docstrings, comments, imports and blank lines.

    python tools/count_code.py            # the figures that the architecture test bounds
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


def main() -> None:
    """Print the figures."""
    python = {file: file.read_text() for file in sorted(PACKAGE.rglob("*.py"))}
    core = {file: file.read_text() for file in sorted((ROOT / "cpp").rglob("*.[ch]pp"))}
    lines = {file: python_lines(text) for file, text in python.items()}
    lines |= {file: cpp_lines(text) for file, text in core.items()}
    if "--files" in sys.argv[1:]:
        for file, count in sorted(lines.items(), key=lambda item: item[1]):
            print(f"{count:6} {file.relative_to(ROOT)}")
    commands = [file for file in python if file.is_relative_to(PACKAGE / "cli")]
    report = [file for file in python if file.is_relative_to(PACKAGE / "report")]
    package = [file for file in python if file not in commands + report]
    print(f"{sum(lines[file] for file in package):6} lines of the package")
    print(f"{sum(lines[file] for file in commands):6} lines of the command line")
    print(f"{sum(lines[file] for file in report):6} lines of the report")
    print(f"{sum(lines[file] for file in core):6} lines of the core")
    print(f"{sum(map(imports_in_functions, python.values())):6} imports inside functions")
    print(f"{seam_rows():6} rows of the package seam")


if __name__ == "__main__":
    main()
