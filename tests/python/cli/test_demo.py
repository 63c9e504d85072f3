"""`onnxmap demo` does what it prints."""

from __future__ import annotations

import json
import shlex
import subprocess
import sys
from pathlib import Path

import onnx
import pytest
from onnx import helper, numpy_helper
from support.processes.command_line import Run, on_terminal, piped

import onnxmap


class TestDemo:
    def test_does_what_it_promises(self, run: Run) -> None:
        ran = run("demo", "--json")
        assert ran.status == 0
        facts = json.loads(ran.out)
        assert 20e6 < sum(facts["files"].values()) < 100e6
        assert {step["code"]: step["result"] for step in facts["steps"]} == {
            'model = onnxmap.load("demo.onnx")': "46 nodes, 41 initializers",
            "views = model.views()": "41 arrays of 20 types, 0 B copied",
            'model.stream(window="8MiB")': "47.4 MB, 8 MiB of them at a time",
            'model.save("copy/demo.onnx")': "47.4 MB from file to file",
        }
        assert min(step["seconds"] for step in facts["steps"]) > 0

    def test_leaves_nothing_behind(self, run: Run) -> None:
        files = json.loads(run("demo", "--json").out)["files"]
        assert len(files) == 2
        assert not any(Path(file).parent.exists() for file in files)

    def test_model_is_valid_and_reads_equal_to_the_official_package(self, demo: Path) -> None:
        onnx.checker.check_model(str(demo), full_check=True)
        stored = onnx.load(demo, load_external_data=False).graph.initializer
        places = [{entry.key: entry.value for entry in tensor.external_data} for tensor in stored]
        assert [int(place["offset"]) % 4096 for place in places if place] == [0, 0]
        official = onnx.load(demo)
        views = onnxmap.load(demo).views()
        assert list(views) == [tensor.name for tensor in official.graph.initializer]
        for expected in official.graph.initializer:
            found = views[expected.name]
            assert found.tobytes() == numpy_helper.to_array(expected).tobytes(), expected.name
            assert found.dtype == helper.tensor_dtype_to_np_dtype(expected.data_type)

    def test_overwrites_nothing(self, run: Run, tmp_path: Path) -> None:
        (tmp_path / "demo.weights.data").write_text("mine")
        ran = run("demo", "--keep", tmp_path)
        assert (ran.status, ran.out) == (2, "")
        why = "demo.weights.data exists already, and demo.onnx is not a demo's model"
        assert why in ran.err
        assert [path.read_text() for path in tmp_path.iterdir()] == ["mine"]

    def test_goes_on_with_what_it_made(self, run: Run, tmp_path: Path) -> None:
        first = run("demo", "--keep", tmp_path)
        assert "there already" not in first.out
        made = {path.name: path.stat().st_mtime_ns for path in tmp_path.iterdir()}
        assert set(made) == {"demo.onnx", "demo.weights.data"}
        again = run("demo", "--keep", tmp_path)
        assert (again.status, again.err) == (0, "")
        assert "random weights, there already" in again.out
        assert {path.name: path.stat().st_mtime_ns for path in tmp_path.iterdir()} == made
        (tmp_path / "demo.weights.data").unlink()
        assert run("demo", "--keep", tmp_path).status == 0
        assert (tmp_path / "demo.weights.data").exists()
        with onnxmap.load(tmp_path / "demo.onnx") as model:  # as another version made it
            model.producer_version = "0.0.1"
            model.save(tmp_path / "demo.onnx")
        assert "there already" in run("demo", "--keep", tmp_path).out

    def test_leaves_a_dangling_link_alone(self, run: Run, tmp_path: Path) -> None:
        (tmp_path / "demo.onnx").symlink_to("nothing")
        ran = run("demo", "--keep", tmp_path)
        assert (ran.status, ran.out) == (2, "")
        assert "demo.onnx exists already, and demo.onnx is not a demo's model" in ran.err

    def test_its_session_logs_nothing(self, demo: Path) -> None:
        pytest.importorskip("onnxruntime")
        code = f"import onnxmap; print(onnxmap.load({str(demo)!r}).session().get_outputs()[0].name)"
        ran = subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=False
        )
        assert (ran.returncode, ran.stdout, ran.stderr) == (0, "logits\n", "")

    def test_has_nothing_that_check_finds(self, demo: Path) -> None:
        assert list(onnxmap.load(demo).check()) == []

    def test_ends_with_commands_that_work(self, tmp_path: Path) -> None:
        """Also for a folder whose name a shell would split."""
        folder = tmp_path / "a 'b' \"c\" $d"
        lines = piped("demo", "--keep", folder).stdout.splitlines()
        commands = [line.strip() for line in lines[lines.index("next") + 1 :]]
        assert [command.split()[0] for command in commands] == ["onnxmap", "onnxmap", "python"]
        for command in commands:
            words = shlex.split(command)
            if words[0] == "onnxmap":
                ran = piped(*words[1:])
                assert "FLOAT" in ran.stdout
            else:
                ran = subprocess.run(
                    [sys.executable, *words[1:]], capture_output=True, text=True, check=False
                )
                assert "46 nodes" in ran.stdout
            assert (ran.returncode, ran.stderr) == (0, "")

    def test_ends_with_how_to_keep_the_model(self) -> None:
        lines = piped("demo").stdout.splitlines()
        commands = [line.strip() for line in lines[lines.index("next") + 1 :]]
        assert shlex.split(commands[0], comments=True) == ["onnxmap", "demo", "--keep", "."]
        assert commands[1:] == [
            "onnxmap show demo.onnx",
            "onnxmap ls demo.onnx 'layers.0.*'",
            """python -c 'import onnxmap; print(onnxmap.load("demo.onnx"))'""",
        ]

    @pytest.mark.parametrize("width", [80, 200])
    def test_page_fits_the_terminal(self, width: int) -> None:
        page = on_terminal(width, "demo")
        assert page.status == 0
        assert "8 MiB of them at a time" in page.text
        assert "…" not in page.text
        assert max(map(len, page.text.splitlines())) <= width
        assert "\x1b[" in page.raw
