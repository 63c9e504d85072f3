"""`onnxmap edit`."""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import onnx
import pytest
from onnx import ModelProto, TensorProto, helper, numpy_helper
from support.processes.command_line import Run, piped

import onnxmap

NAME = "in:0"  # as TensorFlow names values


@pytest.fixture
def model(tmp_path: Path) -> Path:
    """A chain `copied`, `scaled`, `moved`, `y`; a dead part; equal weights; nodes out of order."""
    path, nodes = tmp_path / "m.onnx", []
    ones = numpy_helper.from_array(np.ones(3, np.float32))
    nodes.append(helper.make_node("Constant", [], ["one"], "constant", value=ones))
    nodes.append(helper.make_node("Relu", ["unused"], ["nothing"], "dead"))
    nodes.append(helper.make_node("Mul", ["copied", "w"], ["scaled"], "scale"))
    nodes.append(helper.make_node("Identity", [NAME], ["copied"], "copy"))
    nodes.append(helper.make_node("Add", ["scaled", "same"], ["moved"]))
    nodes.append(helper.make_node("Reshape", ["moved", "sizes"], ["shaped"], "shape"))
    nodes.append(helper.make_node("Add", ["shaped", "one"], ["y"], "last"))
    values = {"w": np.float32([1, 2, 3]), "same": np.float32([1, 2, 3]), "unused": np.ones(2)}
    tensors = [numpy_helper.from_array(value, name) for name, value in values.items()]
    tensors.append(numpy_helper.from_array(np.int64([4, 3]), "sizes"))

    def typed(name: str, *shape: str | int) -> onnx.ValueInfoProto:
        return helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)

    inner = [typed("scaled", "N", 3), typed("moved", "N", 3)]
    graph = helper.make_graph(
        nodes, "g", [typed(NAME, "N", 3)], [typed("y", 4, 3)], tensors, "text", inner
    )
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)
    path.write_bytes(made.SerializeToString())
    return path


def edited(model: Path, *edits: Callable[[onnxmap.Model], object]) -> onnxmap.Model:
    """The model after edits in Python, of which those that return a Model go on with it."""
    found = onnxmap.load(model)
    for edit in edits:
        result = edit(found)
        found = result if isinstance(result, onnxmap.Model) else found
    return found


def outputs_of(path: Path) -> list[str]:
    return [output.name for output in onnxmap.load(path).graph.outputs]


def node(op_type: str, inputs: str, output: str) -> object:
    return onnxmap.make_node(op_type, inputs.split(), [output])


