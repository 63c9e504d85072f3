"""Shared by all tests: the path of the helpers, the header of a run, first checks, and fixtures."""

from __future__ import annotations

import gc
import mmap
import multiprocessing.util
import platform
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
import pytest

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))  # for the package `support`; importlib mode adds no folder

from support.emulated_run import is_emulated, skip_what_fails
from support.run_options import (
    EXHAUSTIVE,
    FREE_THREADED,
    LONG,
    MEMORY_ONLY,
    SANITIZED,
    THREAD_SANITIZED,
)
from support.sanitized_run import MEMORY, left_out_cases

collect_ignore = [
    folder.name for folder in HERE.iterdir() if MEMORY_ONLY and folder.name not in MEMORY
]


def _extension_path() -> Path:
    import onnxmap._core

    return Path(onnxmap._core.__file__)


def pytest_report_header() -> list[str]:
    import google.protobuf
    import ml_dtypes
    import onnx
    from google.protobuf.internal import api_implementation

    import onnxmap

    return [
        f"onnxmap {onnxmap.__version__} from {_extension_path()}"
        + (" (sanitizers on)" if SANITIZED else ""),
        f"numpy {np.__version__}, ml_dtypes {ml_dtypes.__version__}, onnx {onnx.__version__}, "
        f"protobuf {google.protobuf.__version__} ({api_implementation.Type()}), "
        f"Python {platform.python_version()}"
        + (", long forms" if LONG else ", exhaustive" if EXHAUSTIVE else ""),
    ]


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Give each worker a run of neighbouring tests, which share the fixtures of their module.

    A worker that is done takes half of the tests that another one still has.
    """
    from xdist.scheduler import WorkStealingScheduling

    return WorkStealingScheduling(config, log) if config.getoption("dist") == "load" else None


def pytest_sessionstart() -> None:
    """Refuse to run if the sanitizers or the oracle are not those that the run claims to use."""
    # A shell that starts tests in the background ignores SIGINT, and its processes inherit that.
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    from google.protobuf.internal import api_implementation

    # A free-threaded Python has no upb: `make freethreaded` leaves out what compares with it.
    if api_implementation.Type() != "upb" and not FREE_THREADED:
        pytest.exit("the oracle is protobuf's upb engine; pure-Python protobuf differs", 3)
    if SANITIZED:
        mark = "__tsan_init" if THREAD_SANITIZED else "__asan_init"
        with _extension_path().open("rb") as file:
            if file_contains(file.fileno(), mark.encode()) is False:
                pytest.exit(f"sanitizers are asked for, yet {_extension_path()} has none", 3)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if SANITIZED or MEMORY_ONLY:
        left_out = set(left_out_cases(items))
        items[:] = [item for item in items if item not in left_out]
        config.hook.pytest_deselected(items=list(left_out))
    if is_emulated():
        skip_what_fails(items)


@pytest.fixture(scope="session")
def every_type(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """Every element type in every storage; tests only read it."""
    from support.models.many_tensors import write_every_type

    return write_every_type(tmp_path_factory.mktemp("every_type"))


@pytest.fixture(autouse=MEMORY_ONLY)
def no_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """End a test that starts a process, where only what gets arrays and bytes from the core is run.

    Each interpreter takes seconds to start under sanitizers. `make asan` runs these tests.
    """

    def skip(*_: object, **__: object) -> NoReturn:
        pytest.skip("starts a process: `make asan` runs it")

    monkeypatch.setattr(subprocess, "Popen", skip)
    monkeypatch.setattr(multiprocessing.util, "spawnv_passfds", skip)


def pytest_collection_finish() -> None:
    """Keep the garbage collector from scanning the 11,000 tests, which stay until the end."""
    gc.collect()
    gc.freeze()


def file_contains(descriptor: int, needle: bytes) -> bool:
    with mmap.mmap(descriptor, 0, access=mmap.ACCESS_READ) as mapped:
        return mapped.find(needle) >= 0
