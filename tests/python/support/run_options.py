"""What the environment says about a run of the tests."""

from __future__ import annotations

import os
import sysconfig


def _is_set(name: str) -> bool:
    return os.environ.get(name, "") not in ("", "0", "false")


LONG = _is_set("ONNXMAP_TEST_LONG")  # forms of tests that take minutes or hours, for releases
# Sweeps and races take more samples, for large changes.
EXHAUSTIVE = LONG or _is_set("ONNXMAP_TEST_EXHAUSTIVE")
# Only the folders whose tests get arrays or bytes from the core, and fewer cases; for sanitizers.
MEMORY_ONLY = _is_set("ONNXMAP_TEST_MEMORY")
THREAD_SANITIZED = _is_set("ONNXMAP_SANITIZE_THREAD")  # Python and the extension have TSan
# The extension is built with ASan and UBSan, or with TSan.
SANITIZED = _is_set("ONNXMAP_SANITIZE") or THREAD_SANITIZED
# Without an interpreter lock. Some libraries have no wheel for such a Python.
FREE_THREADED = bool(sysconfig.get_config_var("Py_GIL_DISABLED"))
IN_CI = _is_set("CI")  # what may be skipped elsewhere is required here
TORCH_REQUIRED = _is_set("ONNXMAP_TEST_TORCH")  # tests of torch fail without it, not skip