EDITS: list[tuple[list[str], Callable[[onnxmap.Model], object]]] = [
    (["--rename", "y=out=put"], lambda m: m.graph.rename("y", "out=put")),
    (["--replace-uses", "same=w"], lambda m: m.graph.replace_uses("same", "w")),
    (["--bypass", "copy"], lambda m: m.graph.bypass(m.graph.nodes["copy"])),
    (["--bypass", "moved"], lambda m: m.graph.bypass(m.graph.nodes[4])),
    (["--insert-after", "scaled=Relu"],
     lambda m: m.graph.insert_after("scaled", node("Relu", "scaled", "scaled.new"))),
    (["--insert-after", "scaled=Relu", "--insert-after", "scaled=Abs"],
     lambda m: [m.graph.insert_after("scaled", node(op, "scaled", f"scaled.{new}"))
                for op, new in (("Relu", "new"), ("Abs", "new_1"))]),
    (["--insert-before", "moved=Identity"],
     lambda m: m.graph.insert_before(m.graph.nodes[4], node("Identity", "scaled", "moved.new"))),
    (["--replace", "scale=Div"],
     lambda m: m.graph.replace([m.graph.nodes["scale"]], [node("Div", "copied w", "scaled")])),
    (["--replace", "copy,scale=Abs"],
     lambda m: m.graph.replace([m.graph.nodes["scale"], m.graph.nodes["copy"]],
                               [node("Abs", NAME, "scaled")])),
    (["--add-output", "scaled"], lambda m: m.graph.add_output("scaled")),
    (["--remove-output", "y"], lambda m: m.graph.remove_output("y")),
    (["--add-prefix", "p/"], lambda m: m.graph.add_prefix("p/")),
    (["--lower-initializers"], onnxmap.Model.lower_initializers),
    (["--rename", f"{NAME}=w2", "--rename", "w2=w3", "--assign-names"],
     lambda m: (m.graph.rename(NAME, "w3"), m.assign_names())),
    (["--raise-ir", "11"], lambda m: m.raise_ir(11)),
    (["--set-dims", "N=4"], lambda m: m.set_dims({"N": 4})),
    (["--set-dims", "N=batch"], lambda m: m.set_dims({"N": "batch"})),
    (["--set-dims", "N=?"], lambda m: m.set_dims({"N": None})),
    (["--set-shape", f"{NAME}=8,?"], lambda m: m.set_dims(None, {NAME: [8, None]})),
    (["--set-shape", f"{NAME}=M,3"], lambda m: m.set_dims(None, {NAME: ["M", 3]})),
    (["--set-shape", f"{NAME}=-1,None"], lambda m: m.set_dims(None, {NAME: [None, None]})),
    (["--set-shape", f"{NAME}=N,6", "--constants"],
     lambda m: m.set_dims(None, {NAME: ["N", 6]}, constants=True)),
    (["--extract", f"{NAME}:scaled"], lambda m: m.extract([NAME], ["scaled"])),
    (["--extract", "scaled,w:moved,w"], lambda m: m.extract(["scaled", "w"], ["moved", "w"])),
    (["--extract", ":w"], lambda m: m.extract([], ["w"])),
    (["--prune"], onnxmap.Model.prune),
    (["--sort"], onnxmap.Model.sort),
    (["--dedupe"], onnxmap.Model.dedupe),
    (["--strip"], onnxmap.Model.strip),
    (["--lift-constants"], onnxmap.Model.lift_constants),
    (["--lift-constants", "12"], lambda m: m.lift_constants(12)),
    (["--infer-shapes"], lambda m: m.infer_shapes(data_prop=True)),
    (["--convert-version", "22"], lambda m: m.convert_version(22)),
]  # fmt: skip


@pytest.mark.parametrize(("options", "edit"), EDITS, ids=[" ".join(each) for each, _ in EDITS])
def test_an_option_does_what_the_method_does(
    run: Run, model: Path, options: list[str], edit: Callable[[onnxmap.Model], object]
) -> None:
    before, out = model.read_bytes(), model.parent / "out.onnx"
    ran = run("edit", model, out, *options)
    assert (ran.status, ran.err) == (0, "")
    assert str(onnxmap.diff(out, edited(model, edit))) == "no differences"
    assert str(onnxmap.diff(out, model)) != "no differences" or "--sort" in options
    assert onnxmap.load(out).graph.node_names() == edited(model, edit).graph.node_names()
    assert model.read_bytes() == before


@pytest.mark.parametrize(("names", "left"), [([], []), (["Neg2"], ["Abs2"])])
def test_inline_puts_nodes_in_the_place_of_calls(
    run: Run, tmp_path: Path, names: list[str], left: list[str]
) -> None:
    path, opsets = tmp_path / "f.onnx", [helper.make_opsetid("", 18), helper.make_opsetid("f", 1)]
    functions = [
        helper.make_function(
            "f", f"{op}2", ["a"], ["b"], [helper.make_node(op, ["a"], ["b"])], opsets
        )
        for op in ("Neg", "Abs")
    ]
    nodes = [helper.make_node("Neg2", ["x"], ["t"], domain="f")]
    nodes.append(helper.make_node("Abs2", ["t"], ["y"], domain="f"))
    values = [[helper.make_tensor_value_info(name, TensorProto.FLOAT, [3])] for name in "xy"]
    graph = helper.make_graph(nodes, "g", *values)
    made = helper.make_model(graph, opset_imports=opsets, ir_version=9, functions=functions)
    path.write_bytes(made.SerializeToString())
    ran = run("edit", path, path, "--inline-functions", *names, "--json")
    gone = [name for name in ("f::Neg2", "f::Abs2") if name[3:] not in left]
    assert json.loads(ran.out)["verbs"] == [{"verb": "--inline-functions", "functions": gone}]
    model = onnxmap.load(path)
    assert model.graph.op_types() == ["Neg", *(left or ["Abs"])]
    assert [function.name for function in model.functions] == left


