"""Where a save may write: names, folders, links, modes, and names that are taken."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from onnx import ModelProto
from support.models.many_tensors import spans
from support.models.sample import model_of, write
from support.processes.subprocesses import facts_from
from support.saves.judges import assert_nothing_left, contents, entries_of, values_of
from support.saves.models import SAVE_MODELS, made_external, matmul_model, weight

import onnxmap


@pytest.fixture
def model(tmp_path: Path) -> onnxmap.Model:
    (tmp_path / "source").mkdir()
    return onnxmap.load(SAVE_MODELS["chain"](tmp_path / "source"))


def listing(folder: Path) -> dict[str, Any]:
    """Everything below the folder: targets of links, contents of files."""
    return {
        str(path.relative_to(folder)): path.readlink()
        if path.is_symlink()
        else path.is_dir() or path.read_bytes()
        for path in sorted(folder.rglob("*"))
    }


WRONG_PATHS: dict[str, tuple[str, type[Exception], int | str | None]] = {
    "a folder": ("source", IsADirectoryError, errno.EISDIR),
    "a slash at the end": ("new/", OSError, None),
    "a missing folder": ("missing/saved.onnx", FileNotFoundError, errno.ENOENT),
    "below a file": ("source/model.onnx/saved.onnx", NotADirectoryError, errno.ENOTDIR),
    "a name of 256 bytes": ("x" * 256, OSError, errno.ENAMETOOLONG),
    "a pipe": ("pipe", onnxmap.SaveError, "save.not_regular"),
    "a URL": ("s3://bucket/saved.onnx", onnxmap.SaveError, "save.remote"),
    "a NUL": ("a\0b", ValueError, None),
}


@pytest.mark.parametrize("case", WRONG_PATHS)
@pytest.mark.parametrize("external", [None, "w.data"])
def test_wrong_paths(case: str, external: str | None, model: onnxmap.Model, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    name, error, code = WRONG_PATHS[case]
    before = set(tmp_path.rglob("*"))
    path = name if "://" in name else f"{tmp_path}/{name}"
    with pytest.raises(error) as caught:
        onnxmap.save(model, path, external_data=external)
    if isinstance(code, int):
        assert isinstance(caught.value, OSError)
        assert caught.value.errno == code
        assert str(tmp_path) in str(caught.value.filename)
        if case == "a missing folder":
            assert caught.value.filename == path
    elif code is not None:
        assert isinstance(caught.value, onnxmap.SaveError)
        assert caught.value.code == code
    assert set(tmp_path.rglob("*")) == before


def test_a_data_file_never_replaces_the_loaded_model(tmp_path: Path) -> None:
    source = SAVE_MODELS["chain"](tmp_path)
    before = listing(tmp_path)
    model = onnxmap.load(source)
    for saves in (
        lambda: model.save(tmp_path / "saved.onnx", external_data=source.name),
        lambda: onnxmap.save_all({tmp_path / "saved.onnx": model}, source.name),
    ):
        with pytest.raises(onnxmap.SaveError, match="the save would replace") as caught:
            saves()
        assert caught.value.code == "save.own_data"
    assert listing(tmp_path) == before


def test_paths_of_every_kind(model: onnxmap.Model, tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.chdir(tmp_path)
    data = onnxmap.dumps(model)
    for path in (
        "a.onnx", b"b\xff.onnx", Path("c.onnx"), "file://" + str(tmp_path / "d.onnx"), "./e",
        "source/../f", "x" * 255,
    ):  # fmt: skip
        report = onnxmap.save(model, path, sync=False)
        assert Path(report.files[0]).is_absolute()
        assert Path(report.files[0]).read_bytes() == data
    assert (tmp_path / "d.onnx").read_bytes() == data
    assert (tmp_path / os.fsdecode(b"b\xff.onnx")).exists()
    assert_nothing_left(tmp_path)


OUTSIDE = [
    "../x",
    "/tmp/x",
    "a/../../x",
    "..",
    ".",
    "C:\\x",
    "\\\\host\\x",
    "a\0b",
    "a/",
    "~/../../x/..",
]


@pytest.mark.parametrize("name", OUTSIDE)
def test_data_files_stay_in_the_folder(name: str, model: onnxmap.Model, tmp_path: Path) -> None:
    before = listing(tmp_path)
    with pytest.raises(onnxmap.UnsafePathError) as caught:
        onnxmap.save(model, tmp_path / "source" / "saved.onnx", external_data=name)
    assert caught.value.code == "ext.unsafe_path"
    assert listing(tmp_path) == before


@pytest.mark.parametrize("way", ["by name", "kept"])
@pytest.mark.parametrize("target", ["outside", "source/inside"])
def test_folders_of_data_files_that_are_links(way: str, target: str, tmp_path: Path) -> None:
    """Also data files that are copied under their old names."""
    (tmp_path / "old" / "sub").mkdir(parents=True)
    data = bytearray()
    tensor = made_external(weight("w", 20, 20), "sub/w.data", data)
    (tmp_path / "old" / "sub" / "w.data").write_bytes(data)
    source = tmp_path / "old" / "model.onnx"
    source.write_bytes(matmul_model([tensor]).SerializeToString())
    (tmp_path / "new").mkdir()
    (tmp_path / target).mkdir(parents=True)
    (tmp_path / "new" / "sub").symlink_to(tmp_path / target)
    before = listing(tmp_path)
    with pytest.raises(onnxmap.UnsafePathError) as caught:
        onnxmap.save(
            onnxmap.load(source), tmp_path / "new" / "saved.onnx",
            external_data="sub/w.data" if way == "by name" else None,
        )  # fmt: skip
    assert caught.value.code == "ext.unsafe_path"
    assert listing(tmp_path) == before


def test_copied_data_files_make_no_folders(tmp_path: Path) -> None:
    """The new model's folder, and one that is there, may have them."""
    (tmp_path / "old" / "a" / "b").mkdir(parents=True)
    data = bytearray()
    tensor = made_external(weight("w", 20, 20), "a/b/w.data", data, 50)
    (tmp_path / "old" / "a" / "b" / "w.data").write_bytes(data)
    source = tmp_path / "old" / "model.onnx"
    source.write_bytes(matmul_model([tensor]).SerializeToString())
    (tmp_path / "new").mkdir()
    saved = tmp_path / "new" / "saved.onnx"
    report = onnxmap.save(onnxmap.load(source), saved, sync=False)
    assert report.files == [str(tmp_path / "new" / "saved.w.data"), str(saved)]
    assert (tmp_path / "new" / "saved.w.data").stat().st_size == 1600
    assert values_of(saved) == values_of(source)
    (tmp_path / "there" / "a" / "b").mkdir(parents=True)
    saved = tmp_path / "there" / "saved.onnx"
    report = onnxmap.save(onnxmap.load(source), saved, sync=False)
    assert report.files == [str(tmp_path / "there" / "a" / "b" / "w.data"), str(saved)]
    assert values_of(saved) == values_of(source)


