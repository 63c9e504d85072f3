"""`onnxmap set`: metadata and fields, appended where that is enough and saved where not."""

from __future__ import annotations

import io
import json
import sys
from pathlib import Path
from types import SimpleNamespace

import onnx
import pytest
from google.protobuf import text_format
from support.models.weighted import Values, names_in, values_of
from support.processes.command_line import Run


def read(path: Path) -> onnx.ModelProto:
    return onnx.load(str(path), load_external_data=False)


def metadata(path: Path) -> dict[str, str]:
    return {entry.key: entry.value for entry in read(path).metadata_props}


class TestValues:
    def test_keys_and_fields(self, run: Run, model: Path, values: Values) -> None:
        words = ["licence=MIT", "doc_string=a = b", "producer_name=me", "producer_version=2"]
        words += ["domain=com.example", "model_version=-3", "ir_version=9"]
        assert run("set", model, *words).status == 0
        made = read(model)
        assert metadata(model) == {"author": "somebody", "licence": "MIT"}
        assert (made.doc_string, made.producer_name, made.producer_version) == ("a = b", "me", "2")
        assert (made.domain, made.model_version, made.ir_version) == ("com.example", -3, 9)
        assert values_of(model) == values

    @pytest.mark.parametrize("more", [[], ["ir_version=9"]])
    def test_a_key_that_is_named_like_a_field(self, run: Run, model: Path, more: list[str]) -> None:
        assert (
            run("set", model, "metadata_props.domain=x", "metadata_props.a.b=", *more).status == 0
        )
        assert metadata(model) == {"author": "somebody", "domain": "x", "a.b": ""}
        assert not read(model).HasField("domain")

    def test_empty_and_deleted(self, run: Run, model: Path) -> None:
        assert run("set", model, "doc_string=a", "domain=b", "k=c", "l=d").status == 0
        assert (
            run("set", model, "doc_string=", "k=", "--delete", "domain", "--delete=l").status == 0
        )
        assert metadata(model) == {"author": "somebody", "k": ""}
        assert read(model).doc_string == ""
        assert not read(model).HasField("domain")
        assert run("set", model, "--delete", "metadata_props.k").status == 0
        assert metadata(model) == {"author": "somebody"}

    def test_words_may_follow_an_option(self, run: Run, model: Path) -> None:
        assert run("set", model, "a=1", "--json", "b=2").status == 0
        assert metadata(model) == {"author": "somebody", "a": "1", "b": "2"}

    def test_a_semantic_version_of_the_model(self, run: Run, model: Path) -> None:
        """The number is the example of ONNX's own page about versions."""
        assert run("set", model, "model_version=1.2.345").status == 0
        assert read(model).model_version == 0x0001_0002_0000_0159
        assert "model 1.2.345" in run("show", model).out
        for version, number in {"0.1.0": 1 << 32, "32767.65535.4294967295": (1 << 63) - 1}.items():
            assert run("set", model, f"model_version={version}").status == 0
            assert read(model).model_version == number
            assert f"model {version}" in run("show", model).out


