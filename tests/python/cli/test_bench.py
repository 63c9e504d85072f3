"""`onnxmap bench`: which peers take part, what is reported, equal work, and peers that fail."""

from __future__ import annotations

import importlib.util
import json
import os
import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto
from support.models.hard_names import save, tensor
from support.processes.cold_files import locked
from support.processes.command_line import Ran, Run, on_terminal, piped

import onnxmap
from onnxmap.cli import bench

MODULES = {
    "onnxmap": "onnxmap", "onnx": "onnx", "onnx-ir": "onnx_ir", "onnxruntime": "onnxruntime",
    "onnx2": "onnx_extended",
}  # fmt: skip
WITH_ARRAYS = ("onnxmap", "onnx", "onnx-ir")

Stand = Callable[[str, str], None]


@pytest.fixture
def alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """No peer is installed."""
    monkeypatch.setattr(bench, "PEERS", {bench.OURS: bench.PEERS[bench.OURS]})


@pytest.fixture
def stand_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Stand:
    """Replace a peer by this code. Only onnxmap and this one are installed."""
    folder = tmp_path / "peers"
    monkeypatch.syspath_prepend(folder)

    def put(name: str, code: str) -> None:
        module = folder / MODULES[name]
        module.mkdir(parents=True)
        (module / "__init__.py").write_text(textwrap.dedent(code))
        installed = {each: bench.PEERS[each] for each in (bench.OURS, name)}
        monkeypatch.setattr(bench, "PEERS", installed)

    return put


def facts(ran: Ran) -> dict[str, Any]:
    assert (ran.status, ran.err) == (0, "")
    found: dict[str, Any] = json.loads(ran.out)
    return found


def of_contender(found: dict[str, Any], name: str) -> dict[str, Any]:
    (result,) = [each for each in found["results"] if each["contender"] == name]
    assert isinstance(result, dict)
    return result


def save_external(folder: Path, name: str) -> Path:
    """A model with one initializer of six numbers, in a data file."""
    (folder / name).write_bytes(np.arange(6, dtype=np.float32).tobytes())
    weight = TensorProto(
        name="w", data_type=1, dims=[6], data_location=TensorProto.DataLocation.EXTERNAL
    )
    weight.external_data.add(key="location", value=name)
    save(folder / "model.onnx", weight)
    return folder / "model.onnx"


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """One run with all installed peers."""
    path = save_external(tmp_path_factory.mktemp("bench"), "w.bin")
    ran = piped("bench", path, "--json", "--rounds", 1)
    return facts(Ran(ran.returncode, ran.stdout, ran.stderr)) | {"expected_path": str(path)}


class TestWithWhatIsInstalled:
    def test_the_page_says_what_was_measured(self, found: dict[str, Any]) -> None:
        path = Path(found["expected_path"])
        sizes = {str(file): file.stat().st_size for file in (path, path.with_name("w.bin"))}
        assert found["files"] == sizes
        assert (found["rounds"], found["cold"]) == (1, False)

    def test_every_installed_peer_takes_part(self, found: dict[str, Any]) -> None:
        there = [name for name, module in MODULES.items() if importlib.util.find_spec(module)]
        assert [result["contender"] for result in found["results"]] == there
        assert of_contender(found, "onnx")["version"] == onnx.__version__

    def test_results_are_complete(self, found: dict[str, Any]) -> None:
        for result in found["results"]:
            assert result.keys() == {"contender", "version", "error", "samples"}
            if result["error"] is not None:
                assert result["contender"] not in WITH_ARRAYS
                assert result["samples"] == []
                continue
            assert result["version"]
            (sample,) = result["samples"]
            if result["contender"] in WITH_ARRAYS:
                assert sample.keys() == bench.FIGURES.keys()
                assert 0 < sample["open_seconds"] < sample["arrays_seconds"]
                assert sample["arrays_seconds"] < sample["bytes_seconds"]
            else:
                assert sample.keys() == {"open_seconds", "own_bytes", "file_bytes"}
            assert min(sample.values()) >= 0