@pytest.mark.parametrize("reason", ["progress", "a taken name", "a name that is too long"])
def test_a_save_that_fails_leaves_no_folders(
    reason: str, model: onnxmap.Model, tmp_path: Path
) -> None:
    (tmp_path / "there").mkdir()
    saved = tmp_path / "saved.onnx"
    options: dict[str, Any] = {"external_data": "there/a/b/w.data"}

    def progress(*_: int) -> None:
        raise ZeroDivisionError

    if reason == "progress":
        options["progress"] = progress
    elif reason == "a taken name":
        saved.write_bytes(b"old")
        options["overwrite"] = False
    else:
        options["external_data"] = f"there/a/b/{'x' * 250}/{'y' * 240}"
        saved = tmp_path / ("z" * 256)
    before = listing(tmp_path)
    with pytest.raises((ZeroDivisionError, OSError)):
        model.save(saved, size_threshold_bytes=0, **options)
    assert listing(tmp_path) == before
    model.save(tmp_path / "saved.onnx", external_data="there/a/b/w.data", size_threshold_bytes=0)
    assert (tmp_path / "there/a/b/w.data").exists()


def test_the_ranges_in_use_are_copied_into_another_folder(tmp_path: Path) -> None:
    source = SAVE_MODELS["overlapping"](tmp_path)
    (tmp_path / "new").mkdir()
    saved = tmp_path / "new" / "saved.onnx"
    onnxmap.save(onnxmap.load(source), saved, sync=False)
    copied = (tmp_path / "new" / "w.data").read_bytes()
    original = (tmp_path / "w.data").read_bytes()
    assert copied == original[100:4500] + original[6000:8000]
    assert values_of(saved) == values_of(source)


