"""`append`: metadata and scalar fields at the end of a file that is in use."""

from __future__ import annotations

import errno
import fcntl
import os
import pickle
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from support import wire_bytes as wire
from support.processes.subprocesses import facts_from, run_python
from support.run_options import SANITIZED
from support.saves.judges import contents, values_of
from support.saves.models import SAVE_MODELS

import onnxmap

FIELDS: dict[str, Any] = {
    "doc_string": "text é", "producer_name": "p", "producer_version": "2", "domain": "d",
    "model_version": -7,
}  # fmt: skip


@pytest.fixture(params=["chain", "chain_outside", "unknown_fields"])
def path(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    return SAVE_MODELS[request.param](tmp_path)


def test_the_old_bytes_stay_and_the_new_ones_count(path: Path) -> None:
    before, values, inode = path.read_bytes(), values_of(path), path.stat().st_ino
    report = onnxmap.append(path, metadata_props={"a": "1", "é": ""}, **FIELDS)
    after = path.read_bytes()
    assert after.startswith(before)
    assert path.stat().st_ino == inode
    assert report.files == [str(path)]
    assert (report.bytes_written, report.bytes_copied) == (len(after) - len(before), 0)
    proto, expected = onnx.ModelProto.FromString(after), onnx.ModelProto.FromString(before)
    for name, value in FIELDS.items():
        setattr(expected, name, value)
    expected.metadata_props.add(key="a", value="1")
    expected.metadata_props.add(key="é", value="")
    assert proto == expected
    assert values_of(path) == values
    model = onnxmap.load(path)
    assert dict(model.metadata_props) == {"a": "1", "é": ""}
    assert {name: getattr(model, name) for name in FIELDS} == FIELDS


@pytest.mark.parametrize("field", FIELDS)
def test_each_field_alone(field: str, path: Path) -> None:
    onnxmap.append(path, **{field: FIELDS[field]})
    onnxmap.append(path, **{field: type(FIELDS[field])()})
    proto = onnx.ModelProto.FromString(path.read_bytes())
    assert (proto.HasField(field), getattr(proto, field)) == (True, type(FIELDS[field])())


def test_several_times(path: Path) -> None:
    for number in range(20):
        onnxmap.append(path, metadata_props={f"k{number}": "v" * number})
    assert list(onnxmap.load(path).metadata_props) == [f"k{number}" for number in range(20)]


@pytest.mark.parametrize("io", ["mmap", "read", "auto"])
def test_models_in_this_process_stay_usable(io: Any, path: Path) -> None:
    """Those that were loaded before each append, with views, external arrays and bulk reads."""
    expected = onnxmap.load_arrays(path)
    models = []
    for number in range(3):
        models.append(onnxmap.load(path, io=io))
        models[-1].initializers[next(iter(expected))].numpy()
        onnxmap.append(path, metadata_props={f"k{number}": "v"})
    for number, model in enumerate(models):
        assert len(model.metadata_props) == number
        for arrays in (model.views(), model.arrays(), dict(model.stream())):
            assert all((arrays[name] == array).all() for name, array in expected.items())
        assert all(
            (tensor.numpy() == expected[name]).all() for name, tensor in model.initializers.items()
        )
        assert model.graph.op_types() == models[0].graph.op_types()
    saved = path.parent / "saved.onnx"
    onnxmap.save(models[0], saved, external_data="w.out", sync=False)
    assert onnxmap.load_arrays(saved).keys() == expected.keys()


@pytest.mark.parametrize("edits", [True, False])
def test_a_save_over_the_file_would_lose_what_was_appended(edits: bool, path: Path) -> None:
    model = onnxmap.load(path)
    onnxmap.append(path, metadata_props={"reviewed": "yes"})
    if edits:
        model.doc_string = "edited"
    before = contents(path.parent)
    link = path.parent / "link.onnx"
    for options in ({}, {"external_data": False}, {"external_data": "w.out"}):
        with pytest.raises(onnxmap.FileChangedError, match="was appended to after") as caught:
            model.save(path, **options)
        assert (caught.value.code, caught.value.path) == ("file.changed", str(path))
    assert contents(path.parent) == before
    link.symlink_to(path.name)
    with pytest.raises(onnxmap.FileChangedError):
        model.save(link, follow_symlinks=True)
    model.save(path.parent / "elsewhere.onnx", sync=False)
    again = onnxmap.load(path)
    again.doc_string = "edited"
    again.save(path, sync=False)
    assert onnxmap.load(path).metadata_props["reviewed"] == "yes"


def test_a_change_by_another_process_is_still_noticed(path: Path) -> None:
    model = onnxmap.load(path)
    onnxmap.append(path, doc_string="ours")
    model.arrays()
    code = "import sys; open(sys.argv[1], 'ab').write(b'\\x08\\x01')"
    subprocess.run([sys.executable, "-c", code, str(path)], check=True)
    with pytest.raises(onnxmap.FileChangedError):
        model.arrays()
    onnxmap.append(path, doc_string="again")
    with pytest.raises(onnxmap.FileChangedError):
        model.arrays()
    assert onnxmap.load(path).doc_string == "again"


@pytest.mark.parametrize("pad", [False, True])
def test_an_append_by_another_process_is_noticed(pad: bool, path: Path) -> None:
    model = onnxmap.load(path)
    result = run_python(
        "import onnxmap; onnxmap.append(sys.argv[1], doc_string='theirs')", str(path)
    )
    assert result.returncode == 0, result.stderr
    if pad:
        onnxmap.append(path, doc_string="ours")
    with pytest.raises(onnxmap.FileChangedError):
        model.arrays()


def test_refused_keys_and_values(path: Path) -> None:
    onnxmap.append(path, metadata_props={"known": "1"})
    before = contents(path.parent)
    with pytest.raises(onnxmap.SaveError, match="known") as caught:
        onnxmap.append(path, metadata_props={"new": "1", "known": "2"})
    assert caught.value.code == "save.key_exists"
    wrong: list[tuple[type[Exception], dict[str, Any]]] = [
        (TypeError, {"metadata_props": {1: "x"}}),
        (TypeError, {"metadata_props": {"x": 1}}),
        (TypeError, {"doc_string": 1}),
        (TypeError, {"model_version": "1"}),
        (ValueError, {"model_version": 1 << 63}),
        (TypeError, {"ir_version": 1}),
        (ValueError, {}),
        (ValueError, {"metadata_props": {}}),
    ]
    for error, arguments in wrong:
        with pytest.raises(error):
            onnxmap.append(path, **arguments)
    assert contents(path.parent) == before


def test_links_are_refused(tmp_path: Path) -> None:
    path = SAVE_MODELS["chain"](tmp_path)
    data = path.read_bytes()
    (tmp_path / "link.onnx").symlink_to(path)
    with pytest.raises(onnxmap.SaveError) as caught:
        onnxmap.append(tmp_path / "link.onnx", doc_string="x")
    assert caught.value.code == "save.link"
    os.link(path, tmp_path / "hard.onnx")
    for name in ("model.onnx", "hard.onnx"):
        with pytest.raises(onnxmap.SaveError) as caught:
            onnxmap.append(tmp_path / name, doc_string="x")
        assert caught.value.code == "save.link"
    assert path.read_bytes() == data
    (tmp_path / "hard.onnx").unlink()
    (tmp_path / "folder").symlink_to(tmp_path)
    onnxmap.append(tmp_path / "folder" / "model.onnx", doc_string="through a folder")


def test_what_is_no_model_file(tmp_path: Path) -> None:
    path = SAVE_MODELS["chain"](tmp_path)
    (tmp_path / "text.textproto").write_text(str(onnxmap.load(path).proto))
    (tmp_path / "model.json").write_text(onnxmap.load(path).proto.to_json())
    (tmp_path / "empty.onnx").write_bytes(b"")
    (tmp_path / "other.onnx").write_bytes(b"\xff" * 100)
    os.mkfifo(tmp_path / "pipe")
    before = contents(tmp_path)
    cases: dict[str, tuple[type[Exception], str | None]] = {
        "text.textproto": (onnxmap.SaveError, "save.text"),
        "model.json": (onnxmap.SaveError, "save.text"),
        "empty.onnx": (onnxmap.ParseError, None),
        "other.onnx": (onnxmap.ParseError, None),
        "missing.onnx": (FileNotFoundError, None),
        ".": (IsADirectoryError, None),
        "pipe": (onnxmap.ParseError, None),
    }
    for name, (error, code) in cases.items():
        with pytest.raises(error) as caught:
            onnxmap.append(tmp_path / name, doc_string="x")
        assert code is None or getattr(caught.value, "code", None) == code, name
    with pytest.raises(onnxmap.SaveError) as refused:
        onnxmap.append("https://host/model.onnx", doc_string="x")
    assert refused.value.code == "save.remote"
    assert contents(tmp_path) == before


def test_a_file_that_changes_while_it_is_looked_at(path: Path, monkeypatch: Any) -> None:
    """The bytes are added only to the very file that was examined."""
    real = onnxmap._core.append_bytes

    def late(document: Any, name: bytes, data: bytes, sync: bool) -> Any:
        with path.open("ab") as file:
            file.write(wire.scalar(1, 10))
        return real(document, name, data, sync)

    monkeypatch.setattr(onnxmap._core, "append_bytes", late)
    before = path.read_bytes()
    with pytest.raises(onnxmap.FileChangedError):
        onnxmap.append(path, doc_string="x")
    assert path.read_bytes() == before + wire.scalar(1, 10)


def test_a_key_that_is_appended_after_the_keys_were_checked(path: Path, monkeypatch: Any) -> None:
    """Models of the file accept own appends; another append must not."""
    real = onnxmap._core.append_bytes

    def late(document: Any, name: bytes, data: bytes, sync: bool) -> Any:
        monkeypatch.undo()
        onnxmap.append(path, metadata_props={"k": "first"})
        return real(document, name, data, sync)

    monkeypatch.setattr(onnxmap._core, "append_bytes", late)
    with pytest.raises(onnxmap.FileChangedError):
        onnxmap.append(path, metadata_props={"k": "second"})
    assert dict(onnxmap.load(path).metadata_props) == {"k": "first"}
    with pytest.raises(onnxmap.SaveError) as caught:
        onnxmap.append(path, metadata_props={"k": "second"})
    assert caught.value.code == "save.key_exists"


APPENDING = """
import onnxmap
path, mine = sys.argv[1:]
for number in range(20):
    while True:
        try:
            onnxmap.append(path, metadata_props={f"{mine}{number}": "v" * 5000})
            break
        except onnxmap.FileChangedError:
            pass
"""


def test_processes_that_append_at_the_same_time(path: Path) -> None:
    names = ["a", "b", "c"]
    with ThreadPoolExecutor() as pool:
        ran = pool.map(lambda name: run_python(APPENDING, str(path), name, fresh=True), names)
    assert [each.stderr for each in ran] == ["", "", ""]
    proto = onnx.ModelProto.FromString(path.read_bytes())
    keys = [entry.key for entry in proto.metadata_props]
    assert sorted(keys) == sorted(f"{name}{number}" for name in names for number in range(20))


def test_a_wait_for_a_lock_can_be_interrupted(path: Path) -> None:
    before = path.read_bytes()
    code = """
    import onnxmap, signal
    signal.signal(signal.SIGALRM, signal.default_int_handler)
    signal.setitimer(signal.ITIMER_REAL, 0.3)
    try:
        onnxmap.append(sys.argv[1], doc_string="x")
    except KeyboardInterrupt:
        report(interrupted=True)
    """
    with path.open("rb") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        assert facts_from(code, str(path))["interrupted"]
    assert path.read_bytes() == before
    onnxmap.append(path, doc_string="x")


@pytest.mark.parametrize("name", ["other.textproto", "other.json"])
def test_a_text_that_somebody_has_locked_is_read(name: str, tmp_path: Path) -> None:
    """No text is appended to. A save that took it for unreadable would replace its values."""
    model, other = tmp_path / "model.onnx", tmp_path / name
    onnxmap.from_arrays({"w": np.arange(2000.0)}).save(model, external_data="w.data", sync=False)
    onnxmap.load(model).save(other, sync=False)
    edited = onnxmap.load(model)
    edited.initializers["w"] = np.ones(2000)
    with other.open("rb") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        with pytest.raises(onnxmap.SaveError) as caught:
            edited.save(model, external_data="w.data", sync=False)
        assert caught.value.code == "save.own_data"
        assert onnxmap.load(other).initializers["w"].numpy()[-1] == 1999


def test_a_replaced_file(path: Path, monkeypatch: Any) -> None:
    real = onnxmap._core.append_bytes

    def late(document: Any, name: bytes, data: bytes, sync: bool) -> Any:
        other = path.with_name("other.onnx")
        other.write_bytes(path.read_bytes())
        other.replace(path)
        return real(document, name, data, sync)

    monkeypatch.setattr(onnxmap._core, "append_bytes", late)
    before = path.read_bytes()
    with pytest.raises(onnxmap.FileChangedError):
        onnxmap.append(path, doc_string="x")
    assert path.read_bytes() == before


@pytest.mark.skipif(SANITIZED, reason="the sanitizers write files of their own")
def test_a_failed_write_is_undone(path: Path) -> None:
    """The limit on the size of files lets a part of the bytes through."""
    before = path.read_bytes()
    facts = facts_from(
        """
    import os, resource, signal
    import onnxmap
    path = sys.argv[1]
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    model = onnxmap.load(path)
    size = os.path.getsize(path)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size + 10, size + 10))
    try:
        onnxmap.append(path, doc_string="x" * 100)
    except OSError as error:
        facts = {"errno": error.errno, "filename": error.filename}
    model.arrays()
    onnxmap.append(path, doc_string="y")
    report(**facts, doc=onnxmap.load(path).doc_string, arrays=len(model.arrays()))
    """,
        str(path),
        fresh=True,
    )
    assert (facts["errno"], facts["filename"]) == (errno.EFBIG, str(path))
    assert facts["doc"] == "y"
    assert path.read_bytes() == before + wire.blob(6, b"y")


def test_a_file_that_may_not_be_written(path: Path, monkeypatch: Any) -> None:
    """Root may write any file, except a program that runs. The program takes the model's place."""
    program = path.with_name("program")
    program.write_bytes(Path("/bin/sleep").read_bytes())
    program.chmod(0o700)
    real = onnxmap._core.append_bytes
    monkeypatch.setattr(
        onnxmap._core,
        "append_bytes",
        lambda document, name, data, sync: real(document, bytes(program), data, sync),
    )
    before = contents(path.parent)
    with subprocess.Popen([program, "60"]) as running:
        try:
            with pytest.raises(OSError, match="program") as caught:
                onnxmap.append(path, doc_string="x")
        finally:
            running.kill()
    assert (caught.value.errno, caught.value.filename) == (errno.ETXTBSY, str(program))
    assert contents(path.parent) == before


@pytest.mark.parametrize("size", [(1 << 31) - 200, (1 << 31) + 10])
def test_2_gib(size: int, tmp_path: Path) -> None:
    """Protobuf's limit must not be crossed; beyond it, there is no other."""
    path = tmp_path / "big.onnx"
    head = wire.scalar(2, 2) + wire.scalar(1, size) + wire.blob(8, b"w") + wire.tag(9, wire.LENGTH)
    tensor = head + wire.varint(size)
    graph = wire.tag(5, wire.LENGTH) + wire.varint(len(tensor) + size) + tensor
    start = wire.tag(7, wire.LENGTH) + wire.varint(len(graph) + size) + graph
    with path.open("wb") as file:
        file.write(start)
        file.truncate(len(start) + size)
    if size < 1 << 31:
        with pytest.raises(onnxmap.SaveError) as caught:
            onnxmap.append(path, doc_string="x" * 300)
        assert caught.value.code == "save.too_large"
        assert path.stat().st_size == len(start) + size
    onnxmap.append(path, doc_string="x" * 50)
    assert onnxmap.load(path).doc_string == "x" * 50
    assert path.stat().st_blocks * 512 < 1 << 20


def test_a_view_of_the_file_is_stale_afterwards(tmp_path: Path) -> None:
    path = SAVE_MODELS["chain"](tmp_path)
    onnxmap.save(onnxmap.load(path), tmp_path / "view.onnx", external_data="view", sync=False)
    onnxmap.append(path, doc_string="x")
    with pytest.raises(onnxmap.FileChangedError):
        onnxmap.load(tmp_path / "view.onnx")


def test_pickles_made_before_are_refused(tmp_path: Path) -> None:
    """A file that has grown is another state of the file for another process."""
    path = SAVE_MODELS["chain"](tmp_path)
    model = onnxmap.load(path)
    tensor = model.initializers["w"]
    values = tensor.numpy().tolist()
    before = pickle.dumps(tensor)
    onnxmap.append(path, doc_string="x")
    assert tensor.numpy().tolist() == values
    after = pickle.dumps(onnxmap.load(path).initializers["w"])
    facts = facts_from(
        """
    import pickle
    import onnxmap
    before, after = map(bytes.fromhex, sys.argv[1:])
    try:
        pickle.loads(before)
    except onnxmap.FileChangedError as error:
        report(path=error.path, values=pickle.loads(after).numpy().tolist())
    """,
        before.hex(),
        after.hex(),
    )
    assert facts == {"path": str(path), "values": values}
