"""`onnxmap save`: each option, standard input and output, the report, and how it fails."""

from __future__ import annotations

import hashlib
import io
import json
import re
import subprocess
import sys
from contextlib import redirect_stderr
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import onnx
import pytest
from support.models.weighted import (
    Values,
    locations_of,
    names_in,
    save_weighted,
    values_of,
)
from support.processes.command_line import Ran, Run, on_terminal

import onnxmap
from onnxmap.cli import bar


class TestOptions:
    def test_by_default_each_weight_stays_where_it_is(
        self, run: Run, model: Path, values: Values
    ) -> None:
        ran = run("save", model, model.parent / "n.onnx", "--json")
        assert ran.status == 0
        assert locations_of(model.parent / "n.onnx") == {"outside": "w.bin"}
        assert values_of(model.parent / "n.onnx") == values
        report = json.loads(ran.out)
        assert report["files"] == [str(model.parent / "n.onnx")]
        assert report["bytes_referenced"] == 2000
        assert report["unused"] == {}  # m.onnx uses w.bin

    def test_inline(self, run: Run, model: Path, values: Values) -> None:
        assert run("save", model, model.parent / "n.onnx", "--inline").status == 0
        (model.parent / "w.bin").unlink()
        assert locations_of(model.parent / "n.onnx") == {}
        assert values_of(model.parent / "n.onnx") == values

    @pytest.mark.parametrize("name", ["n.data", "view"])
    def test_external_data(self, run: Run, model: Path, values: Values, name: str) -> None:
        out = model.parent / "n.onnx"
        ran = run("save", model, out, "--external-data", name, "--json")
        assert ran.status == 0
        assert locations_of(out) == {"outside": name, "inside": name}
        assert values_of(out) == values
        assert json.loads(ran.out)["files"] == [str(model.parent / name), str(out)]

    def test_view(self, run: Run, model: Path, values: Values) -> None:
        out = model.parent / "n.onnx"
        assert run("save", model, out, "--view").status == 0
        assert locations_of(out) == {"outside": "w.bin", "inside": "m.onnx"}
        assert out.stat().st_size < 1000
        assert values_of(out) == values

    def test_threshold(self, run: Run, model: Path) -> None:
        out = model.parent / "n.onnx"
        options = ("--external-data", "n.data", "--threshold")
        assert run("save", model, out, *options, "2kB").status == 0
        assert set(locations_of(out)) == {"outside", "inside"}
        assert run("save", model, out, *options, "2001").status == 0
        assert locations_of(out) == {}

    @pytest.mark.parametrize("options", [("--inline",), ("--external-data", "n.data")])
    def test_align(self, run: Run, model: Path, options: tuple[str, ...]) -> None:
        out = model.parent / "n.onnx"
        assert run("save", model, out, *options, "--align", 512).status == 0
        offsets = [tensor.offset for tensor in onnxmap.load(out).initializers.values()]
        assert len(offsets) == 2
        assert all(offset is not None and offset % 512 == 0 for offset in offsets)

    def test_dedupe_and_shards(self, run: Run, model: Path) -> None:
        proto = onnx.load(model)
        proto.graph.initializer[1].raw_data = proto.graph.initializer[0].raw_data
        onnx.save(proto, model)
        out = model.parent / "n.onnx"
        options = ("--external-data", "n.data", "--shard-size", "4KiB")
        assert run("save", model, out, *options).status == 0
        assert sorted(locations_of(out).values()) == [
            "n-00001-of-00002.data",
            "n-00002-of-00002.data",
        ]
        assert run("save", model, out, *options, "--dedupe").status == 0
        assert set(locations_of(out).values()) == {"n.data"}

    def test_checksum(self, run: Run, model: Path) -> None:
        out = model.parent / "n.onnx"
        assert run("save", model, out, "--external-data", "n.data", "--checksum").status == 0
        digest = hashlib.sha1((model.parent / "n.data").read_bytes()).hexdigest()
        assert run("verify", out).out.split() == ["ok", str(model.parent / "n.data"), digest]

    def test_attributes(self, run: Run, hidden: Path) -> None:
        out = hidden.parent / "n.onnx"
        options = ("--external-data", "n.data", "--threshold", 1)
        ran = run("save", hidden, out, *options)
        assert ran.status == 2
        assert "--attributes takes them as they are" in ran.err
        assert run("save", hidden, out, *options, "--attributes").status == 0
        assert sum(tensor.is_external for _, tensor in onnxmap.load(out).tensors()) == 6

    def test_attributes_of_a_view(self, run: Run, hidden: Path) -> None:
        out = hidden.parent / "n.onnx"
        options = ("--view", "--threshold", 1)
        assert run("save", hidden, out, *options).status == 2
        assert run("save", hidden, out, *options, "--attributes").status == 0
        assert sum(tensor.is_external for _, tensor in onnxmap.load(out).tensors()) == 6

    def test_no_overwrite(self, run: Run, model: Path) -> None:
        before = model.read_bytes()
        ran = run("save", model, model, "--inline", "--no-overwrite")
        assert (ran.status, ran.out) == (2, "")
        assert ran.err == f"onnxmap: {model}: File exists\n"
        assert model.read_bytes() == before
        assert run("save", model, model, "--inline").status == 0
        assert model.read_bytes() != before

    def test_symbolic_links(self, run: Run, model: Path) -> None:
        link, target = model.parent / "link.onnx", model.parent / "target.onnx"
        target.write_bytes(b"old")
        link.symlink_to("target.onnx")
        assert run("save", model, link, "--follow-symlinks").status == 0
        assert link.is_symlink()
        assert values_of(target) == values_of(model)
        target.write_bytes(b"old")
        assert run("save", model, link).status == 0
        assert not link.is_symlink()
        assert target.read_bytes() == b"old"

    @pytest.mark.parametrize(("options", "synced"), [((), True), (("--no-sync",), False)])
    def test_no_sync(
        self,
        run: Run,
        model: Path,
        options: tuple[str, ...],
        synced: bool,
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        asked = []

        def save(*_: object, sync: bool, **__: object) -> onnxmap.SaveReport:
            asked.append(sync)
            return onnxmap.SaveReport()

        monkeypatch.setattr(onnxmap, "save", save)
        assert run("save", model, model.parent / "n.onnx", *options).status == 0
        assert asked == [synced]

    def test_more_than_2_gib(self, run: Run, tmp_path: Path) -> None:
        """A sparse file, of which nothing is written: the disk is not asked for 2 GiB."""
        weight = onnx.TensorProto(name="w", data_type=2, dims=[1 << 31], data_location=1)
        weight.external_data.add(key="location", value="w.bin")
        with (tmp_path / "w.bin").open("wb") as file:
            file.truncate(1 << 31)
        model = onnx.ModelProto(ir_version=10)
        model.graph.initializer.append(weight)
        (tmp_path / "m.onnx").write_bytes(model.SerializeToString())
        ran = run("save", tmp_path / "m.onnx", tmp_path / "n.onnx", "--inline")
        assert ran.status == 2
        advice = "with --external-data weights.data, or pass --allow-over-2gib"
        assert ran.err.endswith(f"{advice}\n")
        ran = run("set", tmp_path / "m.onnx", "k=v", "-o", tmp_path / "n.onnx")
        assert ran.status == 0
        (tmp_path / "n.onnx").unlink()
        assert names_in(tmp_path) == {"m.onnx", "w.bin"}

    def test_another_type(self, run: Run, tmp_path: Path) -> None:
        weights = {"a.w": np.float32([1, 1e6]), "b": np.float32([2])}
        onnxmap.from_arrays(weights).save(tmp_path / "m.onnx")
        files = (tmp_path / "m.onnx", tmp_path / "n.onnx")
        ran = run("save", *files, "--dtype", "float16")
        assert ran.status == 2
        assert ran.err.endswith("; --allow-loss writes them as infinity, the largest number or 0\n")
        assert run("save", *files, "--dtype", "float16", "--allow-loss").status == 0
        assert list(onnxmap.load(files[1]).initializers) == ["a.w.float16", "b.float16"]
        options = ("--dtype", "a.*=bfloat16", "--dtype", "float64")
        assert run("save", *files, *options).status == 0
        assert list(onnxmap.load(files[1]).initializers) == ["a.w.bfloat16", "b.float64"]
        for wrong, text in (("c=float16", "matches 'c'"), ("int8", "--dtype TYPE must be one of")):
            ran = run("save", *files, "--dtype", wrong)
            assert ran.status == 2
            assert text in ran.err

    def test_the_options_of_opening(self, run: Run, model: Path, values: Values) -> None:
        out = model.parent / "other"
        out.mkdir()
        (out / "m.onnx").write_bytes(model.read_bytes())
        assert run("save", out / "m.onnx", out / "n.onnx", "--inline").status == 2
        options = ("--inline", "--external-root", model.parent)
        assert run("save", out / "m.onnx", out / "n.onnx", *options).status == 0
        assert values_of(out / "n.onnx") == values


class TestStreams:
    def test_standard_output(self, model: Path) -> None:
        save = [sys.executable, "-m", "onnxmap", "save", str(model), "-", "--inline"]
        ran = subprocess.run(save, capture_output=True, check=False)
        assert (ran.returncode, ran.stderr) == (0, b"")
        onnxmap.save(onnxmap.load(model), model.parent / "n.onnx", external_data=False)
        assert ran.stdout == (model.parent / "n.onnx").read_bytes()

    @pytest.mark.parametrize(
        "words",
        [
            ("save", "m.onnx", "-"),
            ("set", "m.onnx", "k=v", "-o", "-"),
            ("rename-tensor", "m.onnx", "inside", "new", "-o", "-"),
        ],
    )
    def test_standard_output_of_a_model_with_a_side_file(
        self, model: Path, values: Values, words: tuple[str, ...]
    ) -> None:
        """All three commands leave the values where they are."""
        edited = onnxmap.load(model)
        edited.initializers["outside"] = np.zeros(500, np.float32)
        edited.save(model, sync=False)
        assert locations_of(model) == {"outside": "m.onnx.edited.data"}
        ran = subprocess.run(
            [sys.executable, "-m", "onnxmap", *words],
            capture_output=True,
            check=False,
            cwd=model.parent,
        )
        assert (ran.returncode, ran.stderr) == (0, b"")
        (model.parent / "n.onnx").write_bytes(ran.stdout)
        assert locations_of(model.parent / "n.onnx") == {"outside": "m.onnx.edited.data"}
        assert sorted(values_of(model.parent / "n.onnx").values()) == [
            [0.0] * 500,
            values["inside"],
        ]

    def test_standard_input(
        self, run: Run, model: Path, values: Values, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        stdin = SimpleNamespace(buffer=io.BytesIO(model.read_bytes()))
        monkeypatch.setattr(sys, "stdin", stdin)
        assert run("save", "-", model.parent / "n.onnx").status == 0
        assert (model.parent / "n.onnx").read_bytes() == model.read_bytes()

    @pytest.mark.parametrize("words", [("save", "-"), ("set", "-", "k=v", "-o")])
    def test_standard_input_with_data_files_elsewhere(
        self,
        run: Run,
        model: Path,
        values: Values,
        monkeypatch: pytest.MonkeyPatch,
        words: tuple[str, ...],
    ) -> None:
        """Without its folder, the new model would refer to files that are not there."""
        to = model.parent / "to"
        to.mkdir()

        def pipe(*options: object) -> Ran:
            stdin = SimpleNamespace(buffer=io.BytesIO(model.read_bytes()))
            monkeypatch.setattr(sys, "stdin", stdin)
            return run(*words, to / "n.onnx", *options)

        ran = pipe()
        assert (ran.status, ran.out) == (2, "")
        assert f"has values in w.bin, which is not in {to}; name the folder of its data" in ran.err
        assert names_in(to) == set()
        assert pipe("--external-root", model.parent).status == 0
        assert values_of(to / "n.onnx") == values

    def test_a_terminal_gets_no_model(self, model: Path) -> None:
        screen = on_terminal(80, "save", model, "-")
        assert screen.status == 2
        assert (
            screen.text
            == "onnxmap: refusing to write a model to a terminal; redirect standard output\n"
        )

    def test_a_pipe_that_closes_early_is_a_failure(self, tmp_path: Path) -> None:
        save_weighted(tmp_path / "m.onnx", {f"w{i}": None for i in range(200)})
        save = f"{sys.executable} -m onnxmap save {tmp_path}/m.onnx -"
        line = f"({save}; echo $? >&2) | head -c 9 >{tmp_path}/head"
        ran = subprocess.run(["sh", "-c", line], capture_output=True, text=True, check=False)
        assert ran.stderr.splitlines() == [
            "onnxmap: standard output was closed before it had the whole model",
            "2",
        ]

    @pytest.mark.parametrize(
        ("options", "said"),
        [
            (("--json",), "--json prints the report where the model goes"),
            (("--external-data", "f"), "standard output has no folder for a data file"),
            (("--view",), "standard output has no folder for a data file or a view"),
        ],
    )
    def test_what_standard_output_cannot_have(
        self, run: Run, model: Path, options: tuple[str, ...], said: str
    ) -> None:
        ran = run("save", model, "-", *options)
        assert (ran.status, ran.out) == (2, "")
        assert said in ran.err


@pytest.mark.parametrize("words", [("save",), ("cp",), ("mv",), ("edit", "--prune")])
@pytest.mark.parametrize("name", ["w.safetensors", "w.npz"])
def test_a_model_gets_no_name_of_weights(
    run: Run, model: Path, words: tuple[str, ...], name: str
) -> None:
    ran = run(words[0], model, model.parent / name, *words[1:])
    assert (ran.status, ran.out) == (2, "")
    advice = "which cannot hold a graph; onnxmap convert IN w.safetensors writes one"
    assert ran.err == f"onnxmap: {name!r} is the name of a file of weights, {advice}\n"
    assert not (model.parent / name).exists()


class TestReport:
    def test_lines(self, run: Run, model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.chdir(model.parent)
        ran = run("save", "m.onnx", "m.onnx", "--external-data", "n.data")
        size = Path("m.onnx").stat().st_size
        first, second, *unused, last = ran.out.splitlines()
        assert first.split() == ["wrote", "n.data", "6.1", "kB"]
        assert second.split() == ["wrote", "m.onnx", str(size), "B"]
        assert [line.split()[:2] for line in unused] == [["unused", "w.bin"]]
        assert last.endswith(" kB copied, 0 B referenced")

    def test_names_are_escaped(self, run: Run, model: Path) -> None:
        ran = run("save", model, model.parent / "evil\x1b[2J.onnx")
        assert ran.status == 0
        assert re.sub(r"[\n\t]", "", ran.out).isprintable()

    @pytest.mark.parametrize(("seconds", "shown"), [(0.0, True), (60.0, False)])
    def test_a_bar_shows_only_for_longer_work(
        self, run: Run, model: Path, monkeypatch: pytest.MonkeyPatch, seconds: float, shown: bool
    ) -> None:
        class Terminal(io.StringIO):
            def isatty(self) -> bool:
                return True

        monkeypatch.setattr(bar, "SECONDS_BEFORE_A_BAR", seconds)
        for terminal, expected in ((Terminal(), shown), (io.StringIO(), False)):
            with redirect_stderr(terminal):
                assert run("save", model, model.parent / "n.onnx").status == 0
            assert ("saving" in terminal.getvalue()) == expected
            assert terminal.getvalue()[-1:] in ("", "\r")  # the bar has gone

    def test_no_bar_without_tqdm(
        self, run: Run, model: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(bar, "SECONDS_BEFORE_A_BAR", 0.0)
        monkeypatch.setitem(sys.modules, "tqdm", None)
        monkeypatch.setattr(sys, "stderr", terminal := io.StringIO())
        monkeypatch.setattr(terminal, "isatty", lambda: True, raising=False)
        assert run("save", model, model.parent / "n.onnx").status == 0
        assert terminal.getvalue() == ""


class TestFailures:
    @pytest.mark.parametrize(
        ("options", "said"),
        [
            (("--checksum",), "--checksum needs --external-data F"),
            (("--dedupe",), "--dedupe needs --external-data F"),
            (("--shard-size", "1MB"), "--shard-size SIZE needs --external-data F"),
            (("--attributes", "--inline"), "--attributes needs --external-data F or --view"),
            (("--view", "--align", "64"), "--align N has no use with --view: values stay"),
            (("--allow-loss",), "--allow-loss needs --dtype TYPE"),
            (("--inline", "--view"), "not allowed with argument --inline"),
            (("--align", "48"), "--align N must be a power of two, not 48"),
            (("--threshold", "big"), "a size is written like"),
            (("--external-data", ""), "--external-data F must not be empty"),
            (("--external-data", "../w"), "is unsafe: outside the model directory"),
            (("--external-data", "con"), "'con' is a reserved name"),
            (("--external-data", "sub/"), "is not a file"),
        ],
    )
    def test_bad_usage_is_one_line(
        self, run: Run, model: Path, options: tuple[str, ...], said: str
    ) -> None:
        before = names_in(model.parent)
        ran = run("save", model, model.parent / "n.onnx", *options)
        assert (ran.status, ran.out) == (2, "")
        assert ran.err.count("\n") == 1
        assert said in ran.err
        assert names_in(model.parent) == before

    def test_a_folder_that_is_missing(self, run: Run, model: Path) -> None:
        path = model.parent / "gone/n.onnx"
        ran = run("save", model, path, "--inline")
        assert (ran.status, ran.err) == (2, f"onnxmap: {path}: No such file or directory\n")

    def test_no_data_file_goes_through_a_link_in_the_new_folder(
        self, run: Run, tmp_path: Path
    ) -> None:
        save_weighted(tmp_path / "m.onnx", {"w": "sub/w.bin"})
        (tmp_path / "other").mkdir()
        (tmp_path / "victim").mkdir()
        (tmp_path / "other/sub").symlink_to("../victim")
        ran = run("save", tmp_path / "m.onnx", tmp_path / "other/m.onnx")
        assert ran.status == 2
        assert "'sub/w.bin' would be behind a symbolic link" in ran.err
        assert names_in(tmp_path / "victim") == set()

    def test_a_view_that_is_none_any_more_loads(
        self, run: Run, model: Path, values: Values, tmp_path: Path
    ) -> None:
        view, other = tmp_path / "view.onnx", tmp_path / "other"
        other.mkdir()
        assert run("save", model, view, "--view").status == 0
        for name, options in {
            "kept.onnx": (),
            "inside.onnx": ("--inline",),
            "outside.onnx": ("--external-data", "o.data"),
        }.items():
            assert run("save", view, other / name, *options).status == 0
            loaded = onnxmap.load(other / name)
            assert dict(loaded.metadata_props) == {"author": "somebody"}
            assert {k: v.tolist() for k, v in loaded.views().items()} == values
        ran = run("save", view, tmp_path / "view2.onnx", "--view")
        assert (ran.status, ran.err) == (2, "onnxmap: the model is a view already\n")
