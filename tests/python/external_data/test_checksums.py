"""Checksums of external data: what they are compared with, and what is refused."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import helper
from support.models.checksums import MIB, WRONG, Hashed, data_file, declared, load
from support.models.sample import floats, model_of, write

import onnxmap


@pytest.fixture
def hashed(monkeypatch: pytest.MonkeyPatch) -> Hashed:
    hashed = Hashed()
    monkeypatch.setattr("hashlib.sha1", hashed)
    return hashed


class TestTensor:
    @pytest.mark.parametrize("io", ["mmap", "read"])
    @pytest.mark.parametrize("form", [str.lower, str.upper, str.title])
    def test_true_if_the_file_is_as_declared(
        self, tmp_path: Path, io: str, form: Callable[[str], str]
    ) -> None:
        digest = data_file(tmp_path / "w.bin")
        model = load(tmp_path, declared("w", "w.bin", form(digest)), io=io)
        assert model.initializers["w"].verify() is True

    def test_false_if_nothing_is_declared(self, tmp_path: Path) -> None:
        data_file(tmp_path / "w.bin")
        model = load(tmp_path, declared("w", "w.bin", None), floats("inline", 3))
        assert model.initializers["w"].verify() is False
        assert model.initializers["inline"].verify() is False

    def test_entries_of_a_tensor_that_is_not_external_mean_nothing(self, tmp_path: Path) -> None:
        tensor = floats("w", 2)
        tensor.external_data.add(key="location", value="w.bin")
        tensor.external_data.add(key="checksum", value=WRONG)
        model = load(tmp_path, tensor)
        assert model.initializers["w"].verify() is False
        assert model.verify() == {}

    @pytest.mark.parametrize("size", [0, 1, MIB - 1, MIB, MIB + 1, 3 * MIB + 17])
    def test_the_checksum_is_of_the_whole_file(
        self, tmp_path: Path, size: int, hashed: Hashed
    ) -> None:
        content = np.random.default_rng(size).bytes(size)
        digest = data_file(tmp_path / "w.bin", content)
        model = load(tmp_path, declared("w", "w.bin", digest))
        assert model.initializers["w"].verify()
        assert hashed.nbytes == size
        assert model.verify() == {str(tmp_path / "w.bin"): digest}
        assert hashed.nbytes == 2 * size

    @pytest.mark.parametrize("io", ["mmap", "read"])
    def test_another_digest(self, tmp_path: Path, io: str) -> None:
        digest = data_file(tmp_path / "w.bin")
        tensors = [declared("w", "w.bin", WRONG), floats("good", 1)]
        model = load(tmp_path, *tensors, io=io)
        for verify in (model.initializers["w"].verify, model.verify):
            with pytest.raises(onnxmap.ChecksumError) as caught:
                verify()
            assert caught.value.code == "ext.checksum"
            assert (caught.value.tensor, caught.value.location) == ("w", "w.bin")
            for part in ("'w'", str(tmp_path / "w.bin"), digest, WRONG):
                assert part in str(caught.value)
        # Without verify() nothing is compared, so wrong data can be read.
        assert model.initializers["w"].numpy().tolist() == [0.0]

    def test_one_changed_bit_of_megabytes(self, tmp_path: Path) -> None:
        content = bytearray(np.random.default_rng(1).bytes(2 * MIB + 5))
        digest = data_file(tmp_path / "w.bin", bytes(content))
        content[-1] ^= 1
        data_file(tmp_path / "w.bin", bytes(content))
        model = load(tmp_path, declared("w", "w.bin", digest))
        with pytest.raises(onnxmap.ChecksumError):
            model.initializers["w"].verify()

    @pytest.mark.parametrize(
        "text",
        [
            "", "abc", WRONG[1:], WRONG + "0", "sha1:" + WRONG, f" {WRONG}", f"{WRONG}\n", "g" * 40,
            "\u0660" * 40, f"0x{WRONG[2:]}", "d41d8cd98f00b204e9800998ecf8427e", "e3b0" * 16,
            "x" * 5_000,
        ],
    )  # fmt: skip
    def test_text_that_is_not_a_digest(self, tmp_path: Path, text: str, hashed: Hashed) -> None:
        data_file(tmp_path / "w.bin")
        model = load(tmp_path, declared("w", "w.bin", text))
        for verify in (model.initializers["w"].verify, model.verify):
            with pytest.raises(onnxmap.ExternalDataError) as caught:
                verify()
            assert caught.value.code == "ext.checksum_form"
            assert not isinstance(caught.value, onnxmap.ChecksumError)
            assert (caught.value.tensor, caught.value.location) == ("w", "w.bin")
            assert str(caught.value).isprintable()
            assert len(str(caught.value)) < 400
        assert hashed.files == 0  # no file was read

    def test_messages_name_tensors_without_a_name_by_their_path(self, tmp_path: Path) -> None:
        data_file(tmp_path / "w.bin")
        for text in (WRONG, "abc"):
            model = load(tmp_path, floats("first", 1), declared("", "w.bin", text))
            *_, (where, tensor) = model.tensors()
            with pytest.raises(
                onnxmap.ExternalDataError, match=r"graph\.initializer\[1\]"
            ) as caught:
                tensor.verify()
            assert caught.value.tensor == where == "graph.initializer[1]"

    def test_messages_are_cut_and_printable(self, tmp_path: Path) -> None:
        data_file(tmp_path / "w.bin")
        name = "evil\x1b[31m\n" + "x" * 5_000
        with pytest.raises(onnxmap.ChecksumError) as caught:
            load(tmp_path, declared(name, "w.bin", WRONG)).verify()
        assert str(caught.value).isprintable()
        assert len(str(caught.value)) < 1_000
        assert caught.value.tensor == name

    def test_errors_of_opening_the_file(self, tmp_path: Path) -> None:
        folder = tmp_path / "inside"
        folder.mkdir()
        data_file(tmp_path / "outside.bin")
        os.mkfifo(folder / "pipe")
        (folder / "link.bin").symlink_to(tmp_path / "outside.bin")
        faults = {
            "gone.bin": (FileNotFoundError, "ext.missing"),
            "../outside.bin": (onnxmap.UnsafePathError, "ext.unsafe_path"),
            "link.bin": (onnxmap.UnsafePathError, "ext.unsafe_path"),
            "pipe": (onnxmap.ExternalDataError, "ext.not_regular"),
            "": (onnxmap.ExternalDataError, "ext.location"),
        }
        for location, (error, code) in faults.items():
            model = load(folder, declared("w", location, WRONG))
            for verify in (model.initializers["w"].verify, model.verify):
                with pytest.raises(error) as caught:
                    verify()
                assert (caught.value.code, caught.value.location) == (code, location)

    def test_a_model_without_a_folder(self) -> None:
        message = model_of([declared("w", "w.bin", WRONG)]).SerializeToString()
        with pytest.raises(onnxmap.ExternalDataError, match="external_root"):
            onnxmap.loads(message).verify()

    def test_entries_that_contradict_each_other(self, tmp_path: Path) -> None:
        digest = data_file(tmp_path / "w.bin")
        tensor = declared("w", "w.bin", digest)
        tensor.external_data.add(key="checksum", value=WRONG)
        model = load(tmp_path, tensor)
        for verify in (model.initializers["w"].verify, model.verify):
            with pytest.raises(onnxmap.ExternalDataError) as caught:
                verify()
            assert caught.value.code == "ext.duplicate_key"


class TestModel:
    def test_paths_and_digests_in_the_order_of_first_use(self, tmp_path: Path) -> None:
        names = [f"sub{i % 3}/w{i}.bin" for i in range(12)]
        digests = {
            str(tmp_path / name): data_file(tmp_path / name, bytes([i]) * (10_000 + i))
            for i, name in enumerate(reversed(names))
        }
        tensors = [declared(name, name, digests[str(tmp_path / name)].upper()) for name in names]
        found = load(tmp_path, *tensors).verify()
        assert found == digests
        assert list(found) == [str(tmp_path / name) for name in names]

    def test_files_without_a_checksum_are_left_alone(self, tmp_path: Path, hashed: Hashed) -> None:
        data_file(tmp_path / "w.bin")
        tensors = [declared("w", "w.bin", None), declared("gone", "gone.bin", None)]
        assert load(tmp_path, *tensors).verify() == {}
        assert hashed.files == 0

    def test_tensors_in_all_places_count(self, tmp_path: Path) -> None:
        names = ["attribute", "subgraph", "function", "values", "indices"]
        digests = {f"{n}.bin": data_file(tmp_path / f"{n}.bin", n.encode() * 9) for n in names}
        parts = {name: declared(name, f"{name}.bin", digests[f"{name}.bin"]) for name in names}
        constant = helper.make_node("Constant", [], ["c"], value=parts["attribute"])
        branch = helper.make_graph([], "branch", [], [], initializer=[parts["subgraph"]])
        choice = helper.make_node("If", ["x"], ["y"], then_branch=branch)
        inner = helper.make_node("Constant", [], ["z"], value=parts["function"])
        message = model_of([])
        message.graph.node.extend([constant, choice])
        message.functions.append(onnx.FunctionProto(name="f", node=[inner]))
        sparse = message.graph.sparse_initializer.add(dims=[4])
        sparse.values.CopyFrom(parts["values"])
        sparse.indices.CopyFrom(parts["indices"])
        found = onnxmap.load(write(message, tmp_path / "model.onnx")).verify()
        assert found == {str(tmp_path / name): digest for name, digest in digests.items()}

    def test_each_file_is_read_once_under_all_its_names(
        self, tmp_path: Path, hashed: Hashed
    ) -> None:
        digest = data_file(tmp_path / "w.bin", b"0123" * 1_000)
        (tmp_path / "sub").mkdir()
        (tmp_path / "link.bin").symlink_to("w.bin")
        (tmp_path / "hard.bin").hardlink_to(tmp_path / "w.bin")
        spellings = ["./w.bin", "w.bin", "sub/../w.bin", "link.bin", "hard.bin"] * 20
        checked = [declared(f"w{i}", place, digest) for i, place in enumerate(spellings)]
        plain = [declared(f"v{i}", "w.bin", None, offset="4") for i in range(20)]
        model = load(tmp_path, *plain, *checked, allow_hardlinks=True)
        assert [Path(path).name for path in model.verify()] == ["w.bin"]
        assert (hashed.files, hashed.nbytes) == (1, 4_000)

    @pytest.mark.parametrize("first", ["good", "bad"])
    @pytest.mark.parametrize("location", ["w.bin", "./w.bin"])
    def test_the_checksum_that_differs_is_reported(
        self, tmp_path: Path, first: str, location: str, hashed: Hashed
    ) -> None:
        digest = data_file(tmp_path / "w.bin")
        tensors = [declared("good", "w.bin", digest), declared("bad", location, WRONG)]
        model = load(tmp_path, *(tensors if first == "good" else reversed(tensors)))
        with pytest.raises(onnxmap.ChecksumError) as caught:
            model.verify()
        assert (caught.value.tensor, caught.value.location) == ("bad", location)
        assert hashed.files == 1

    def test_the_error_names_the_first_of_many_tensors(self, tmp_path: Path) -> None:
        data_file(tmp_path / "w.bin")
        model = load(tmp_path, *(declared(name, "w.bin", WRONG) for name in "cab"))
        with pytest.raises(onnxmap.ChecksumError) as caught:
            model.verify()
        assert caught.value.tensor == "c"

    def test_both_cases_of_one_checksum_agree(self, tmp_path: Path) -> None:
        digest = data_file(tmp_path / "w.bin")
        tensors = [declared("a", "w.bin", digest), declared("b", "w.bin", digest.upper())]
        assert load(tmp_path, *tensors).verify() == {str(tmp_path / "w.bin"): digest}

    def test_the_first_failure_in_file_order_is_raised(self, tmp_path: Path) -> None:
        """Even if a later one fails sooner: the first file is by far the largest."""
        texts = {
            "good.bin": data_file(tmp_path / "good.bin"),
            "large.bin": WRONG,
            "small.bin": WRONG,
            "malformed.bin": "abc",
            "gone.bin": WRONG,
        }
        for name in ("small.bin", "malformed.bin"):
            data_file(tmp_path / name)
        data_file(tmp_path / "large.bin", bytes(8 * MIB))
        tensors = {name: declared(name, name, text) for name, text in texts.items()}
        for first in ("large.bin", "small.bin", "malformed.bin", "gone.bin"):
            with pytest.raises(onnxmap.ExternalDataError) as caught:
                load(tmp_path, *tensors.values()).verify()
            assert caught.value.tensor == first
            del tensors[first]
        assert len(load(tmp_path, *tensors.values()).verify()) == 1

    def test_after_a_failure_the_other_readers_are_stopped(
        self, tmp_path: Path, hashed: Hashed, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("onnxmap._core.usable_cpus", lambda: 2)
        data_file(tmp_path / "small.bin")
        tensors = [declared("small", "small.bin", WRONG)]
        for name in "abcdef":
            data_file(tmp_path / f"{name}.bin")
            os.truncate(tmp_path / f"{name}.bin", 8 << 30)  # sparse: reading it all would take 10 s
            tensors.append(declared(name, f"{name}.bin", WRONG))
        before = threading.active_count()
        with pytest.raises(onnxmap.ChecksumError) as caught:
            load(tmp_path, *tensors).verify()
        assert caught.value.tensor == "small"
        assert hashed.files <= 3  # one for each thread, and one more behind the small file
        assert hashed.nbytes < 4 << 30
        assert threading.active_count() == before

    def test_several_files_are_read_at_a_time(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        meeting = threading.Barrier(3, timeout=60)  # the barrier breaks unless three threads come
        monkeypatch.setattr("hashlib.sha1", Hashed(meeting.wait))
        monkeypatch.setattr("onnxmap._core.usable_cpus", lambda: 3)
        digests = [data_file(tmp_path / f"{i}.bin", bytes([i])) for i in range(3)]
        tensors = [declared(str(i), f"{i}.bin", digests[i]) for i in range(3)]
        assert list(load(tmp_path, *tensors).verify().values()) == digests

    def test_no_more_threads_than_processors(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        names = {}
        note = Hashed(lambda: names.setdefault(threading.current_thread().name))
        monkeypatch.setattr("hashlib.sha1", note)
        monkeypatch.setattr("onnxmap._core.usable_cpus", lambda: 2)
        digests = [data_file(tmp_path / f"{i}.bin", bytes([i]) * 5 * MIB) for i in range(8)]
        tensors = [declared(str(i), f"{i}.bin", digests[i]) for i in range(8)]
        assert list(load(tmp_path, *tensors).verify().values()) == digests
        assert 1 <= len(names) <= 2
        assert threading.current_thread().name not in names

    def test_many_callers_at_once(self, tmp_path: Path) -> None:
        digests = [data_file(tmp_path / f"{i}.bin", bytes([i]) * 100_000) for i in range(4)]
        model = load(tmp_path, *(declared(str(i), f"{i}.bin", digests[i]) for i in range(4)))
        found: list[list[str]] = []
        threads = [
            threading.Thread(target=lambda: found.append(list(model.verify().values())))
            for _ in range(8)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert found == [digests] * 8

    def test_a_closed_model(self, tmp_path: Path) -> None:
        model = load(tmp_path, floats("w", 1))
        assert model.verify() == {}
        model.close()
        with pytest.raises(ValueError, match="closed"):
            model.verify()
