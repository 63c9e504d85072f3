"""`onnxmap cp`: the copy shares nothing with the old model, whose files stay as they are."""

from __future__ import annotations

import hashlib
import json
import os
from pathlib import Path

import onnx
import pytest
from google.protobuf import text_format
from support.models.weighted import GARBAGE, locations_of, names_in, save_weighted, values_of
from support.processes.command_line import Run
from support.remote.range_server import serving

import onnxmap


def contents(folder: Path) -> dict[str, bytes]:
    return {name: (folder / name).read_bytes() for name in names_in(folder)}


class TestNames:
    @pytest.mark.parametrize(
        ("old", "new"),
        [
            ("m.onnx.data", "n.onnx.data"),
            ("m.onnx_data", "n.onnx_data"),
            ("m.weights", "n.weights"),
            ("m-1.bin", "n-1.bin"),
            ("more.bin", "n.more.bin"),
            ("sub/w.bin", "sub/n.w.bin"),
            ("./w.bin", "n.w.bin"),
            ("weights", "n.weights"),
            ("weights.py", "n.weights.py.data"),
            (".hidden", "n.hidden.data"),
            (".w.bin", "n.w.bin"),
        ],
    )
    def test_beside_the_old_model_each_data_file_gets_a_new_name(
        self, run: Run, tmp_path: Path, old: str, new: str
    ) -> None:
        values = save_weighted(tmp_path / "m.onnx", {"a": old, "b": None})
        before = contents(tmp_path)
        assert run("cp", tmp_path / "m.onnx", tmp_path / "n.onnx").status == 0
        assert locations_of(tmp_path / "n.onnx") == {"a": new}
        assert contents(tmp_path).items() > before.items()
        for name in before:
            (tmp_path / name).unlink()
        assert values_of(tmp_path / "n.onnx") == values
        assert names_in(tmp_path) == {"n.onnx", str(Path(new))}

    @pytest.mark.parametrize(
        ("options", "locations"),
        [((), {"a": "m.data"}), (("--overwrite",), {"a": "m.data", "b": "m.m.data"})],
    )
    @pytest.mark.parametrize("new", ["m", "m.pb"])
    def test_a_model_of_the_same_stem(
        self,
        run: Run,
        tmp_path: Path,
        new: str,
        options: tuple[str, ...],
        locations: dict[str, str | None],
    ) -> None:
        values = save_weighted(tmp_path / "m.onnx", locations)
        before = contents(tmp_path)
        assert run("cp", *options, tmp_path / "m.onnx", tmp_path / new).status == 0
        assert contents(tmp_path).items() > before.items()
        assert values_of(tmp_path / "m.onnx") == values_of(tmp_path / new) == values
        assert not set(locations_of(tmp_path / new).values()) & before.keys()

    def test_names_that_would_be_equal(self, run: Run, tmp_path: Path) -> None:
        locations = {"a": "w", "b": "m.w", "c": "m.m.w"}
        values = save_weighted(tmp_path / "m.onnx", locations)
        assert run("cp", tmp_path / "m.onnx", tmp_path / "n.onnx").status == 0
        new = {"a": "n.w.data", "b": "n.m.w.data", "c": "n.m.m.w.data"}
        assert locations_of(tmp_path / "n.onnx") == new
        assert values_of(tmp_path / "n.onnx") == values

    @pytest.mark.parametrize("name", ["m.onnx", "n.onnx"])
    def test_in_another_folder_names_stay(self, run: Run, tmp_path: Path, name: str) -> None:
        locations = {"a": "w.bin", "b": "sub/v.bin", "c": "m.onnx.data"}
        values = save_weighted(tmp_path / "m.onnx", locations)
        (tmp_path / "to").mkdir()
        out = tmp_path / "to" / name
        place = out.parent if name == "m.onnx" else out
        assert run("cp", tmp_path / "m.onnx", place).status == 0
        new = {"a": "w.bin", "b": f"{out.stem}.v.bin", "c": f"{name}.data"}
        assert locations_of(out) == new
        assert values_of(out) == values
        assert names_in(out.parent) == {name, *new.values()}

    @pytest.mark.parametrize("out", ["n.onnx", "to/m.onnx"])
    def test_two_spellings_of_one_location(self, run: Run, tmp_path: Path, out: str) -> None:
        values = save_weighted(tmp_path / "m.onnx", {"a": "w.bin", "b": "./w.bin"})
        (tmp_path / "to").mkdir()
        assert run("cp", tmp_path / "m.onnx", tmp_path / out).status == 0
        new = "n.w.bin" if out == "n.onnx" else "w.bin"
        assert locations_of(tmp_path / out) == {"a": new, "b": new}
        assert values_of(tmp_path / out) == values

    def test_a_shared_data_file_gets_a_name_of_its_own(self, run: Run, tmp_path: Path) -> None:
        """So both models can be copied into one folder."""
        values = {}
        for seed, name in ((1, "encoder"), (10, "decoder")):
            values[name] = save_weighted(
                tmp_path / f"{name}.onnx", {f"{name}.w": "shared.bin", "b": f"{name}.bin"}, seed
            )
        (tmp_path / "to").mkdir()
        for name, expected in values.items():
            assert run("cp", tmp_path / f"{name}.onnx", tmp_path / "to").status == 0
            out = tmp_path / "to" / f"{name}.onnx"
            assert values_of(out) == expected
            assert set(locations_of(out).values()) == {f"{name}.shared.bin", f"{name}.bin"}

    def test_a_view_becomes_a_whole_model(self, run: Run, tmp_path: Path) -> None:
        values = save_weighted(tmp_path / "m.onnx", {"a": "w.bin", "b": None})
        onnxmap.save(onnxmap.load(tmp_path / "m.onnx"), tmp_path / "v.onnx", external_data="view")
        (tmp_path / "to").mkdir()
        for out in (tmp_path / "n.onnx", tmp_path / "to/v.onnx"):
            assert run("cp", tmp_path / "v.onnx", out).status == 0
            assert not any(name.endswith(".onnx") for name in locations_of(out).values())
        (tmp_path / "m.onnx").unlink()
        for out in (tmp_path / "n.onnx", tmp_path / "to/v.onnx"):
            assert values_of(out) == values
            assert dict(onnxmap.load(out).metadata_props) == {"author": "somebody"}


