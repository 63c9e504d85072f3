"""`import onnxmap` imports nothing heavier than NumPy."""

from __future__ import annotations

import subprocess
import sys

import pytest
from support.processes.subprocesses import facts_from
from support.run_options import SANITIZED

pytestmark = pytest.mark.skipif(
    SANITIZED, reason="looks at what interpreters import, and how long it takes"
)

HEAVY = [
    "onnx", "google.protobuf", "ml_dtypes", "onnx_ir", "onnxruntime", "torch", "rich", "fsspec",
    "importlib.metadata", "asyncio", "inspect", "typing_extensions", "pkg_resources", "email",
    "html",
]  # fmt: skip


def test_nothing_but_numpy_is_imported() -> None:
    code = """
    import numpy
    numpys = set(sys.modules)
    import onnxmap
    ours = set(sys.modules) - numpys
    tops = {name.partition(".")[0] for name in ours}
    others = sorted(tops - set(sys.stdlib_module_names) - {"onnxmap"})
    report(others=[name for name in others if not name.startswith("_onnxmap")],
           new=sorted(ours), preloaded=sorted(numpys))
    """
    facts = facts_from(code, fresh=True)
    assert facts["others"] == []
    assert not set(HEAVY) & (set(facts["new"]) - set(facts["preloaded"]))


@pytest.mark.parametrize("keeps_extension", [False, True])
def test_the_package_can_be_imported_again(keeps_extension: bool) -> None:
    """The classes of the extension have their methods, and are sealed, from the first time on."""
    code = f"""
    import onnxmap
    for name, module in list(sys.modules.items()):
        is_extension = hasattr(module, "new_attribute")
        if name.partition(".")[0] == "onnxmap" and not (is_extension and {keeps_extension}):
            del sys.modules[name]
    import onnxmap as again
    node = again.wrap(again.make_node("Relu", ["x"], ["y"]))
    report(another=again is not onnxmap, text=repr(node), inputs=node.inputs.copy())
    """
    facts = facts_from(code, fresh=True)
    assert facts["another"]
    assert "Relu(x) -> (y)" in facts["text"]
    assert facts["inputs"] == ["x"]


def test_ml_dtypes_comes_with_the_first_tensor_that_needs_it() -> None:
    code = """
    import onnxmap
    from support import wire_bytes as wire
    def load(number):
        tensor = wire.blob(8, b"w") + wire.scalar(2, number) + wire.scalar(1, 2)
        tensor += wire.blob(9, b"\\0\\0\\0\\0")
        return onnxmap.loads(wire.blob(7, wire.blob(5, tensor)))
    load(10).views()
    before = "ml_dtypes" in sys.modules
    load(16).initializers.dtypes()
    listed = "ml_dtypes" in sys.modules
    array = load(16).initializers["w"].numpy()
    report(before=before, listed=listed, after="ml_dtypes" in sys.modules, dtype=str(array.dtype))
    """
    assert facts_from(code, fresh=True) == {
        "before": False,
        "listed": False,
        "after": True,
        "dtype": "bfloat16",
    }


def test_importing_twice_and_reloading_is_harmless() -> None:
    code = """
    import importlib
    import onnxmap
    first = onnxmap.ParseError
    importlib.reload(onnxmap)
    assert onnxmap.ParseError is first
    try:
        onnxmap.loads(b"")
    except onnxmap.ParseError as error:
        report(code=error.code)
    """
    assert facts_from(code, fresh=True) == {"code": "model.empty"}


def test_the_module_runs_as_a_program() -> None:
    command = [sys.executable, "-m", "onnxmap", "--help"]
    result = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert result.returncode == 0, result.stderr
    assert "show" in result.stdout
