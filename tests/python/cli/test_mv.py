"""`onnxmap mv`: names, what is moved and what is copied, and what failures and crashes leave."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import onnx
import pytest
from google.protobuf import text_format
from support.models.weighted import (
    GARBAGE,
    Values,
    locations_of,
    names_in,
    save_weighted,
    values_of,
)
from support.processes.command_line import Run
from support.processes.subprocesses import run_python

import onnxmap
from onnxmap import _core

CRASHING = Path(__file__).parents[1] / "support/faults/crashing_mv.py"


def inode(path: Path) -> int:
    return path.stat().st_ino


@pytest.fixture
def to(tmp_path: Path) -> Path:
    """Another folder of the same file system."""
    folder = tmp_path / "to"
    folder.mkdir()
    return folder


@pytest.fixture
def elsewhere() -> Iterator[Path]:
    """A folder of another file system."""
    with TemporaryDirectory(dir="/dev/shm") as folder:
        yield Path(folder)


class TestSameFolder:
    @pytest.mark.parametrize("out", ["n.onnx", "to/m.onnx"])
    @pytest.mark.parametrize("name", ["w.bin", "m.bin"])
    def test_two_spellings_of_one_location(
        self, run: Run, tmp_path: Path, to: Path, name: str, out: str
    ) -> None:
        locations = {"a": name, "b": f"./{name}"}
        values = save_weighted(tmp_path / "m.onnx", locations)
        moved = inode(tmp_path / name)
        assert run("mv", tmp_path / "m.onnx", tmp_path / out).status == 0
        new = "n.bin" if (name, out) == ("m.bin", "n.onnx") else name
        stays = (name, out) == ("w.bin", "n.onnx")
        found = locations_of(tmp_path / out)
        assert found == (locations if stays else {"a": new, "b": new})
        assert values_of(tmp_path / out) == values
        assert inode((tmp_path / out).parent / new) == moved
        assert names_in(tmp_path) == {out, str(Path(out).with_name(new))}

    def test_files_named_after_the_model_follow_it(self, run: Run, tmp_path: Path) -> None:
        locations = {"a": "m.onnx.data", "b": "sub/m-2.bin", "c": "w.bin", "d": "mode.bin"}
        values = save_weighted(tmp_path / "m.onnx", locations)
        moved = inode(tmp_path / "m.onnx.data")
        assert run("mv", tmp_path / "m.onnx", tmp_path / "n.onnx").status == 0
        new = {"a": "n.onnx.data", "b": "sub/n-2.bin", "c": "w.bin", "d": "mode.bin"}
        assert locations_of(tmp_path / "n.onnx") == new
        assert names_in(tmp_path) == {"n.onnx", *new.values()}
        assert values_of(tmp_path / "n.onnx") == values
        assert inode(tmp_path / "n.onnx.data") == moved

    @pytest.mark.parametrize("location", ["w.bin", None])
    def test_the_file_itself_is_renamed_if_no_location_changes(
        self, run: Run, tmp_path: Path, location: str | None
    ) -> None:
        save_weighted(tmp_path / "m.onnx", {"a": location})
        before = inode(tmp_path / "m.onnx")
        assert run("mv", tmp_path / "m.onnx", tmp_path / "n.onnx").status == 0
        assert inode(tmp_path / "n.onnx") == before
        assert not (tmp_path / "m.onnx").exists()

    @pytest.mark.parametrize("user", ["other.onnx", "broken.onnx"])
    def test_a_file_that_another_model_may_use_keeps_its_name(
        self, run: Run, tmp_path: Path, user: str
    ) -> None:
        values = save_weighted(tmp_path / "m.onnx", {"a": "m.data"})
        if user == "other.onnx":
            save_weighted(tmp_path / user, {"b": "m.data"}, first_seed=5)
        else:
            (tmp_path / user).write_bytes(b"\xff")
        ran = run("mv", tmp_path / "m.onnx", tmp_path / "n.onnx")
        assert f"because {user} {'uses' if user == 'other.onnx' else 'may use'} it" in ran.out
        assert locations_of(tmp_path / "n.onnx") == {"a": "m.data"}
        assert values_of(tmp_path / "n.onnx") == values

    def test_a_link_keeps_its_name(self, run: Run, tmp_path: Path) -> None:
        save_weighted(tmp_path / "m.onnx", {"a": "m.data"})
        (tmp_path / "m.data").rename(tmp_path / "blob")
        (tmp_path / "m.data").symlink_to("blob")
        assert run("mv", tmp_path / "m.onnx", tmp_path / "n.onnx").status == 0
        assert locations_of(tmp_path / "n.onnx") == {"a": "m.data"}

    def test_checksums_of_renamed_files_stay(self, run: Run, demo: Path, tmp_path: Path) -> None:
        onnxmap.save(onnxmap.load(demo), tmp_path / "m.onnx", external_data="m.data", checksum=True)
        assert run("mv", tmp_path / "m.onnx", tmp_path / "n.onnx").status == 0
        assert list(onnxmap.load(tmp_path / "n.onnx").verify()) == [str(tmp_path / "n.data")]


class TestAnotherFolder:
    @pytest.mark.parametrize("name", ["m.onnx", "n.onnx"])
    def test_data_files_are_renamed(self, run: Run, tmp_path: Path, to: Path, name: str) -> None:
        values = save_weighted(tmp_path / "m.onnx", {"a": "m.data", "b": "sub/w.bin"})
        inodes = {inode(tmp_path / "m.data"), inode(tmp_path / "sub/w.bin")}
        out = to if name == "m.onnx" else to / name
        assert run("mv", tmp_path / "m.onnx", out).status == 0
        data = name.replace("onnx", "data")
        other = name.replace("onnx", "w.bin")  # no new folder is made
        assert names_in(tmp_path) == {f"to/{name}", f"to/{data}", f"to/{other}"}
        assert {inode(to / data), inode(to / other)} == inodes
        assert values_of(to / name) == values

    def test_shared_files_are_copied(self, run: Run, tmp_path: Path, to: Path) -> None:
        values = save_weighted(tmp_path / "m.onnx", {"a": "shared.bin", "b": "m.data"})
        others = save_weighted(tmp_path / "other.onnx", {"c": "shared.bin"}, first_seed=5)
        ran = run("mv", tmp_path / "m.onnx", to, "--json")
        assert values_of(to / "m.onnx") == values
        assert values_of(tmp_path / "other.onnx") == others
        assert names_in(to) == {"m.onnx", "m.data", "m.shared.bin"}
        facts = json.loads(ran.out)
        how = {Path(each["to"]).name: each["how"] for each in facts["files"]}
        assert how == {"m.onnx": "moved", "m.data": "moved", "m.shared.bin": "copied"}
        assert facts["stays"] == [
            {"file": str(tmp_path / "shared.bin"), "why": "other.onnx uses it"}
        ]

    def test_another_file_system(self, run: Run, tmp_path: Path, elsewhere: Path) -> None:
        assert elsewhere.stat().st_dev != tmp_path.stat().st_dev
        values = save_weighted(tmp_path / "m.onnx", {"a": "m.data", "b": None})
        assert run("mv", tmp_path / "m.onnx", elsewhere).status == 0
        assert names_in(tmp_path) == set()
        assert values_of(elsewhere / "m.onnx") == values
        assert GARBAGE not in (elsewhere / "m.data").read_bytes()

    def test_another_file_system_without_data(
        self, run: Run, tmp_path: Path, elsewhere: Path
    ) -> None:
        values = save_weighted(tmp_path / "m.onnx", {"a": None})
        assert run("mv", tmp_path / "m.onnx", elsewhere / "n.onnx").status == 0
        assert names_in(tmp_path) == set()
        assert values_of(elsewhere / "n.onnx") == values

    def test_files_of_an_external_root_are_copied(self, run: Run, tmp_path: Path, to: Path) -> None:
        (tmp_path / "root").mkdir()
        values = save_weighted(tmp_path / "root/m.onnx", {"a": "m.data"})
        (tmp_path / "root/m.onnx").rename(tmp_path / "m.onnx")
        ran = run("mv", tmp_path / "m.onnx", to, "--external-root", tmp_path / "root")
        assert ran.status == 0
        assert values_of(to / "m.onnx") == values
        assert names_in(tmp_path) == {"root/m.data", "to/m.onnx", "to/m.data"}


class TestRefusals:
    def test_taken_names(self, run: Run, tmp_path: Path, to: Path) -> None:
        values = save_weighted(tmp_path / "m.onnx", {"a": "m.data"})
        for taken in (to / "m.onnx", to / "m.data"):
            taken.write_bytes(b"mine")
            ran = run("mv", tmp_path / "m.onnx", to)
            assert (ran.status, ran.out) == (2, "")
            condition = (
                ""
                if taken.name == "m.onnx"
                else f" if only the old {to / 'm.onnx'} uses it, else takes another name"
            )
            assert ran.err == f"onnxmap: {taken} exists; --overwrite replaces it{condition}\n"
            assert taken.read_bytes() == b"mine"
            assert values_of(tmp_path / "m.onnx") == values
            taken.unlink()

    @pytest.mark.parametrize("name", ["n.onnx", "to/m.onnx"])
    @pytest.mark.parametrize("old", [["n.onnx", "to/m.onnx"], []])
    def test_overwrite(self, run: Run, tmp_path: Path, to: Path, name: str, old: list[str]) -> None:
        values = save_weighted(tmp_path / "m.onnx", {"a": "m.data"})
        for path in (tmp_path / "n.onnx", to / "m.onnx"):
            save_weighted(path, {"a": path.stem + ".data"}, first_seed=5)
            if not old:
                path.unlink()
        assert run("mv", tmp_path / "m.onnx", tmp_path / name, "--overwrite").status == 0
        assert values_of(tmp_path / name) == values
        assert not {"m.onnx", "m.data"} & names_in(tmp_path)

    @pytest.mark.parametrize("command", ["mv", "cp"])
    @pytest.mark.parametrize("user", ["other.onnx", "m.onnx"])
    def test_the_new_name_is_that_of_a_data_file(
        self, run: Run, tmp_path: Path, command: str, user: str
    ) -> None:
        save_weighted(tmp_path / "m.onnx", {"a": None if user == "other.onnx" else "w.bin"})
        if user == "other.onnx":
            save_weighted(tmp_path / user, {"b": "w.bin"}, first_seed=5)
        before = {name: (tmp_path / name).read_bytes() for name in names_in(tmp_path)}
        ran = run(command, tmp_path / "m.onnx", tmp_path / "w.bin", "--overwrite")
        assert (ran.status, ran.out) == (2, "")
        assert ran.err == f"onnxmap: {tmp_path}/w.bin has values of {tmp_path / user}\n"
        assert {name: (tmp_path / name).read_bytes() for name in names_in(tmp_path)} == before

    @pytest.mark.parametrize("command", ["mv", "cp"])
    def test_a_model_of_any_name_is_not_replaced_by_its_data(
        self, run: Run, tmp_path: Path, command: str
    ) -> None:
        save_weighted(tmp_path / "model", {"a": "w.bin"})
        ran = run(command, tmp_path / "model", tmp_path / "w.bin", "--overwrite")
        assert ran.status == 2
        assert f"w.bin has values of {tmp_path / 'model'}" in ran.err

    def test_a_model_with_a_view_stays(self, run: Run, tmp_path: Path) -> None:
        values = save_weighted(tmp_path / "m.onnx", {"a": None})
        view = tmp_path / "v.onnx"
        onnxmap.save(onnxmap.load(tmp_path / "m.onnx"), view, external_data="view")
        ran = run("mv", tmp_path / "m.onnx", tmp_path / "n.onnx")
        assert ran.status == 2
        assert f"{view} is a view of {tmp_path / 'm.onnx'}, and would lose its weights" in ran.err
        assert run("mv", view, tmp_path / "u.onnx").status == 0
        assert values_of(tmp_path / "u.onnx") == values

    def test_a_link(self, run: Run, tmp_path: Path) -> None:
        save_weighted(tmp_path / "m.onnx", {"a": None})
        (tmp_path / "link.onnx").symlink_to("m.onnx")
        ran = run("mv", tmp_path / "link.onnx", tmp_path / "n.onnx")
        assert (ran.status, ran.out) == (2, "")
        assert "link.onnx is a symbolic link; move the file that it leads to" in ran.err

    def test_a_url(self, run: Run, tmp_path: Path) -> None:
        ran = run("mv", "http://127.0.0.1:9/m.onnx", tmp_path)
        assert (ran.status, ran.out) == (2, "")
        assert "only a local file can be moved; onnxmap cp copies from a URL" in ran.err

    def test_a_model_in_text(self, run: Run, tmp_path: Path) -> None:
        save_weighted(tmp_path / "m.onnx", {"a": "m.data"})
        text = tmp_path / "m.txtpb"
        proto = onnx.load(tmp_path / "m.onnx", load_external_data=False)
        text.write_text(text_format.MessageToString(proto))
        (tmp_path / "m.onnx").unlink()
        assert run("mv", text, tmp_path / "n.txtpb").status == 0
        assert names_in(tmp_path) == {"n.txtpb", "n.data"}
        moved = text_format.Parse((tmp_path / "n.txtpb").read_text(), onnx.ModelProto())
        assert moved.graph.initializer[0].external_data[0].value == "n.data"

    def test_data_that_are_missing(self, run: Run, tmp_path: Path, to: Path) -> None:
        save_weighted(tmp_path / "m.onnx", {"a": "m.data"})
        (tmp_path / "m.data").unlink()
        assert run("mv", tmp_path / "m.onnx", to).status == 2
        assert names_in(tmp_path) == {"m.onnx"}
        assert run("mv", tmp_path / "m.onnx", tmp_path / "n.onnx").status == 0


def read(path: Path) -> Values | None:
    """The values of a model; None if it is not there, or its data are not."""
    try:
        return values_of(path)
    except (FileNotFoundError, onnx.checker.ValidationError):
        return None


class TestFailures:
    """Each change of a name fails, or is interrupted right after it."""

    @pytest.mark.parametrize("error", [OSError(5, "Input/output error"), KeyboardInterrupt()])
    @pytest.mark.parametrize("change", ["rename_file", "remove_file"])
    @pytest.mark.parametrize("is_done", [False, True])
    @pytest.mark.parametrize("place", ["n.onnx", "to/m.onnx"])
    def test_what_a_failure_leaves(
        self,
        run: Run,
        tmp_path: Path,
        to: Path,
        monkeypatch: pytest.MonkeyPatch,
        error: BaseException,
        change: str,
        is_done: bool,
        place: str,
    ) -> None:
        locations = {"a": "m.data", "b": "sub/m.onnx.data"}
        failures = 0
        for count in range(1, 9):
            values = save_weighted(tmp_path / "m.onnx", locations)
            left = [count]
            real = getattr(_core, change)

            def failing(
                *arguments: Any, real: Any = real, left: list[int] = left, **options: Any
            ) -> Any:
                left[0] -= 1
                if left[0] == 0 and not is_done:
                    raise error
                real(*arguments, **options)
                if left[0] == 0:
                    raise error

            with monkeypatch.context() as patch:
                patch.setattr(_core, change, failing)
                ran = run("mv", tmp_path / "m.onnx", tmp_path / place)
            if ran.status == 0:
                break
            failures += 1
            old, new = read(tmp_path / "m.onnx"), read(tmp_path / place)
            assert values in (old, new)
            if old is not None:
                assert names_in(tmp_path) == {"m.onnx", *locations.values()}
                assert list(to.iterdir()) == []
            for each in tmp_path.iterdir():
                shutil.rmtree(each) if each.is_dir() else each.unlink()
            to.mkdir()
        assert failures == {"rename_file": 2, "remove_file": 1}[change]

    @pytest.mark.parametrize("location", ["m.data", None])
    def test_a_file_that_is_made_meanwhile_is_kept(
        self,
        run: Run,
        tmp_path: Path,
        to: Path,
        monkeypatch: pytest.MonkeyPatch,
        location: str | None,
    ) -> None:
        """Names are checked first, and a long copy may come in between."""
        values = save_weighted(tmp_path / "m.onnx", {"a": location})
        taken = to / (location or "m.onnx")
        real = _core.rename_file

        def late(*arguments: Any, **options: Any) -> None:
            taken.write_bytes(b"mine")
            real(*arguments, **options)

        with monkeypatch.context() as patch:
            patch.setattr(_core, "rename_file", late)
            ran = run("mv", tmp_path / "m.onnx", to)
        assert ran.status == 2
        assert f"{taken}" in ran.err
        assert taken.read_bytes() == b"mine"
        assert names_in(to) == {taken.name}
        assert values_of(tmp_path / "m.onnx") == values

    def test_a_pipe_that_takes_the_name_meanwhile_is_kept(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        for name in ("m.onnx", "n.onnx"):
            save_weighted(tmp_path / name, {"a": None})
        real = _core.rename_file

        def late(*arguments: Any) -> None:
            (tmp_path / "n.onnx").unlink()
            os.mkfifo(tmp_path / "n.onnx")
            real(*arguments)

        monkeypatch.setattr(_core, "rename_file", late)
        with pytest.raises(onnxmap.SaveError) as caught:
            onnxmap.move_model(tmp_path / "m.onnx", tmp_path / "n.onnx", overwrite=True)
        assert caught.value.code == "save.not_regular"
        assert (tmp_path / "n.onnx").is_fifo()
        assert (tmp_path / "m.onnx").exists()

    def test_nothing_is_moved_before_the_new_model_is_complete(
        self, run: Run, tmp_path: Path, to: Path
    ) -> None:
        save_weighted(tmp_path / "m.onnx", {"a": "m.data", "b": "shared.bin"})
        save_weighted(tmp_path / "other.onnx", {"c": "shared.bin"}, first_seed=5)
        with (tmp_path / "shared.bin").open("r+b") as file:
            file.truncate(len(GARBAGE))
        before = names_in(tmp_path)
        ran = run("mv", tmp_path / "m.onnx", to)
        assert ran.status == 2
        assert "tensor 'b'" in ran.err
        assert names_in(tmp_path) == before


def crashing(count: int, when: str, *words: str) -> int:
    """The exit status of a command that ends at this change of a name."""
    code = "import runpy; sys.argv.pop(0); runpy.run_path(sys.argv[0], run_name='__main__')"
    return run_python(code, str(CRASHING), str(count), when, *words).returncode


class TestCrashes:
    @pytest.mark.parametrize("place", ["n.onnx", "to/m.onnx", "elsewhere"])
    @pytest.mark.parametrize("when", ["before", "after"])
    def test_with_one_data_file_one_model_is_complete(
        self, tmp_path: Path, to: Path, elsewhere: Path, place: str, when: str
    ) -> None:
        """And the other one, if it is there, cannot be read: never with wrong values."""
        out = elsewhere / "m.onnx" if place == "elsewhere" else tmp_path / place
        for count in range(1, 9):
            values = save_weighted(tmp_path / "m.onnx", {"a": "m.data"})
            status = crashing(count, when, "mv", str(tmp_path / "m.onnx"), str(out))
            found = [read(tmp_path / "m.onnx"), read(out)]
            assert values in found
            assert all(each in (None, values) for each in found)
            for folder in (tmp_path, elsewhere):
                for name in names_in(folder):
                    (folder / name).unlink()
            if status == 0:
                break
            assert status == 9
        assert count == 3  # two changes of names, and the whole command

    @pytest.mark.parametrize("place", ["n.onnx", "to/n.onnx"])
    def test_a_model_that_is_replaced_never_has_data_of_another(
        self, tmp_path: Path, to: Path, place: str
    ) -> None:
        out = tmp_path / place
        for count in range(1, 9):
            values = save_weighted(tmp_path / "m.onnx", {"a": "m.data"})
            old = save_weighted(out, {"a": "n.data"}, first_seed=5)
            words = ["mv", str(tmp_path / "m.onnx"), str(out), "--overwrite"]
            status = crashing(count, "before", *words)
            assert read(out) in (old, values)
            assert read(tmp_path / "m.onnx") in (None, values)
            for name in names_in(tmp_path):
                (tmp_path / name).unlink()
            if status == 0:
                break
            assert status == 9
        assert count == 3