class TestContent:
    def test_a_model_without_data_files_is_copied_byte_for_byte(
        self, run: Run, tmp_path: Path
    ) -> None:
        save_weighted(tmp_path / "m.onnx", {"a": None})
        assert run("cp", tmp_path / "m.onnx", tmp_path / "n.onnx").status == 0
        assert (tmp_path / "n.onnx").read_bytes() == (tmp_path / "m.onnx").read_bytes()

    def test_bytes_that_nobody_uses_are_not_copied(self, run: Run, tmp_path: Path) -> None:
        save_weighted(tmp_path / "m.onnx", {"a": "m.data"})
        assert run("cp", tmp_path / "m.onnx", tmp_path / "n.onnx").status == 0
        assert GARBAGE in (tmp_path / "m.data").read_bytes()
        assert GARBAGE not in (tmp_path / "n.data").read_bytes()

    def test_checksums_are_those_of_the_copies(self, run: Run, tmp_path: Path) -> None:
        save_weighted(tmp_path / "m.onnx", {"a": "m.data", "b": "w.bin"})
        model = onnx.load(tmp_path / "m.onnx", load_external_data=False)
        digest = hashlib.sha1((tmp_path / "m.data").read_bytes()).hexdigest()
        model.graph.initializer[0].external_data.add(key="checksum", value=digest)
        (tmp_path / "m.onnx").write_bytes(model.SerializeToString())
        assert run("cp", tmp_path / "m.onnx", tmp_path / "n.onnx").status == 0
        found = onnxmap.load(tmp_path / "n.onnx").verify()
        assert set(found) == {str(tmp_path / "n.data"), str(tmp_path / "n.w.bin")}
        assert digest not in found.values()

    def test_from_a_url(self, run: Run, tmp_path: Path) -> None:
        pytest.importorskip("fsspec")
        (tmp_path / "served").mkdir()
        (tmp_path / "to").mkdir()
        values = save_weighted(tmp_path / "served/m.onnx", {"a": "m.data", "b": None})

        with serving(tmp_path / "served") as server:
            ran = run("cp", f"{server.url}/m.onnx", tmp_path / "to")
        assert ran.status == 0, ran.err
        assert values_of(tmp_path / "to/m.onnx") == values

    def test_a_link_is_followed(self, run: Run, tmp_path: Path) -> None:
        (tmp_path / "blobs").mkdir()
        (tmp_path / "to").mkdir()
        values = save_weighted(tmp_path / "blobs/m.onnx", {"a": "w.bin"})
        (tmp_path / "link.onnx").symlink_to("blobs/m.onnx")
        (tmp_path / "w.bin").symlink_to("blobs/w.bin")
        assert run("cp", tmp_path / "link.onnx", tmp_path / "to").status == 0
        assert values_of(tmp_path / "to/link.onnx") == values
        assert not any((tmp_path / "to" / name).is_symlink() for name in names_in(tmp_path / "to"))


