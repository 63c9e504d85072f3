"""Test files that a run under sanitizers leaves out, each with its reason.

What the sanitizers watch is the C++ core. A file is left out where its tests look at something else,
or at the core only through what other files test as well: there, a Python that starts under ASan costs
four times as long as elsewhere, and the test sees nothing that an ordinary run does not see.
"""

from __future__ import annotations

_COMMANDS = "starts a command for each test; the core is read as by test_graph, test_proto_view ..."
_TEXT = "looks at source, signatures or pages"
_PYTHON = "Python alone: no line of the core runs"

LEFT_OUT = {
    "cli": _COMMANDS,
    "test_architecture.py": _TEXT,
    "test_dask_cluster.py": "a cluster of processes; test_interop_dask.py reads the same chunks",
    "test_import.py": "starts interpreters, to see what they import and how long it takes",
    "test_progress.py": _PYTHON,
    "test_public_api.py": _TEXT,
    "test_readme.py": "runs pages and their commands",
    "test_security_page.py": _TEXT,
}
