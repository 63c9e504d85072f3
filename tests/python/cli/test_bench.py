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
from support.cli_models import save, tensor
from support.cold_files import locked
from support.command_line import Ran, Run, on_terminal, piped

import onnxmap
from onnxmap.cli.bench import peers
from onnxmap.cli.bench import samples as bench_samples

WORKS = ("open", "arrays", "touch", "copies", "stream")
MODULES = ("onnx", "onnx_ir", "onnxruntime", "onnx_extended", "safetensors")
NOT_INSTALLED = "raise ModuleNotFoundError('no such module', name={!r})\n"
RESULT_KEYS = {
    "work", "contender", "error", "seconds", "median_seconds", "times_ours", "own_bytes",
    "file_bytes",
    "peak_bytes",
}  # fmt: skip

Stand = Callable[[str, str], None]


@pytest.fixture
def stand_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Stand:
    """Replace a peer by this code. All other peers are missing."""
    folder = tmp_path / "peers"

    def put(module: str, code: str) -> None:
        (folder / module).mkdir(parents=True, exist_ok=True)
        (folder / module / "__init__.py").write_text(textwrap.dedent(code))

    for module in MODULES:
        put(module, NOT_INSTALLED.format(module))
    monkeypatch.syspath_prepend(folder)
    monkeypatch.setenv("PYTHONPATH", str(folder))
    return put


@pytest.fixture
def only_open(monkeypatch: pytest.MonkeyPatch) -> None:
    """For tests that do not need any work to be done."""
    monkeypatch.setattr(bench_samples, "WORKS", {"open": "open"})


def facts(ran: Ran) -> dict[str, Any]:
    assert (ran.status, ran.err) == (0, "")
    found: dict[str, Any] = json.loads(ran.out)
    return found


def of_contender(found: dict[str, Any], name: str) -> dict[str, dict[str, Any]]:
    return {result["work"]: result for result in found["results"] if result["contender"] == name}


def save_external(folder: Path, name: str) -> Path:
    """A model with one initializer. Its data file is also a safetensors file."""
    array = np.arange(6, dtype=np.float32)
    header = json.dumps({"w": {"dtype": "F32", "shape": [6], "data_offsets": [0, 24]}}).encode()
    preamble = len(header).to_bytes(8, "little") + header
    (folder / name).write_bytes(preamble + array.tobytes())
    weight = TensorProto(
        name="w", data_type=1, dims=[6], data_location=TensorProto.DataLocation.EXTERNAL
    )
    for key, value in (("location", name), ("offset", len(preamble)), ("length", 24)):
        weight.external_data.add(key=key, value=str(value))
    save(folder / "model.onnx", weight)
    return folder / "model.onnx"


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """One run with all installed peers."""
    path = save_external(tmp_path_factory.mktemp("bench"), "w.safetensors")
    ran = piped("bench", path, "--json", "--rounds", 1)
    return facts(Ran(ran.returncode, ran.stdout, ran.stderr)) | {"expected_path": str(path)}


class TestWithWhatIsInstalled:
    def test_the_page_says_what_was_measured(self, found: dict[str, Any]) -> None:
        assert found["path"] == found["expected_path"]
        assert found["nbytes"] == Path(found["path"]).stat().st_size
        (file,) = found["external_files"]
        assert file["nbytes"] == Path(file["path"]).stat().st_size
        assert found["initializers"] == {"count": 1, "nbytes": 24}
        assert (found["rounds"], found["cold"]) == (1, False)
        assert found["cores"] == len(os.sched_getaffinity(0))

    def test_every_installed_peer_takes_part(self, found: dict[str, Any]) -> None:
        modules = {
            "onnx": "onnx", "onnx-ir": "onnx_ir", "onnxruntime": "onnxruntime",
            "onnx2": "onnx_extended", "safetensors": "safetensors",
        }  # fmt: skip
        there = {name for name, module in modules.items() if importlib.util.find_spec(module)}
        assert {result["contender"] for result in found["results"]} == {"onnxmap"} | there
        assert found["versions"].keys() == {"onnxmap"} | there
        assert found["versions"]["onnx"] == onnx.__version__

    def test_results_are_complete(self, found: dict[str, Any]) -> None:
        for result in found["results"]:
            assert result.keys() == RESULT_KEYS
            if result["error"] is None:
                assert len(result["seconds"]) == 1
                assert min(result["seconds"]) > 0
                assert min(result["seconds"]) <= result["median_seconds"] <= max(result["seconds"])
                assert result["times_ours"] > 0
                assert min(result["own_bytes"], result["file_bytes"], result["peak_bytes"]) >= 0
            else:
                assert result["seconds"] == []
                assert result["median_seconds"] is result["times_ours"] is None

    def test_ours_and_the_official_package_do_everything(self, found: dict[str, Any]) -> None:
        for name in ("onnxmap", "onnx", "onnx-ir"):
            results = of_contender(found, name)
            assert tuple(results) == WORKS
            assert [result["error"] for result in results.values()] == [None] * len(WORKS)
        assert {result["times_ours"] for result in of_contender(found, "onnxmap").values()} == {1.0}

    def test_a_runtime_only_opens(self, found: dict[str, Any]) -> None:
        assert set(of_contender(found, "onnxruntime")) <= {"open"}