class TestWay:
    @pytest.mark.parametrize(
        ("words", "way"),
        [
            (["new=1", "doc_string=x"], "append"),
            (["author=other"], "save"),
            (["ir_version=9"], "save"),
            (["new=1", "--delete", "author"], "save"),
        ],
    )
    def test_appended_or_saved(self, run: Run, model: Path, words: list[str], way: str) -> None:
        before = model.read_bytes()
        ran = run("set", model, *words, "--json")
        assert json.loads(ran.out)["way"] == way
        assert (model.read_bytes()[: len(before)] == before) == (way == "append")

    def test_it_says_which(self, run: Run, model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.chdir(model.parent)
        assert run("set", "m.onnx", "k=v").out.startswith("appended\tm.onnx\t2.2 kB\n8 B written")
        assert run("set", "m.onnx", "k=w").out.startswith("wrote\tm.onnx\t2.2 kB\n")

    def test_a_file_with_another_link_is_saved(self, run: Run, model: Path) -> None:
        before = model.read_bytes()
        (model.parent / "other").hardlink_to(model)
        assert json.loads(run("set", model, "k=v", "--json").out)["way"] == "save"
        assert metadata(model)["k"] == "v"
        assert (model.parent / "other").read_bytes() == before

    def test_external_data_stay(self, run: Run, model: Path, values: Values) -> None:
        """They need not even be there."""
        data = (model.parent / "w.bin").rename(model.parent / "elsewhere")
        options = ("--external-root", model.parent / "nowhere")
        assert run("set", model, "ir_version=9", *options).status == 0
        assert names_in(model.parent) == {"m.onnx", "elsewhere"}
        data.rename(model.parent / "w.bin")
        assert values_of(model) == values


class TestPlace:
    @pytest.mark.parametrize("words", [["k=v"], ["author=other"]])
    def test_another_file(self, run: Run, model: Path, values: Values, words: list[str]) -> None:
        before = model.read_bytes()
        out = model.parent / "n.onnx"
        assert run("set", model, *words, "-o", out).status == 0
        assert model.read_bytes() == before
        assert metadata(out) != metadata(model)
        assert values_of(out) == values

    def test_streams(
        self, run: Run, model: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
    ) -> None:
        out, stdout = tmp_path / "n.onnx", io.BytesIO()
        for place in (str(out), "-"):
            stdin = SimpleNamespace(buffer=io.BytesIO(model.read_bytes()))
            monkeypatch.setattr(sys, "stdin", stdin)
            if place == "-":
                monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(stdout, write_through=True))
            assert run("set", "-", "k=v", "-o", place).status == 0
        assert metadata(out)["k"] == "v"
        assert stdout.getvalue() == out.read_bytes()

    def test_standard_input_needs_a_place(self, run: Run) -> None:
        ran = run("set", "-", "k=v")
        assert (ran.status, ran.err) == (
            2,
            "onnxmap: standard input needs a place for the result: -o OUT\n",
        )

    @pytest.mark.parametrize("words", [["k=v"], ["author=other"]])
    def test_a_symbolic_link(self, run: Run, model: Path, words: list[str]) -> None:
        before = model.read_bytes()
        link = model.parent / "link.onnx"
        link.symlink_to("m.onnx")
        ran = run("set", link, *words)
        assert ran.status == 2
        assert "--follow-symlinks" in ran.err
        assert model.read_bytes() == before
        assert run("set", link, *words, "--follow-symlinks").status == 0
        assert link.is_symlink()
        assert model.read_bytes() != before

    def test_a_model_in_text_stays_text(self, run: Run, model: Path) -> None:
        path = model.parent / "m.txtpb"
        path.write_text(text_format.MessageToString(read(model)))
        expected = read(model)
        expected.metadata_props.add(key="k", value="v")
        assert run("set", path, "k=v").status == 0
        assert text_format.Parse(path.read_text(), onnx.ModelProto()) == expected

    def test_a_model_in_text_with_the_name_of_another_form(self, run: Run, model: Path) -> None:
        path = model.parent / "text.onnx"
        path.write_text(text_format.MessageToString(read(model)))
        expected = read(model)
        expected.metadata_props.add(key="k", value="v")
        assert run("set", path, "k=v").status == 0
        assert text_format.Parse(path.read_text(), onnx.ModelProto()) == expected
        assert run("set", path, "k=v", "-o", model.parent / "n.onnx").status == 0
        assert metadata(model.parent / "n.onnx")["k"] == "v"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ([], "there is nothing to set"),
        (["k"], "'k' has no value; write k=VALUE, or --delete k"),
        (["=v"], "a key has at least one character"),
        (["k=1", "k=2"], "k is given twice"),
        (["domain=1", "--delete", "domain"], "domain is given twice"),
        (
            ["graph=x"],
            "set cannot set graph; edit it in Python; for metadata, write metadata_props.graph",
        ),
        (["Doc_string=x"], "set cannot set Doc_string; edit it in Python; for metadata, write"),
        (["opset=21"], "set cannot set opset; use edit --convert-version; for metadata, write"),
        (["opset=21"], "write metadata_props.opset"),
        (["opset_version=21"], "use edit --convert-version"),
        (["opset_imports=19"], "write metadata_props.opset_imports"),
        (["graph.name=g"], "write metadata_props.graph.name"),
        (["--delete", "graph.name"], "write metadata_props.graph.name"),
        (["model_version="], "model_version is a whole number, not ''"),
        (["model_version=1_0"], "model_version is a whole number, not '1_0'"),
        ([f"model_version={1 << 63}"], "value out of range"),
        (["model_version=0.0.9"], "model_version is a whole number, not '0.0.9'"),
        (["model_version=32768.0.0"], "model_version is a whole number, not '32768.0.0'"),
        (["ir_version=1.2.3"], "ir_version is a whole number, not '1.2.3'"),
        ([f"ir_version={1 << 63}"], "value out of range"),
        (["--delete", "ir_version"], "a model needs ir_version"),
        (["--delete", "autor"], "no key is named 'autor'; did you mean 'author'?"),
        (["k=\udcff"], "is not UTF-8"),
        (["\udcff=1"], "is not UTF-8"),
    ],
)
def test_bad_usage_is_one_line(run: Run, model: Path, words: list[str], said: str) -> None:
    before = model.read_bytes()
    ran = run("set", model, *words)
    assert (ran.status, ran.out) == (2, "")
    assert said in ran.err
    assert ran.err[:-1].isprintable()
    assert ran.err.endswith("\n")
    assert model.read_bytes() == before
