"""What a run under sanitizers leaves out: test files, each with the reason, and cases of sweeps.

The sanitizers watch the C++ core. A file is left out if its tests are about something else, or use
the core only as other files do. Under ASan, Python takes four times as long to start, and those
tests would find nothing new.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

import pytest

_COMMANDS = "starts a command for each test; the core is read as by test_graph, test_proto_view ..."
_TEXT = "looks at source, signatures or pages"
_NEW_MESSAGES = "calls of the setters that test_friendly_setters and test_random_edits make"
_PYTHON = "Python alone: no line of the core runs"
_OTHERS = "what other libraries make of models; test_save_options plans and edits, too"
_GOOD_FILES = "well-formed models; hostile ones are read by test_corpus, test_differential ..."
_KERNELS = "every code of every type; tests/cpp/kernels do the same under the same sanitizers"
_PATHS = "where a path leads; {link_walk,contained_open,random_links}_test in C++ test that too"
_REMOTE = "servers and clients in Python; remote_file_test and test_remote_bulk read the ranges"

LEFT_OUT = {
    "cli": _COMMANDS,
    "project/test_architecture.py": _TEXT,
    "project/test_markdown.py": _TEXT,
    "external_data/test_containment_fallbacks.py": _PATHS,
    "changes/test_truncated_handlers.py": "fault_handlers does the same with handlers in C++",
    "external_data/test_containment_races.py": _PATHS,
    "external_data/test_containment_random.py": _PATHS,
    "external_data/test_containment_traced.py": _PATHS,
    "loading/test_many_files.py": "descriptor_pool_test counts, too; UBSan needs descriptors",
    "interop/test_dask_cluster.py": "processes; test_stream and test_arrays read the same bytes",
    "processes/test_fork.py": "ASan keeps the marks of stacks whose threads the child lacks",
    "api/test_import.py": "starts interpreters, to see what they import and how long it takes",
    "interop/test_interop_dask.py": "processes; test_stream and test_arrays read the same bytes",
    "interop/test_interop_ir.py": _GOOD_FILES,
    "tensor/test_kernels.py": _KERNELS,
    "model/test_node_cases.py": _GOOD_FILES,
    "tensor/test_official_deviations.py": "test_tensor_errors, test_lenient do the same",
    "model/test_official_models.py": _GOOD_FILES,
    "bulk/test_progress.py": _PYTHON,
    "edit/test_make_messages.py": _NEW_MESSAGES,
    "edit/test_make_tensors.py": _NEW_MESSAGES,
    "edit/test_text_forms.py": "protobuf parses the text; the core gets bytes as in test_loading",
    "save/test_save_onnxruntime.py": "what onnxruntime reads; test_save_options writes the same",
    "interop/test_sessions.py": _OTHERS,
    "interop/test_sessions_files.py": _OTHERS,
    "interop/test_sessions_official.py": _OTHERS,
    "interop/test_bridges_ir.py": _OTHERS,
    "interop/test_bridges_odd.py": _OTHERS,
    "interop/test_bridges_official.py": _OTHERS,
    "interop/test_bridges_payload.py": _OTHERS,
    "interop/test_bridges_proto.py": _OTHERS,
    "save/test_unchanged.py": _GOOD_FILES,
    "api/test_public_api.py": _TEXT,
    "project/test_readme.py": "runs pages and their commands",
    "model/test_real_models.py": _GOOD_FILES,
    "remote/test_remote_dask.py": _REMOTE,
    "remote/test_remote_errors.py": _REMOTE,
    "remote/test_remote_folders.py": _REMOTE,
    "remote/test_remote_http.py": _REMOTE,
    "remote/test_remote_packages.py": _REMOTE,
    "remote/test_remote_pickle.py": _REMOTE,
    "remote/test_remote_stores.py": _REMOTE,
    "remote/test_remote_timeouts.py": _REMOTE,
    "project/test_security_page.py": _TEXT,
    "loading/test_special_model_files.py": "each file is refused before it is parsed",
}

# Of one test; in the folders of hostile files each case is a trick of its own, and all are run.
MOST_CASES = 50
_HOSTILE = ("wire", "changes", "external_data")


def left_out_cases(items: Sequence[pytest.Item]) -> list[pytest.Item]:
    """Return the cases to leave out of tests that have more than `MOST_CASES`, spread evenly."""
    cases = defaultdict(list)
    for item in items:
        if item.path.parent.name not in _HOSTILE:
            cases[item.nodeid.partition("[")[0]].append(item)
    return [
        item
        for case in cases.values()
        for i, item in enumerate(case)
        if i * MOST_CASES // len(case) == (i - 1) * MOST_CASES // len(case)
    ]