class TestPeers:
    @pytest.mark.usefixtures("alone")
    def test_no_peer_is_installed(self, run: Run, small: Path) -> None:
        found = facts(run("bench", small, "--json", "--rounds", 2))
        assert found["rounds"] == 2
        (result,) = found["results"]
        assert result["contender"] == "onnxmap"
        assert len(result["samples"]) == 2

    @pytest.mark.parametrize(
        ("code", "error"),
        [
            (
                "raise RuntimeError('cannot\\nstart \\x1b[31m')",
                "RuntimeError: cannot start \x1b[31m",
            ),
            (
                "import something_that_is_not_there",
                "ModuleNotFoundError: No module named 'something_that_is_not_there'",
            ),
            ("import os, signal\nos.kill(os.getpid(), signal.SIGKILL)", "ended with status -9"),
        ],
    )
    def test_a_failing_peer_says_why(
        self, run: Run, small: Path, stand_in: Stand, code: str, error: str
    ) -> None:
        stand_in("onnx", code)
        found = facts(run("bench", small, "--json", "--rounds", 1))
        failed = of_contender(found, "onnx")
        assert (failed["error"], failed["samples"]) == (error, [])
        assert len(of_contender(found, "onnxmap")["samples"]) == 1

    def test_a_peer_that_dies_at_work_is_reported(
        self, run: Run, small: Path, stand_in: Stand
    ) -> None:
        code = """
        import sys
        class InferenceSession:
            def __init__(self, path, providers):
                print("out of luck", file=sys.stderr, flush=True)
                import os
                os._exit(3)
        """
        stand_in("onnxruntime", code)
        found = facts(run("bench", small, "--json", "--rounds", 1))
        assert of_contender(found, "onnxruntime")["error"] == "ended with status 3: out of luck"

    def test_a_peer_that_reads_other_values_has_no_time(
        self, run: Run, tmp_path: Path, stand_in: Stand
    ) -> None:
        code = """
        import os
        from types import SimpleNamespace as Made
        import numpy as np
        __version__ = "1"
        def load(path):
            os.write(1, b"a peer may print")
            array = np.arange(1, 7, dtype=np.float32)
            value = Made(const_value=Made(numpy=lambda: array))
            return Made(graph=Made(initializers={"w": value}))
        """
        stand_in("onnx-ir", code)
        path = save_external(tmp_path, "w.bin")
        found = of_contender(facts(run("bench", path, "--json", "--rounds", 1)), "onnx-ir")
        assert found["error"] == "did not read the same as onnxmap"
        assert found["samples"] == []

    def test_a_missing_data_file_is_named_once(self, run: Run, tmp_path: Path) -> None:
        path = save_external(tmp_path, "w.bin")
        (tmp_path / "w.bin").unlink()
        said = run("bench", path).err
        assert said.count("w.bin") == 1
        assert "tensor 'w'" in said