class TestTakenNames:
    def test_they_are_refused(self, run: Run, tmp_path: Path) -> None:
        save_weighted(tmp_path / "m.onnx", {"a": "m.data"})
        for taken in ("n.onnx", "n.data"):
            (tmp_path / taken).write_bytes(b"mine")
            before = contents(tmp_path)
            ran = run("cp", tmp_path / "m.onnx", tmp_path / "n.onnx")
            assert (ran.status, ran.out) == (2, "")
            condition = (
                ""
                if taken == "n.onnx"
                else f" if only the old {tmp_path / 'n.onnx'} uses it, else takes another name"
            )
            found = f"{tmp_path / taken} exists; --overwrite replaces it{condition}"
            assert ran.err == f"onnxmap: {found}\n"
            assert contents(tmp_path) == before
            (tmp_path / taken).unlink()

    def test_overwrite(self, run: Run, tmp_path: Path) -> None:
        values = save_weighted(tmp_path / "m.onnx", {"a": "m.data"})
        save_weighted(tmp_path / "n.onnx", {"a": "n.data"}, first_seed=5)
        ran = run("cp", tmp_path / "m.onnx", tmp_path / "n.onnx", "--overwrite")
        assert ran.status == 0
        assert values_of(tmp_path / "n.onnx") == values == values_of(tmp_path / "m.onnx")

    @pytest.mark.parametrize("user", ["other.onnx", "m.onnx", "broken.onnx"])
    def test_what_the_replaced_model_does_not_own_is_never_replaced(
        self, run: Run, tmp_path: Path, user: str
    ) -> None:
        """The old model counts, and so does a model that cannot be read."""
        locations = {"a": "m.data", "b": "n.data"} if user == "m.onnx" else {"a": "m.data"}
        save_weighted(tmp_path / "m.onnx", locations)
        if user == "other.onnx":
            save_weighted(tmp_path / user, {"c": "n.data"}, first_seed=5)
        elif user == "broken.onnx":
            (tmp_path / user).write_bytes(b"\xff")
            (tmp_path / "n.data").write_bytes(b"maybe of the broken model")
        before = contents(tmp_path)
        ran = run("cp", tmp_path / "m.onnx", tmp_path / "n.onnx", "--overwrite")
        assert ran.status == 0
        assert contents(tmp_path).items() > before.items()
        assert locations_of(tmp_path / "n.onnx")["a"] == "n.m.data"
        assert values_of(tmp_path / "n.onnx") == values_of(tmp_path / "m.onnx")

    @pytest.mark.parametrize("command", ["cp", "mv"])
    def test_a_file_of_the_user(self, run: Run, tmp_path: Path, command: str) -> None:
        """Also if there is an old model, which does not use it."""
        values = save_weighted(tmp_path / "m.onnx", {"a": "notes.bin"})
        (tmp_path / "to").mkdir()
        save_weighted(tmp_path / "to/m.onnx", {"a": "old.bin"}, first_seed=5)
        (tmp_path / "to/notes.bin").write_bytes(b"mine")
        ran = run(command, tmp_path / "m.onnx", tmp_path / "to", "--overwrite")
        assert ran.status == 0, ran.err
        assert (tmp_path / "to/notes.bin").read_bytes() == b"mine"
        assert locations_of(tmp_path / "to/m.onnx") == {"a": "m.notes.bin"}
        assert values_of(tmp_path / "to/m.onnx") == values

    @pytest.mark.parametrize("command", ["cp", "mv"])
    @pytest.mark.parametrize("name", ["n.onnx", "n.data"])
    def test_a_protected_file(self, run: Run, tmp_path: Path, command: str, name: str) -> None:
        values = save_weighted(tmp_path / "m.onnx", {"a": "m.data"})
        save_weighted(tmp_path / "n.onnx", {"a": "n.data"}, first_seed=5)
        (tmp_path / name).chmod(0o444)
        before = contents(tmp_path)
        words = command, tmp_path / "m.onnx", tmp_path / "n.onnx", "--overwrite"
        ran = run(*words)
        assert (ran.status, ran.out) == (2, "")
        assert "Permission denied" in ran.err
        assert contents(tmp_path) == before
        assert run(*words, "--replace-read-only").status == 0
        assert values_of(tmp_path / "n.onnx") == values

    @pytest.mark.parametrize("command", ["cp", "mv"])
    def test_a_pipe_or_a_link_to_one(self, run: Run, tmp_path: Path, command: str) -> None:
        save_weighted(tmp_path / "m.onnx", {"a": None})
        os.mkfifo(tmp_path / "pipe")
        (tmp_path / "link").symlink_to("pipe")
        for name in ("pipe", "link"):
            ran = run(command, tmp_path / "m.onnx", tmp_path / name, "--overwrite")
            assert (ran.status, ran.out) == (2, "")
            assert "is not a regular file" in ran.err
            assert (tmp_path / "pipe").is_fifo()
            assert (tmp_path / "link").is_symlink()


