"""Tests use the public interface, as users do. A few need a private module, each for a reason."""

from __future__ import annotations

import re
from pathlib import Path

HERE = Path(__file__).parent  # its tests look at the source
TESTS = HERE.parent
PRIVATE = re.compile(
    r"onnxmap\._(?!_)|\bfrom onnxmap import [^\n]*\b_[a-z]|(?<!\w)_core\b(?!\.pyi)"
)
_SEAM = "the subject is the extension: its classes, tables and build"
_KERNELS = "chooses the kernels of another processor"
_MIDWAY = "something happens between two steps that no caller can come between"
_PAUSES = "a pause or a period is too long for a test"
_UNIT = "a rule that many callers share, with more cases than one caller could try"
_CHILD = "a test of what a process imports, or imports early on purpose"

ALLOWED = {
    "api/test_bound_classes.py": _SEAM,
    "api/test_public_api.py": _SEAM,
    "api/test_wrong_names.py": _UNIT,
    "bulk/test_bulk_endings.py": _CHILD,
    "bulk/test_progress.py": _UNIT,
    "bulk/test_stream_arguments.py": _UNIT,
    "cli/test_mv.py": _MIDWAY,
    "cli/test_mv_syncs.py": _MIDWAY,
    "cli/test_text.py": _UNIT,
    "cli/test_verify.py": _MIDWAY,
    "compare/test_stats.py": _KERNELS,
    "conftest.py": _SEAM,
    "edit/test_another_type.py": _MIDWAY,
    "edit/test_made_values.py": _SEAM,
    "edit/test_text_forms.py": _UNIT,
    "external_data/test_checksum_reading.py": _SEAM,
    "external_data/test_checksums.py": "the number of processors is part of the question",
    "interop/test_interop_dask.py": _MIDWAY,
    "interop/test_sessions.py": _MIDWAY,
    "loading/test_loading.py": _SEAM,
    "pickling/test_pickle_names.py": "stored pickles have these names",
    "remote/test_remote_changes.py": _PAUSES,
    "remote/test_remote_errors.py": _PAUSES,
    "remote/test_remote_packages.py": _CHILD,
    "remote/test_remote_timeouts.py": _PAUSES,
    "processes/test_fork.py": _MIDWAY,
    "save/test_append_files.py": _MIDWAY,
    "save/test_copied_names.py": _UNIT,
    "save/test_save_progress.py": _PAUSES,
    "support/api_fuzz/__main__.py": _PAUSES,
    "support/api_fuzz/calls.py": _SEAM,
    "support/api_fuzz/private.py": _SEAM,
    "support/checks/rules.py": _SEAM,
    "support/faults/crashing_mv.py": _MIDWAY,
    "tensor/test_kernels.py": _KERNELS,
    "wire/test_schema.py": _SEAM,
}


def uses_private(text: str) -> bool:
    return PRIVATE.search(text) is not None


def test_only_these_files_use_private_modules() -> None:
    found = {
        str(path.relative_to(TESTS))
        for path in TESTS.rglob("*.py")
        if uses_private(path.read_text()) and path.parent != HERE
    }
    assert sorted(found - set(ALLOWED)) == [], "use the public interface, or give a reason"
    assert sorted(set(ALLOWED) - found) == [], "these need no reason any more"


def test_private_modules_are_told_from_other_names() -> None:
    for text in (
        "import onnxmap._read.bulk_arrays",
        "from onnxmap import _core",
        "ort._core.save_plan",
        'setattr("onnxmap._core.append_bytes")',
        "from onnxmap._core import Tensor",
    ):
        assert uses_private(text), text
    for text in (
        "onnxmap.__all__",
        "from onnxmap import types",
        'files / "_core.pyi"',
        "from onnxmap.types import TensorType",
        "the_core",
    ):
        assert not uses_private(text), text