class TestTheRun:
    def test_table_fits_the_terminal_and_errors_cannot_control_it(self, tmp_path: Path) -> None:
        for module in (*MODULES.values(),)[1:]:
            (tmp_path / f"{module}.py").write_text(r"raise RuntimeError('\x1b[31m ' * 100)")
        save(tmp_path / "model.onnx", tensor("w", np.ones(1000)))
        environment = {"PYTHONPATH": str(tmp_path)}
        command = ("bench", tmp_path / "model.onnx", "--rounds", 1)
        screen = on_terminal(80, *command, environment=environment)
        assert screen.status == 0
        assert screen.text.startswith("\ronnxmap\r\ronnx\r")  # who has its turn
        lines = screen.text.rpartition("\r")[2].splitlines()
        assert max(map(len, lines[:-4])) <= 80
        assert [line.split()[0] for line in lines[:-4]] == ["open", *MODULES]
        for peer, line in zip((*MODULES,)[1:], lines[-4:], strict=True):
            assert line == rf"{peer}: RuntimeError: " + " ".join([r"\x1b[31m"] * 100)

    @pytest.mark.usefixtures("alone")
    @pytest.mark.parametrize("options", [[], ["--cold"]])
    def test_files_leave_the_page_cache_before_each_cold_sample(
        self, run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, options: list[str]
    ) -> None:
        advised: list[tuple[str, int]] = []
        really_look = onnxmap.Model.residency

        def advise(descriptor: int, begin: int, end: int, advice: int) -> None:
            assert (begin, end) == (0, 0)
            advised.append((str(Path(f"/proc/self/fd/{descriptor}").readlink()), advice))

        def look(model: onnxmap.Model) -> onnxmap.Residency:
            """Pretend that the kernel followed the advice, which it need not do."""
            found = really_look(model)
            nothing = {name: onnxmap.ResidentBytes(0, one.total) for name, one in found.items()}
            return onnxmap.Residency(nothing) if advised else found

        monkeypatch.setattr(os, "posix_fadvise", advise)
        monkeypatch.setattr(onnxmap.Model, "residency", look)
        path = save_external(tmp_path, "w.bin")
        found = facts(run("bench", path, "--json", "--rounds", 2, *options))
        assert found["cold"] is bool(options)
        once = [(str(file), os.POSIX_FADV_DONTNEED) for file in (path, tmp_path / "w.bin")]
        times = 1 + 2  # one to see whether it works, and two samples
        assert advised == (once * times if options else [])

    def test_files_that_stay_in_the_page_cache_are_not_called_cold(
        self, run: Run, tmp_path: Path
    ) -> None:
        path = save_external(tmp_path, "w.bin")
        with locked(tmp_path / "w.bin", 0, 1):
            ran = run("bench", path, "--cold")
        assert (ran.status, ran.out) == (2, "")
        assert "100% of the initializers cannot leave the page cache" in ran.err

    @pytest.mark.parametrize("kind", ["fifo", "device", "elsewhere"])
    def test_external_data_are_opened_by_the_rules_of_the_package(
        self, run: Run, tmp_path: Path, kind: str
    ) -> None:
        """Otherwise a peer without such rules would open it, and wait for ever."""
        (tmp_path / "models").mkdir()
        path = save_external(tmp_path / "models", "w.bin")
        data = tmp_path / "models" / "w.bin"
        data.rename(tmp_path / "w.bin")
        if kind == "fifo":
            os.mkfifo(data)
        else:
            data.symlink_to("/dev/zero" if kind == "device" else tmp_path / "w.bin")
        ran = run("bench", path, "--rounds", 1)
        assert (ran.status, ran.out) == (2, "")
        assert "w.bin" in ran.err

    @pytest.mark.usefixtures("alone")
    def test_a_slow_contender_has_one_turn(
        self, run: Run, small: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(bench, "SLOW_SECONDS", 0.0)
        (result,) = facts(run("bench", small, "--json", "--rounds", 2))["results"]
        assert len(result["samples"]) == 1

    @pytest.mark.usefixtures("alone")
    def test_an_array_that_cannot_be_read_is_unreadable_input(
        self, run: Run, tmp_path: Path
    ) -> None:
        path = save_external(tmp_path, "w.bin")
        (tmp_path / "w.bin").write_bytes(b"short")
        ran = run("bench", path, "--rounds", 1)
        assert (ran.status, ran.out) == (2, "")
        assert ran.err.startswith("onnxmap: ")
        assert "w.bin" in ran.err
        assert ran.err.count("\n") == 1

    @pytest.mark.parametrize("rounds", ["0", "-1", "many"])
    def test_rounds_are_at_least_one(self, run: Run, small: Path, rounds: str) -> None:
        ran = run("bench", small, f"--rounds={rounds}")
        assert (ran.status, ran.out) == (2, "")
        assert "--rounds" in ran.err
        assert ran.err.count("\n") == 1

    def test_says_that_it_needs_linux(
        self, run: Run, small: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(bench, "STATUS", small / "status")
        ran = run("bench", small)
        assert (ran.status, ran.out) == (2, "")
        assert "only on Linux" in ran.err

    @pytest.mark.usefixtures("alone")
    def test_the_current_folder_is_not_searched(
        self, run: Run, small: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        folder = small.parent / "current"
        folder.mkdir()
        for module in ("numpy", "json", "encodings"):
            (folder / f"{module}.py").write_text("raise RuntimeError('from the current folder')")
        monkeypatch.chdir(folder)
        found = facts(run("bench", small, "--json", "--rounds", 1))
        assert all(result["error"] is None for result in found["results"])