class TestFailures:
    def test_the_same_file(self, run: Run, tmp_path: Path) -> None:
        save_weighted(tmp_path / "m.onnx", {"a": None})
        for place in (tmp_path, tmp_path / "m.onnx"):
            for command in ("cp", "mv"):
                ran = run(command, tmp_path / "m.onnx", place, "--overwrite")
                assert (ran.status, ran.out) == (2, "")
                assert ran.err == f"onnxmap: {tmp_path / 'm.onnx'} and {place} are the same file\n"

    @pytest.mark.parametrize("command", ["cp", "mv"])
    def test_dashes_and_folders_that_are_missing(
        self, run: Run, tmp_path: Path, command: str
    ) -> None:
        save_weighted(tmp_path / "m.onnx", {"a": None})
        for places, said in (
            (("-", tmp_path), "cp and mv take files; for a file of that name write ./-"),
            ((tmp_path / "m.onnx", "-"), "cp and mv take files"),
            ((tmp_path / "m.onnx", f"{tmp_path}/gone/"), f"'{tmp_path}/gone/' is not a folder"),
            ((tmp_path / "m.onnx", tmp_path / "gone/m.onnx"), "No such file or directory"),
        ):
            ran = run(command, *places)
            assert (ran.status, ran.out, ran.err.count("\n")) == (2, "", 1)
            assert said in ran.err
        assert names_in(tmp_path) == {"m.onnx"}

    def test_data_that_are_missing(self, run: Run, tmp_path: Path) -> None:
        save_weighted(tmp_path / "m.onnx", {"a": "m.data"})
        (tmp_path / "m.data").unlink()
        ran = run("cp", tmp_path / "m.onnx", tmp_path / "n.onnx")
        assert ran.status == 2
        assert "tensor 'a': no file" in ran.err
        assert names_in(tmp_path) == {"m.onnx"}

    def test_a_model_in_text(self, run: Run, tmp_path: Path) -> None:
        save_weighted(tmp_path / "m.onnx", {"a": "m.data"})
        proto = onnx.load(tmp_path / "m.onnx", load_external_data=False)
        text = tmp_path / "m.txtpb"
        text.write_text(text_format.MessageToString(proto))
        assert run("cp", text, tmp_path / "n.txtpb").status == 0
        copied = text_format.Parse((tmp_path / "n.txtpb").read_text(), onnx.ModelProto())
        assert copied.graph.initializer[0].external_data[0].value == "n.data"
        assert run("cp", text, tmp_path / "o.onnx").status == 0
        assert values_of(tmp_path / "o.onnx") == values_of(tmp_path / "m.onnx")

    def test_a_link_in_the_new_folder(self, run: Run, tmp_path: Path) -> None:
        save_weighted(tmp_path / "m.onnx", {"a": "sub/w.bin"})
        (tmp_path / "to").mkdir()
        (tmp_path / "victim").mkdir()
        (tmp_path / "to/sub").symlink_to("../victim")
        for command in ("cp", "mv"):
            ran = run(command, tmp_path / "m.onnx", tmp_path / "to")
            assert ran.status == 2
            assert "'sub/w.bin' would be behind a symbolic link" in ran.err
            assert names_in(tmp_path) == {"m.onnx", "sub/w.bin"}


def test_json(run: Run, tmp_path: Path) -> None:
    save_weighted(tmp_path / "m.onnx", {"a": "m.data"})
    ran = run("cp", tmp_path / "m.onnx", tmp_path / "n.onnx", "--json")
    report = json.loads(ran.out)
    assert report["copies"] == {"m.data": "n.data"}
    assert report["files"] == [str(tmp_path / "n.data"), str(tmp_path / "n.onnx")]
    assert report["bytes_referenced"] == 0
