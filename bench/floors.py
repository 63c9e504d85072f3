"""Compiles and loads `floors.c`. The result is kept in `build/` by interpreter and source."""

from __future__ import annotations

import hashlib
import importlib.util
import subprocess
import sys
import sysconfig
from pathlib import Path
from types import ModuleType

import numpy as np

SOURCE = Path(__file__).with_name("floors.c")
BUILD_FOLDER = SOURCE.parent.parent / "build" / "bench"


def compile_floors() -> Path:
    """Compile the extension unless it exists, and return its path."""
    digest = hashlib.sha256(SOURCE.read_bytes() + np.__version__.encode()).hexdigest()[:12]
    target = BUILD_FOLDER / f"_bench_floors-{digest}{sysconfig.get_config_var('EXT_SUFFIX')}"
    if not target.exists():
        BUILD_FOLDER.mkdir(parents=True, exist_ok=True)
        unfinished = target.with_suffix(".part")
        compiler = (sysconfig.get_config_var("CC") or "cc").split()
        includes = [f"-I{sysconfig.get_path('include')}", f"-I{np.get_include()}"]
        options = ["-O2", "-shared", "-fPIC", "-pthread", "-Wall", "-Wextra"]
        quiet = [
            "-Wno-unused-parameter",
            "-Wno-cast-function-type",
        ]  # the Python API causes these warnings
        files = [str(SOURCE), "-o", str(unfinished)]
        subprocess.run([*compiler, *options, *quiet, *includes, *files], check=True)
        unfinished.rename(target)
    return target


def load_floors() -> ModuleType:
    """Return the extension module."""
    spec = importlib.util.spec_from_file_location("_bench_floors", compile_floors())
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["_bench_floors"] = module
    spec.loader.exec_module(module)
    return module
