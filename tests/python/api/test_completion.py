"""Keys complete in IPython as a user types them, without a variable of their own."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from onnx import TensorProto, helper
from support.models.sample import floats, model_of

# A shell with its defaults, but without the database of its history, which fails now and then under
# load; and the completions of each line of `sys.argv`.
SHELL = """
import sys
from IPython.core.interactiveshell import InteractiveShell
from traitlets.config import Config
shell = InteractiveShell.instance(config=Config({"HistoryManager": {"enabled": False}}))
import onnxmap
shell.user_ns["d"] = onnxmap.load(sys.argv[1])
for line in sys.argv[2:]:
    shell.Completer.use_jedi = False
    print(sorted(shell.Completer.complete(line_buffer=line, cursor_pos=len(line))[1]))
"""
LINES = {
    'd.initializers["lay': ["layer.bias", "layer.weight"],
    'd.graph.initializers["lay': ["layer.bias", "layer.weight"],
    'd.graph.nodes["': ["conv1"],
    'd.graph.inputs["': ["x"],
    'd.metadata_props["': ["author"],
    'd.opset_imports["': [""],
}


def test_keys_complete_where_they_are_typed(tmp_path: Path) -> None:
    pytest.importorskip("IPython")
    made = model_of([floats("layer.weight", 3), floats("layer.bias", 1)])
    made.graph.node.append(helper.make_node("Conv", ["x"], ["y"], name="conv1", pads=[1, 2]))
    made.graph.input.append(helper.make_tensor_value_info("x", TensorProto.FLOAT, [1]))
    made.metadata_props.add(key="author", value="somebody")
    (tmp_path / "m.onnx").write_bytes(made.SerializeToString())
    command = [sys.executable, "-c", SHELL, str(tmp_path / "m.onnx"), *LINES]
    home = {**os.environ, "IPYTHONDIR": str(tmp_path)}
    done = subprocess.run(command, capture_output=True, text=True, env=home, check=False)
    assert done.returncode == 0, done.stderr
    found = done.stdout.splitlines()
    assert found == [str(keys) for keys in LINES.values()]


# A stand-in for IPython with the sets that the package adds to, or without them.
STAND_IN = """
import sys, types
for name in ("IPython", "IPython.core", "IPython.core.guarded_eval"):
    sys.modules[name] = types.ModuleType(name)
policy = types.SimpleNamespace(**{name: set() for name in sys.argv[1:]})
sys.modules["IPython.core.guarded_eval"].EVALUATION_POLICIES = {"limited": policy}
import onnxmap
onnxmap.from_arrays({})
print(onnxmap.Model in getattr(policy, "allowed_getattr", ()))
print(onnxmap.Initializers in getattr(policy, "allowed_getitem", ()))
"""


def test_classes_are_named_to_an_ipython_that_takes_them() -> None:
    for sets in (["allowed_getattr", "allowed_getitem"], []):
        command = [sys.executable, "-c", STAND_IN, *sets]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        assert done.stdout.split() == [str(bool(sets))] * 2


def test_keys_complete_if_onnxmap_was_imported_first(tmp_path: Path) -> None:
    pytest.importorskip("IPython")
    (tmp_path / "m.onnx").write_bytes(model_of([floats("w", 3)]).SerializeToString())
    line = 'd.initializers["'
    command = [sys.executable, "-c", f"import onnxmap\n{SHELL}", str(tmp_path / "m.onnx"), line]
    home = {**os.environ, "IPYTHONDIR": str(tmp_path)}
    done = subprocess.run(command, capture_output=True, text=True, env=home, check=True)
    assert done.stdout.splitlines() == ["['w']"]
