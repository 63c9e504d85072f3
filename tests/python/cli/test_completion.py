"""What the shell is told when Tab is pressed."""

from __future__ import annotations

import json
import os
from pathlib import Path

import numpy as np
import pytest
from support.models.hard_names import save, tensor
from support.processes.subprocesses import run_python

import onnxmap
from onnxmap.types import rule_names


def completions(line: str, folder: Path) -> list[str]:
    """What the shell is told when Tab is pressed at the end of the line."""
    answer = folder / "answer"
    environment = {
        "_ARGCOMPLETE": "1",
        "_ARGCOMPLETE_STDOUT_FILENAME": str(answer),
        "_ARGCOMPLETE_IFS": "\n",
        "COMP_LINE": line,
        "COMP_POINT": str(len(os.fsencode(line))),
    }
    ran = run_python(
        """
    import os
    os.environ.update(json.loads(sys.argv.pop()))
    from onnxmap.cli import main
    sys.exit(main())
        """,
        json.dumps(environment),
    )
    assert ran.returncode == 0, ran.stderr
    return [word.strip() for word in answer.read_text().splitlines()]


def test_completion(small: Path, tmp_path: Path) -> None:
    assert "verify" in completions("onnxmap ver", tmp_path)
    assert "--external-root" in completions("onnxmap show --ext", tmp_path)
    assert completions("onnxmap dump --type NodeP", tmp_path) == ["NodeProto"]
    assert completions(f"onnxmap ls {small} a.", tmp_path) == ["a.weight", "a.bias"]
    assert completions(f"onnxmap ls --nodes {small} fi", tmp_path) == ["first"]
    assert completions(f"onnxmap ls --all {small} in", tmp_path) == ["inner"]
    assert completions("onnxmap ls - a", tmp_path) == []
    assert completions(f"onnxmap ls {tmp_path}/none.onnx a", tmp_path) == []
    assert str(small) in completions(f"onnxmap show {str(small)[:-3]}", tmp_path)


def test_completion_offers_only_what_fits(
    small: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "text.onnx").write_text("no model")
    monkeypatch.chdir(tmp_path)
    found = set(completions("onnxmap ls ", tmp_path)) - {"answer"}
    assert found == {"folder/", "small.onnx", "text.onnx"}
    assert completions("onnxmap ls text.onnx ", tmp_path) == []
    assert completions("onnxmap ls gone.onnx ", tmp_path) == []
    assert "--nodes" in completions("onnxmap ls small.onnx -", tmp_path)
    assert not any(word.startswith("-") for word in completions("onnxmap ls small.onnx ", tmp_path))
    assert completions("onnxmap bench small.onnx --rounds ", tmp_path) == []
    assert completions("onnxmap demo --keep ", tmp_path) == ["folder/"]
    assert completions("onnxmap ls --external-root ", tmp_path) == ["folder/"]


def test_completion_of_fields(small: Path, tmp_path: Path) -> None:
    assert completions(f"onnxmap dump {small} gr", tmp_path) == ["graph"]
    assert completions(f"onnxmap dump {small} graph.no", tmp_path) == ["graph.node"]
    found = completions(f"onnxmap dump {small} graph.node[0].", tmp_path)
    fields = ("input", "output", "name", "op_type")
    assert found == [rf"graph.node\[0\].{name}" for name in fields]  # escaped for the shell
    for nothing in ("graph.node.", "graph.name.", "graph.node[99].", "graph.nothing.x"):
        assert completions(f"onnxmap dump {small} {nothing}", tmp_path) == []
    assert completions("onnxmap dump - gr", tmp_path) == []