@pytest.mark.parametrize(("step", "alignment"), [(12, 4), (64, 64), (1 << 20, 4096)])
def test_copied_values_stay_aligned_as_they_were(step: int, alignment: int, tmp_path: Path) -> None:
    """Padding would make a file of many small tensors much larger."""
    count, nbytes = 50, 10
    (tmp_path / "w.data").write_bytes(bytes(range(250)) * 10)
    os.truncate(tmp_path / "w.data", step * count)
    ranges = [(f"w{i}", i * step, nbytes) for i in range(count)]
    source = write(model_of(list(spans(ranges, "w.data"))), tmp_path / "model.onnx")
    (tmp_path / "new").mkdir()
    saved = tmp_path / "new" / "saved.onnx"
    onnxmap.save(onnxmap.load(source), saved, sync=False)
    distance = -(-nbytes // alignment) * alignment
    assert (tmp_path / "new" / "w.data").stat().st_size == distance * (count - 1) + nbytes
    assert [one.offset for one in onnxmap.load(saved).initializers.values()] == [
        distance * i for i in range(count)
    ]
    assert values_of(saved) == values_of(source)
    (tmp_path / "wide").mkdir()
    saved = tmp_path / "wide" / "saved.onnx"
    onnxmap.save(onnxmap.load(source), saved, alignment=256, sync=False)
    assert [one.offset for one in onnxmap.load(saved).initializers.values()] == [
        256 * i for i in range(count)
    ]


@pytest.mark.parametrize("kind", ["file", "link", "dangling link", "folder"])
def test_a_copy_takes_no_name_that_is_taken(kind: str, tmp_path: Path) -> None:
    source = SAVE_MODELS["chain_outside"](tmp_path)
    (tmp_path / "new").mkdir()
    taken = tmp_path / "new" / "two.data"
    if kind == "file":
        taken.write_bytes(b"taken")
    elif kind == "folder":
        taken.mkdir()
    else:
        taken.symlink_to(tmp_path / ("two.data" if kind == "link" else "nowhere"))
    before = listing(tmp_path)
    saved = tmp_path / "new" / "saved.onnx"
    for overwrite in (False, True):
        onnxmap.save(onnxmap.load(source), saved, overwrite=overwrite)
        made = {"new/saved.onnx", "new/saved.two.data"}
        after = listing(tmp_path)
        assert {name: what for name, what in after.items() if name in before} == before
        assert made <= set(after) - set(before)
        assert values_of(saved) == values_of(source)


@pytest.mark.parametrize("taken", ["saved.onnx", "w.data"])
@pytest.mark.parametrize("kind", ["file", "link"])
def test_without_overwrite(kind: str, taken: str, model: onnxmap.Model, tmp_path: Path) -> None:
    if kind == "link":
        (tmp_path / taken).symlink_to(tmp_path / "nowhere")
    else:
        (tmp_path / taken).write_bytes(b"old")
    before = listing(tmp_path)
    with pytest.raises(FileExistsError) as caught:
        onnxmap.save(model, tmp_path / "saved.onnx", external_data="w.data", overwrite=False)
    assert (caught.value.errno, caught.value.filename) == (errno.EEXIST, str(tmp_path / taken))
    assert listing(tmp_path) == before
    (tmp_path / taken).unlink()
    onnxmap.save(model, tmp_path / "saved.onnx", external_data="w.data", overwrite=False)
    with pytest.raises(FileExistsError):
        model.save(tmp_path / "saved.onnx", overwrite=False)


def test_the_model_and_its_data_file_have_different_names(
    model: onnxmap.Model, tmp_path: Path
) -> None:
    before = listing(tmp_path)
    for path in ("saved.onnx", "./saved.onnx"):
        with pytest.raises(onnxmap.SaveError) as caught:
            onnxmap.save(model, f"{tmp_path}/{path}", external_data="saved.onnx")
        assert caught.value.code == "save.same_path"
    assert listing(tmp_path) == before


def test_a_data_file_that_is_a_link_or_a_folder(model: onnxmap.Model, tmp_path: Path) -> None:
    (tmp_path / "victim").write_bytes(b"precious")
    (tmp_path / "w.data").symlink_to(tmp_path / "victim")
    (tmp_path / "folder.data").mkdir()
    before = listing(tmp_path)
    for follow in (False, True):
        with pytest.raises(onnxmap.SaveError) as caught:
            onnxmap.save(
                model, tmp_path / "saved.onnx", external_data="w.data", follow_symlinks=follow
            )
        assert caught.value.code == "save.link"
    with pytest.raises(IsADirectoryError):
        onnxmap.save(model, tmp_path / "saved.onnx", external_data="folder.data")
    assert listing(tmp_path) == before


def test_links_to_models(model: onnxmap.Model, tmp_path: Path) -> None:
    """A link is replaced by default. The new file is made beside the target if it is followed."""
    (tmp_path / "far").mkdir()
    data = onnxmap.dumps(model)
    victim, link = tmp_path / "far" / "victim.onnx", tmp_path / "link.onnx"
    victim.write_bytes(b"old")
    link.symlink_to("far/victim.onnx")
    onnxmap.save(model, link, sync=False)
    assert (link.is_symlink(), link.read_bytes(), victim.read_bytes()) == (False, data, b"old")
    link.unlink()
    link.symlink_to("far/victim.onnx")
    onnxmap.save(model, link, external_data="w.data", follow_symlinks=True, sync=False)
    assert link.readlink() == Path("far/victim.onnx")
    assert set(contents(tmp_path / "far")) == {"victim.onnx", "w.data"}
    assert onnxmap.load(victim).initializers.names() == model.initializers.names()
    link.unlink()
    link.symlink_to("far/new.onnx")
    onnxmap.save(model, link, follow_symlinks=True, sync=False)
    assert (tmp_path / "far" / "new.onnx").read_bytes() == data
    link.unlink()
    link.symlink_to("link.onnx")
    with pytest.raises(OSError, match="symbolic links"):
        onnxmap.save(model, link, follow_symlinks=True)


def test_other_hard_links_keep_the_old_content(model: onnxmap.Model, tmp_path: Path) -> None:
    saved, other = tmp_path / "saved.onnx", tmp_path / "other.onnx"
    saved.write_bytes(b"old")
    os.link(saved, other)
    onnxmap.save(model, saved, sync=False)
    assert (saved.read_bytes(), other.read_bytes()) == (onnxmap.dumps(model), b"old")


@pytest.mark.parametrize("umask", [0o022, 0o077, 0])
def test_modes(umask: int, tmp_path: Path) -> None:
    """New files get the mode of any new file, others keep their own."""
    source = SAVE_MODELS["chain"](tmp_path)
    facts = facts_from(
        """
    import os
    import onnxmap
    source, folder, umask = sys.argv[1], sys.argv[2], int(sys.argv[3])
    model = onnxmap.load(source)
    os.umask(umask)
    def modes():
        return [os.stat(f"{folder}/{name}").st_mode & 0o7777 for name in ("saved.onnx", "w.data")]
    onnxmap.save(model, f"{folder}/saved.onnx", external_data="w.data", sync=False)
    new = modes()
    os.chmod(f"{folder}/saved.onnx", 0o640)
    os.chmod(f"{folder}/w.data", 0o604)
    onnxmap.save(model, f"{folder}/saved.onnx", external_data="w.data", sync=False)
    report(new=new, old=modes())
    """,
        str(source),
        str(tmp_path),
        str(umask),
    )
    assert facts == {"new": [0o666 & ~umask] * 2, "old": [0o640, 0o604]}


def test_names_of_tensors_are_no_paths(tmp_path: Path) -> None:
    tensors = [weight(name, 20, 20) for name in ("../../x", "/tmp/x", "a/b", "..")]
    source = tmp_path / "model.onnx"
    source.write_bytes(matmul_model(tensors).SerializeToString())
    (tmp_path / "new").mkdir()
    saved = tmp_path / "new" / "saved.onnx"
    onnxmap.save(onnxmap.load(source), saved, external_data="w.data", sync=False)
    assert set(contents(tmp_path / "new")) == {"saved.onnx", "w.data"}
    assert values_of(saved) == values_of(source)


def test_names_of_side_files(tmp_path: Path) -> None:
    """The name of the model may be too long for one; then nothing is written."""
    source = SAVE_MODELS["chain_outside"](tmp_path)
    model = onnxmap.load(source)
    model.initializers["w1"] = np.zeros((20, 20), np.float32)
    before = listing(tmp_path)
    with pytest.raises(OSError, match="too long") as caught:
        model.save(tmp_path / ("x" * 250))
    assert caught.value.errno == errno.ENAMETOOLONG
    assert listing(tmp_path) == before
    report = model.save(tmp_path / ("x" * 243), sync=False)
    assert Path(report.files[0]).name == "x" * 243 + ".edited.data"
    message = ModelProto.FromString((tmp_path / ("x" * 243)).read_bytes())
    assert entries_of(message.graph.initializer[1])["location"] == "x" * 243 + ".edited.data"


def test_a_folder_that_may_not_be_written_to(model: onnxmap.Model, tmp_path: Path) -> None:
    """/proc has no new files, whoever asks."""
    with pytest.raises(OSError) as caught:
        onnxmap.save(model, "/proc/saved.onnx")
    assert caught.value.errno is not None
    assert caught.value.filename == "/proc/saved.onnx"
    assert stat.S_ISDIR(tmp_path.stat().st_mode)
