"""CMake says which part of what compiling needs is missing, and limits the memory that it takes."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
CMAKE, NINJA = shutil.which("cmake"), shutil.which("ninja")

pytestmark = pytest.mark.skipif(not CMAKE or not NINJA, reason="needs cmake and ninja")
needs_compiler = pytest.mark.skipif(not shutil.which("c++"), reason="needs a compiler")


def run_cmake(build: Path, *options: str, **env: str) -> subprocess.CompletedProcess[str]:
    command = [str(CMAKE), "-S", str(ROOT), "-B", str(build), "-G", "Ninja"]
    command += [f"-DCMAKE_MAKE_PROGRAM={NINJA}", *options]
    env = {"PATH": os.environ["PATH"], **env}
    return subprocess.run(command, env=env, text=True, capture_output=True, check=False)


def error_of_cmake(build: Path, *options: str, **env: str) -> str:
    """What CMake says when it fails, on one line."""
    ran = run_cmake(build, "-DONNXMAP_BUILD_PYTHON=ON", *options, **env)
    assert ran.returncode == 1, ran.stdout
    return " ".join(ran.stderr.split())


def is_installed_by_readme(said: str) -> bool:
    """Whether the commands that CMake names install packages that README names."""
    readme = (ROOT / "README.md").read_text()
    commands = re.findall(r"(apt-get|dnf) install (\S+)", said)
    assert {tool for tool, _ in commands} == {"apt-get", "dnf"}
    return all(
        re.search(rf"^{tool} install.* {re.escape(package)} ", readme, re.MULTILINE)
        for tool, package in commands
    )


@pytest.mark.parametrize(
    ("variables", "names"),
    [
        ({"PATH": "/none"}, "c++, g++, clang++"),
        ({"CXX": "x86_64-none-g++ -pthread"}, "x86_64-none-g++"),  # as pip sets it
    ],
)
def test_a_missing_compiler(tmp_path: Path, variables: dict[str, str], names: str) -> None:
    said = error_of_cmake(tmp_path, **variables)
    assert f"There is no C++ compiler ({names})." in said
    assert is_installed_by_readme(said)


def test_a_compiler_that_is_too_old(tmp_path: Path) -> None:
    told = (f"={sys.executable}", "_ID=GNU", "_VERSION=11.4", "_ID_RUN=ON", "_FORCED=ON")
    said = error_of_cmake(tmp_path, *(f"-DCMAKE_CXX_COMPILER{option}" for option in told))
    assert "is version 11.4." in said
    assert "gcc 12 or later" in said


@needs_compiler
def test_missing_headers(tmp_path: Path) -> None:
    python = (f"-DPython_EXECUTABLE={sys.executable}", f"-DPython_INCLUDE_DIR={tmp_path}/none")
    said = error_of_cmake(tmp_path, *python)
    assert "Python's headers are missing." in said
    assert is_installed_by_readme(said)
    assert "compiler" not in said


@needs_compiler
def test_no_more_compilers_run_than_the_memory_allows(tmp_path: Path) -> None:
    assert run_cmake(tmp_path).returncode == 0
    (depth,) = re.findall(r"^pool compilers\n  depth = (\d+)$", ninja_files(tmp_path), re.MULTILINE)
    gigabytes = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") / 1e9
    assert 1 <= int(depth) <= gigabytes + 1
    assert "pool = compilers" in ninja_files(tmp_path)


def ninja_files(build: Path) -> str:
    return "".join(path.read_text() for path in sorted(build.rglob("*.ninja")))