def test_completion_of_the_commands_that_write(small: Path, tmp_path: Path) -> None:
    assert completions(f"onnxmap rename-tensor {small} a.", tmp_path) == ["a.weight", "a.bias"]
    assert completions(f"onnxmap rename-tensor {small} a.bias ", tmp_path) == []
    assert completions(f"onnxmap stats {small} a.", tmp_path) == ["a.weight", "a.bias"]
    assert completions(f"onnxmap set {small} a", tmp_path) == ["author="]
    assert completions(f"onnxmap set {small} doc_string=", tmp_path) == []
    assert completions(f"onnxmap set {small} prod", tmp_path) == [
        "producer_name=",
        "producer_version=",
    ]
    assert completions(f"onnxmap set {small} --delete a", tmp_path) == ["author"]
    assert completions(f"onnxmap save {small} {small} --align ", tmp_path) == []
    assert completions(f"onnxmap cp {small} {str(small)[:-3]}", tmp_path) == [str(small)]


def test_completion_prints_no_control_characters(tmp_path: Path) -> None:
    names = ["weight", "w\x1b[31m", "w\x07", "w\nb", "w\x0b", "w\u202e", "weight.\u00e4"]
    save(tmp_path / "m.onnx", *(tensor(name, np.ones(1)) for name in names))
    found = completions(f"onnxmap ls {tmp_path}/m.onnx w", tmp_path)
    assert found == ["weight", "weight.\u00e4"]


def test_completion_of_rules(tmp_path: Path) -> None:
    assert set(completions("onnxmap check --select ", tmp_path)) == set(rule_names())
    assert completions("onnxmap check --select value.cy", tmp_path) == ["value.cycle"]
    found = completions("onnxmap check --ignore node.domain,value.cy", tmp_path)
    assert found == ["node.domain,value.cycle"]


def test_completion_of_types(tmp_path: Path) -> None:
    """Those that a save takes."""
    found = completions("onnxmap save a b --dtype ", tmp_path)
    assert {"float16", "bfloat16", "float8_e4m3fn"} <= set(found)
    model = onnxmap.from_arrays({})
    for name in found:
        model.save(tmp_path / "m.onnx", dtype=name)
    assert completions("onnxmap extract m --dtype w=bf", tmp_path) == ["w=bfloat16"]


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("edit {} o --rename lay", ["layers.0.up.weight", "layers.0.up.out"]),
        ("edit {} o --replace-uses toke", ["tokens"]),
        ("edit {} o --replace-uses tokens=toke", ["tokens=tokens"]),
        ("edit {} o --bypass mul", ["multiply"]),
        ("edit {} o --add-output layers.0.up.o", ["layers.0.up.out"]),
        ("edit {} o --set-dims ba", ["batch="]),
        ("edit {} o --set-dims batch=1,le", ["batch=1,length="]),
        ("edit {} o --set-shape to", ["tokens="]),
        ("edit {} o --extract tokens:layers.0.up.o", ["tokens:layers.0.up.out"]),
        ("edit {} o --inline-functions Sw", ["Swish"]),
        ("merge {} b o --connect layers", ["layers.0.up.out="]),
        ("run {} --input to", ["tokens="]),
        ("run {} --size le", ["length="]),
    ],
)
def test_completion_of_names_in_options(tmp_path: Path, line: str, found: list[str]) -> None:
    body = [onnxmap.make_node("Sigmoid", ["x"], ["y"])]
    opsets = [onnxmap.make_opsetid("", 21)]
    out, weight = "layers.0.up.out", "layers.0.up.weight"
    graph = onnxmap.make_graph(
        [onnxmap.make_node("Mul", ["tokens", weight], [out], name="multiply")],
        "g",
        [onnxmap.make_tensor_value_info("tokens", 1, ["batch", "length"])],
        [onnxmap.make_tensor_value_info(out, 1, ["batch", "length"])],
        [onnxmap.make_tensor(weight, 1, [1], [1.0])],
    )
    swish = onnxmap.make_function("own", "Swish", ["x"], ["y"], body, opsets)
    onnxmap.save(onnxmap.make_model(graph, functions=[swish]), tmp_path / "m.onnx")
    told = completions("onnxmap " + line.format(tmp_path / "m.onnx"), tmp_path)
    assert sorted(told) == sorted(found)