def test_inputs_with_a_default_go(run: Run, model: Path) -> None:
    message = onnx.load(model)
    message.graph.input.append(helper.make_tensor_value_info("w", TensorProto.FLOAT, [3]))
    onnx.save(message, model)
    ran = run("edit", model, model, "--drop-initializer-inputs", "--json")
    assert json.loads(ran.out)["verbs"] == [{"verb": "--drop-initializer-inputs", "inputs": ["w"]}]
    assert [value.name for value in onnxmap.load(model).graph.inputs] == [NAME]


def test_sort_moves_nodes(run: Run, model: Path) -> None:
    assert run("check", model).status == 1  # `scale` is before `copy`
    assert run("edit", model, model, "--sort").status == 0
    names = onnxmap.load(model).graph.node_names()
    assert names.index("copy") < names.index("scale")


def test_a_smaller_constant_stays(run: Run, model: Path) -> None:
    ran = run("edit", model, model, "--lift-constants", "13", "--json")
    assert json.loads(ran.out)["verbs"] == [{"verb": "--lift-constants", "initializers": []}]
    assert "one" not in onnxmap.load(model).initializers


def test_options_are_carried_out_in_their_order(run: Run, model: Path) -> None:
    out = model.parent / "out.onnx"
    assert run("edit", model, out, "--rename", "w=v", "--rename", "v=u").status == 0
    assert "u" in onnxmap.load(out).initializers
    ran = run("edit", model, out, "--rename", "v=u", "--rename", "w=v")
    assert (ran.status, ran.err) == (2, "onnxmap: no value is named 'v'\n")
    # What is pruned before a cut stays after it.
    cut = ["--extract", f"{NAME}:scaled", "--add-output", "w"]
    assert run("edit", model, out, *cut).status == 0
    assert outputs_of(out) == ["scaled", "w"]
    assert run("edit", model, out, *cut[2:], *cut[:2]).status == 0
    assert outputs_of(out) == ["scaled"]


def test_what_a_verb_reports_is_printed(run: Run, model: Path) -> None:
    out = model.parent / "out.onnx"
    words = ["--prune", "--dedupe", "--lift-constants", "--set-dims", "N=5"]
    ran = run("edit", model, out, *words, "--set-shape", f"{NAME}=6,3")
    assert ran.out.splitlines()[:-2] == [
        "--prune\tnodes\t1\tgraph.node[1]",
        "--prune\tinitializers\t1\tunused",
        "--dedupe\treplaced\t1\tsame=w",
        "--lift-constants\tinitializers\t1\tone",
        "--set-shape\tvalue infos\t2\tscaled, moved",
    ]
    names = ["--lower-initializers", "--assign-names"]
    assert run("edit", model, out, *names).out.splitlines()[:-2] == [
        "--lower-initializers\tinitializers\t4\tw, same, unused, sizes",
        "--assign-names\tnodes\t5\tConstant_0, Constant_1, Constant_2, Constant_3, Add_0",
    ]
    told = json.loads(run("edit", model, out, *words, "--json").out)
    assert told["files"] == [str(out)]
    assert [each["verb"] for each in told["verbs"]] == words[:-1]
    assert told["verbs"][0]["initializers"] == ["unused"]
    assert told["verbs"][1]["replaced"] == ["same=w"]
    ran = run("edit", model, out, "--set-shape", f"{NAME}=4,3", "--set-dims", "N=5", "--dry-run")
    assert ran.status == 2  # there is no N now
    ran = run("edit", model, out, "--set-dims", "N=4", "--set-shape", f"{NAME}=5,3")
    assert "--set-shape\tconstants\t1\tgraph.node[5].input[1]" in ran.out