class TestPeers:
    def test_no_peer_is_installed(self, run: Run, small: Path, stand_in: Stand) -> None:
        found = facts(run("bench", small, "--json", "--rounds", 2))
        assert found["rounds"] == 2
        assert [result["contender"] for result in found["results"]] == ["onnxmap"] * len(WORKS)
        assert list(found["versions"]) == ["onnxmap"]
        for result in found["results"]:
            seconds = result["seconds"]
            assert len(seconds) == 2
            assert min(seconds) <= result["median_seconds"] <= max(seconds)

    def test_a_failing_peer_says_why_in_its_cell(
        self, run: Run, small: Path, stand_in: Stand, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        stand_in("onnx", "raise RuntimeError('cannot\\nstart \\x1b[31m')")
        found = facts(run("bench", small, "--json", "--rounds", 1))
        errors = {name: result["error"] for name, result in of_contender(found, "onnx").items()}
        assert errors == dict.fromkeys(WORKS, "RuntimeError: cannot start \x1b[31m")
        assert all(result["seconds"] for result in of_contender(found, "onnxmap").values())
        monkeypatch.setattr(bench_samples, "WORKS", {"open": "open"})
        page = run("bench", small, "--rounds", 1)
        assert page.status == 0
        assert page.out.count(r"  onnx     RuntimeError: cannot start \x1b[31m") == 1

    @pytest.mark.usefixtures("only_open")
    def test_a_peer_that_lacks_a_part_of_itself_is_not_absent(
        self, run: Run, small: Path, stand_in: Stand
    ) -> None:
        stand_in("onnx_ir", "import something_that_is_not_there")
        found = facts(run("bench", small, "--json", "--rounds", 1))
        assert "something_that_is_not_there" in of_contender(found, "onnx-ir")["open"]["error"]

    @pytest.mark.usefixtures("only_open")
    def test_a_peer_that_dies_is_reported(self, run: Run, small: Path, stand_in: Stand) -> None:
        stand_in("onnxruntime", "import os, signal\nos.kill(os.getpid(), signal.SIGKILL)")
        found = facts(run("bench", small, "--json", "--rounds", 1))
        assert of_contender(found, "onnxruntime")["open"]["error"] == "ended by SIGKILL"

    @pytest.mark.usefixtures("only_open")
    def test_a_peer_that_dies_at_work_is_reported(
        self, run: Run, small: Path, stand_in: Stand
    ) -> None:
        code = """
        import sys
        class GraphOptimizationLevel:
            ORT_DISABLE_ALL = 0
        class SessionOptions:
            pass
        class InferenceSession:
            def __init__(self, *_, **__):
                print("out of luck", file=sys.stderr, flush=True)
                import os
                os._exit(3)
        """
        stand_in("onnxruntime", code)
        found = facts(run("bench", small, "--json", "--rounds", 1))
        error = of_contender(found, "onnxruntime")["open"]["error"]
        assert error == "ended with status 3: out of luck"

    def test_a_peer_that_reads_other_values_has_no_time(
        self, run: Run, tmp_path: Path, stand_in: Stand
    ) -> None:
        path = save_external(tmp_path, "w.safetensors")
        code = """
        import os
        import numpy as np
        from contextlib import contextmanager
        def load_file(path):
            return {"w": np.arange(1, 7, dtype=np.float32)}
        class File:
            keys = load_file("").keys
            get_tensor = staticmethod(lambda name: np.arange(6, dtype=np.float32))
        @contextmanager
        def safe_open(path, framework):
            os.write(1, b"a peer may print")
            yield File
        """
        stand_in("safetensors", code)
        (tmp_path / "peers/safetensors/numpy.py").write_text("from safetensors import load_file")
        found = of_contender(facts(run("bench", path, "--json", "--rounds", 1)), "safetensors")
        other = "did not read the same as onnxmap"
        assert {work: result["error"] for work, result in found.items()} == {
            "arrays": other, "touch": other, "copies": other, "stream": None,
        }  # fmt: skip
        assert found["copies"]["seconds"] == []

    @pytest.mark.parametrize(("name", "taken"), [("w.safetensors", True), ("w.bin", False)])
    def test_safetensors_takes_part_only_if_all_data_are_in_such_files(
        self,
        run: Run,
        tmp_path: Path,
        stand_in: Stand,
        monkeypatch: pytest.MonkeyPatch,
        name: str,
        taken: bool,
    ) -> None:
        stand_in("safetensors", "raise RuntimeError('here')")
        monkeypatch.setattr(bench_samples, "WORKS", {"arrays": "arrays"})
        found = facts(run("bench", save_external(tmp_path, name), "--json", "--rounds", 1))
        assert bool(of_contender(found, "safetensors")) is taken

    def test_only_installed_peers_are_planned(
        self, run: Run, small: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """The counter shows no others."""
        planned: list[str] = []

        def no_samples(plan: bench_samples.Plan, _: object) -> list[bench_samples.Samples]:
            planned.extend(plan.contenders)
            return []

        monkeypatch.setattr(bench_samples, "take_samples", no_samples)
        absent = peers.Contender("no_such_module", "no-such", peers.onnx)
        monkeypatch.setitem(peers.PEERS, "absent", absent)
        assert run("bench", small, "--json").status == 0
        assert {"onnxmap", "onnx"} <= set(planned)
        assert "absent" not in planned

    def test_a_missing_data_file_is_named_once(self, run: Run, tmp_path: Path) -> None:
        path = save_external(tmp_path, "w.bin")
        (tmp_path / "w.bin").unlink()
        said = run("bench", path).err
        assert said.count("w.bin") == 1
        assert "tensor 'w'" in said


class TestTheRun:
    def test_page_fits_the_terminal_and_a_bar_is_shown(
        self, tmp_path: Path, stand_in: Stand
    ) -> None:
        stand_in("onnx_ir", "raise RuntimeError('many words ' * 100)")
        path = tmp_path / ("long_name" * 20 + ".onnx")
        save(path, tensor("w", np.ones(1000)))
        screen = on_terminal(80, "bench", path, "--rounds", 1)
        assert screen.status == 0
        bar, _, page = screen.text.rpartition("1 initializer\n")
        assert "stream: onnxmap" in bar
        lines = page.splitlines()
        assert lines[0].startswith("1 round, ")
        assert max(map(len, lines)) <= 80
        assert sum("many words" in line for line in lines) == len(WORKS)

    @pytest.mark.usefixtures("only_open")
    @pytest.mark.parametrize("options", [[], ["--cold"]])
    def test_files_leave_the_page_cache_before_each_cold_sample(
        self,
        run: Run,
        tmp_path: Path,
        stand_in: Stand,
        monkeypatch: pytest.MonkeyPatch,
        options: list[str],
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
        times = 1 + 1 + 2  # one to see whether it works, one to warm up, and two samples
        assert advised == (once * times if options else [])

    def test_files_that_stay_in_the_page_cache_are_not_called_cold(
        self, run: Run, tmp_path: Path, stand_in: Stand
    ) -> None:
        path = save_external(tmp_path, "w.bin")
        with locked(tmp_path / "w.bin", 0, 1):
            ran = run("bench", path, "--cold")
        assert (ran.status, ran.out) == (2, "")
        assert "100% of the initializers cannot leave the page cache" in ran.err

    @pytest.mark.parametrize("kind", ["fifo", "device", "elsewhere"])
    def test_external_data_are_opened_by_the_rules_of_the_package(
        self, run: Run, tmp_path: Path, stand_in: Stand, kind: str
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

    @pytest.mark.usefixtures("only_open")
    def test_a_slow_peer_has_one_turn(
        self, run: Run, small: Path, stand_in: Stand, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(bench_samples, "SLOW_SECONDS", 0.0)
        (result,) = facts(run("bench", small, "--json", "--rounds", 2))["results"]
        assert len(result["seconds"]) == 1

    def test_an_array_that_cannot_be_read_is_unreadable_input(
        self, run: Run, tmp_path: Path, stand_in: Stand
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

    @pytest.mark.usefixtures("only_open")
    def test_the_current_folder_is_not_searched(
        self, run: Run, small: Path, stand_in: Stand, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        folder = small.parent / "current"
        folder.mkdir()
        for module in ("numpy", "json", "encodings"):
            (folder / f"{module}.py").write_text("raise RuntimeError('from the current folder')")
        monkeypatch.chdir(folder)
        found = facts(run("bench", small, "--json", "--rounds", 1))
        assert all(result["error"] is None for result in found["results"])