def test_a_dry_run_prints_the_difference(run: Run, model: Path) -> None:
    before, out = model.read_bytes(), model.parent / "out.onnx"
    words = ("edit", model, model, "--prune", "--extract", f"{NAME}:scaled", "--rename", "w=v")
    ran = run(*words, "--dry-run")
    assert (ran.status, model.read_bytes(), out.exists()) == (0, before, False)
    as_json = run(*words, "--dry-run", "--json")
    assert run(*words[:2], out, *words[3:]).status == 0
    shown = run("diff", model, out).out
    assert "'w' -> 'v'" in shown
    assert ran.out.endswith(f"--prune\tinitializers\t1\tunused\n{shown}")
    told = json.loads(as_json.out)
    assert [each["verb"] for each in told.pop("verbs")] == ["--prune", "--extract", "--rename"]
    assert told == json.loads(run("diff", model, out, "--json").out)
    assert model.read_bytes() == before


def test_a_dry_run_without_a_difference(run: Run, model: Path) -> None:
    ran = run("edit", model, "out.onnx", "--strip", "--strip", "--rename", "w=v", "--rename",
              "v=w", "--dry-run")  # fmt: skip
    assert (ran.status, "doc_string" in ran.out, "'w'" in ran.out) == (0, True, False)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ((), "there is nothing to do; name at least one edit, such as --prune"),
        (("--rename", "w"), "must be of the form NAME=VALUE, not 'w'"),
        (("--rename", "w=same"), "has a value of the name 'same' already"),
        (("--rename", "w=\udcff"), "is not UTF-8"),
        (("--bypass", "nope"), "no node is named 'nope'"),
        (("--bypass", "constant"), "has no first input"),
        (("--add-output", "copied"), "use --infer-shapes before"),
        (("--remove-output", "copied"), "'copied'"),
        (("--insert-after", "y=Relu"), "only outputs of the graph use 'y'"),
        (("--insert-before", "nope=Relu"), "no node is named 'nope'"),
        (("--insert-before", "constant=Relu"), "the node does not take ''"),
        (("--replace", "scale"), "must be of the form NAME=VALUE, not 'scale'"),
        (("--replace", "copy,last=Relu"), "'copied' is used, and no new node makes it"),
        (("--raise-ir", "3"), "IR version 10 cannot become 3"),
        (("--replace-uses", "copied=y"), "is made by node 6, after node 2, which would use it"),
        (("--set-dims", "M=1"), "the model has no dimension 'M'\n"),
        (("--set-dims", "N=1,N=2"), "a name is given twice: N=1,N=2\n"),
        (("--set-dims", "N=-2"), "a dimension is not negative"),
        (("--set-dims", "N=9999999999999999999"), "integer"),
        (("--set-dims", "N=" + "9" * 5000), "--set-dims: invalid"),
        (("--set-shape", "x=1,3"), "the graph has no input 'x'\n"),
        (("--set-shape", f"{NAME}=1"), "has 2 dimensions, not 1"),
        (("--extract", "y"), "--extract takes INPUTS:OUTPUTS, not 'y'"),
        (("--extract", f"{NAME}:nope"), "the graph has no value 'nope'\n"),
        (("--extract", ":y"), f"the outputs need more inputs: '{NAME}'"),
        (("--lift-constants", "much"), "a size is written like"),
        (("--prune", "--checksum"), "--checksum needs --external-data F"),
    ],
)
def test_what_is_refused_writes_nothing(
    run: Run, model: Path, options: tuple[str, ...], said: str
) -> None:
    before, out = model.read_bytes(), model.parent / "out.onnx"
    # An edit before it is not written either.
    for others in ([], ["--strip"]) if options else ([],):
        for place in (model, out):
            ran = run("edit", model, place, *others, *options)
            assert (ran.status, ran.out, ran.err.count("\n")) == (2, "", 1)
            assert said in ran.err
    assert (model.read_bytes(), out.exists()) == (before, False)


def test_a_size_larger_than_any_tensor(run: Run, model: Path) -> None:
    assert run("edit", model, model, "--lift-constants", "99999999999TB").status == 0


def test_shapes_that_onnx_cannot_infer(run: Run, model: Path) -> None:
    broken = onnx.load(str(model))
    del broken.opset_import[:]
    model.write_bytes(broken.SerializeToString())
    ran = run("edit", model, model, "--infer-shapes")
    assert (ran.status, ran.out, ran.err.count("\n")) == (2, "", 1)
    assert "onnx cannot infer the shapes: " in ran.err


def test_a_version_that_onnx_cannot_convert_to(run: Run, model: Path) -> None:
    ran = run("edit", model, model, "--convert-version", "999")
    assert (ran.status, ran.out, ran.err.count("\n")) == (2, "", 1)
    assert "onnx cannot convert the model: invalid version" in ran.err


def test_shapes_that_nodes_compute_are_followed(run: Run, tmp_path: Path) -> None:
    """Reshape gets its shape from Shape and Concat of constants: data propagation."""
    values = [helper.make_tensor_value_info("x", 1, [2, 6])]
    values.append(helper.make_tensor_value_info("y", 1, ["a", "b", "c"]))
    four = numpy_helper.from_array(np.int64([3, 2]), "rest")
    nodes = [
        helper.make_node("Shape", ["x"], ["first"], start=0, end=1),
        helper.make_node("Concat", ["first", "rest"], ["shape"], axis=0),
        helper.make_node("Reshape", ["x", "shape"], ["inner"]),
        helper.make_node("Relu", ["inner"], ["y"]),
    ]
    graph = helper.make_graph(nodes, "g", values[:1], values[1:], [four])
    opsets = [helper.make_opsetid("", 21)]
    onnx.save(helper.make_model(graph, opset_imports=opsets, ir_version=10), tmp_path / "m.onnx")
    assert run("edit", tmp_path / "m.onnx", tmp_path / "n.onnx", "--infer-shapes").status == 0
    found = onnxmap.load(tmp_path / "n.onnx").graph.value_infos["inner"]
    assert found.shape == (2, 3, 2)


def test_a_model_without_a_graph(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "m.onnx"
    path.write_bytes(ModelProto(ir_version=10).SerializeToString())
    ran = run("edit", path, tmp_path / "out.onnx", "--rename", "a=b")
    assert (ran.status, ran.out, ran.err.count("\n")) == (2, "", 1)
    assert "the model has no graph" in ran.err


def test_the_options_of_saving(run: Run, model: Path) -> None:
    out = model.parent / "out.onnx"
    words = ["--external-data", "w.bin", "--threshold", "0", "--dtype", "float16"]
    assert run("edit", model, out, "--prune", *words).status == 0
    tensors = onnxmap.load(out).initializers
    assert {str(dtype) for dtype in tensors.dtypes()} == {"FLOAT16", "INT64"}
    assert (model.parent / "w.bin").stat().st_size > 0
    assert run("edit", model, out, "--prune", "--no-overwrite").status == 2


def test_standard_input_and_output(
    run: Run, model: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    ran = piped("edit", model, "-", "--prune", "--format", "json")
    assert (ran.returncode, ran.stderr, json.loads(ran.stdout)["ir_version"]) == (0, "", "10")
    for place in ((tmp_path / "out.onnx",), ("out.onnx", "--dry-run")):
        monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(model.read_bytes())))
        ran_here = run("edit", "-", *place, "--rename", "y=z")
        assert (ran_here.status, ran_here.err) == (0, "")
    assert onnxmap.load(tmp_path / "out.onnx").graph.outputs[0].name == "z"
    assert "+ 'z'" in ran_here.out
