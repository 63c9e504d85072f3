"""Verbs of surgery on models that no tool writes: errors that say so, no crash, and a way back."""

from __future__ import annotations

import gc
import random
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import onnx
import pytest
from onnx import helper
from support.edits.models import EDIT_MODELS, edited_model
from support.processes.subprocesses import growth_kib
from support.processes.work import Work, too_steep
from support.readers.public_loops import REFUSALS
from support.readers.whole_models import disagreement
from support.run_options import EXHAUSTIVE, SANITIZED
from support.surgery.models import floats

import onnxmap

MUTANTS = 1_000 if EXHAUSTIVE else 40 if SANITIZED else 60


def names_in(model: onnxmap.Model) -> list[str]:
    graph = model.graph
    names = [name for list_ in (*graph.node_inputs(), *graph.node_outputs()) for name in list_]
    return [*names, *(value.name for value in graph.outputs), "x", ""]


def verbs(model: onnxmap.Model, rng: random.Random) -> list[Any]:
    names = names_in(model)

    def one() -> str:
        return rng.choice(names)

    def any_node() -> Any:
        return rng.choice(list(model.graph.nodes))

    def identity(name: str) -> Any:
        return onnxmap.make_node("Identity", [name], ["new"])

    return [
        model.prune, model.sort, model.dedupe, model.strip, model.lift_constants,
        lambda: model.strip(True, True, True),
        lambda: model.graph.replace_uses(one(), one(), outputs=rng.random() < 0.5),
        lambda: model.graph.bypass(any_node()),
        lambda: model.graph.add_output(one()),
        model.inline_functions,
        lambda: model.inline_functions([f.name for f in model.functions][:1]),
        lambda: model.set_dims({rng.choice(list(model.graph.dimension_params)): rng.choice("7n")}),
        lambda: model.set_dims(inputs={v.name: [5] * len(v.shape) for v in model.graph.inputs}),
        lambda: model.graph.rename(one(), "renamed"),
        lambda: model.extract([one()], [one()]).proto.SerializeToString(),
        lambda: model.extract([], [one(), one()]).prune(),
        lambda: onnxmap.merge(model, model, prefix="p/").check(),
        lambda: onnxmap.merge(model, model, {one(): one()}).sort(),
        lambda: model.graph.remove_output(one()),
        lambda: model.graph.insert_after(name := one(), identity(name)),
        lambda: model.graph.insert_after(name := one(), identity(name), outputs=True),
        lambda: model.graph.insert_before(node := any_node(), identity((*node.inputs, "")[0])),
        lambda: model.graph.replace([any_node()], [identity(one())], {one(): "new"}),
        lambda: model.graph.replace([node := any_node()], [node]),
        lambda: model.graph.replace([any_node(), any_node()], []),
        lambda: model.graph.add_prefix("p", keep=[one()]),
        model.lower_initializers, model.drop_initializer_inputs, model.assign_names,
        lambda: model.raise_ir(rng.randint(1, 14)),
        lambda: [f.bypass(f.nodes[0]) for f in model.functions],
        lambda: [f.replace_uses(one(), one(), outputs=True) for f in model.functions],
    ]  # fmt: skip


@pytest.mark.parametrize("part", range(4))
def test_what_was_loaded_comes_back(part: int) -> None:
    names = [*EDIT_MODELS, *(f"mutant {i}" for i in range(MUTANTS))][part::4]
    refused = done = 0
    for name in names:
        rng = random.Random(name)
        data = edited_model(name)
        model = onnxmap.loads(data)
        before = onnxmap.dumps(model)
        found = verbs(model, rng)
        several = found[-2:]
        for verb in rng.sample(found, 6):
            state = onnxmap.dumps(model)
            try:
                verb()
                done += 1
            except (*REFUSALS, IndexError, UserWarning):
                refused += 1
                if verb not in several:  # of which the first may succeed
                    assert onnxmap.dumps(model) == state, name
        assert disagreement(model) == "", name
        model.revert()
        assert onnxmap.dumps(model) == before, name
    assert done > 20
    assert refused > 20


def chain_of(length: int) -> bytes:
    """Nodes in opposite order; each but the last is dead, has an annotation, and an info.

    The first one has very many equal inputs, each with a sharding spec.
    """
    graph = onnx.GraphProto(name="g")
    many = graph.node.add(op_type="Sum", input=["v0"] * length, output=["many"])
    specs = many.device_configurations.add(configuration_id="d").sharding_spec
    for _ in range(length):
        specs.add(tensor_name="v0")
    for i in range(length, 0, -1):
        graph.node.add(op_type="Neg", input=[f"v{i - 1}"], output=[f"v{i}"])
        note = graph.quantization_annotation.add(tensor_name=f"v{i}")
        note.quant_parameter_tensor_names.add(key="SCALE_TENSOR", value=f"w{i}")
        graph.initializer.add(name=f"w{i}", dims=[1], data_type=1, raw_data=b"\0\0\0\0")
        graph.value_info.append(helper.make_tensor_value_info(f"v{i}", 1, [1]))
    for name in ("v0", f"v{length}"):
        graph.input.append(helper.make_tensor_value_info(name, 1, [1]))
    del graph.input[1]
    graph.output.append(helper.make_tensor_value_info("v1", 1, [1]))
    return helper.make_model(graph).SerializeToString()


@pytest.mark.skipif(SANITIZED, reason="nothing is counted under ASan")
@pytest.mark.parametrize(
    "verb",
    [
        "prune", "sort", "dedupe", "strip", "lift", "extract", "merge", "set_dims", "rename",
        "replace_uses",
    ],
)  # fmt: skip
def test_work_is_linear(verb: str) -> None:
    def work(data: bytes, length: int) -> None:
        model = onnxmap.loads(data)
        {
            "prune": model.prune, "sort": model.sort, "dedupe": model.dedupe,
            "strip": lambda: model.strip(True, True, True), "lift": model.lift_constants,
            "set_dims": lambda: model.set_dims(inputs={"v0": [2]}),
            "rename": lambda: model.graph.rename("v0", "renamed"),
            "replace_uses": lambda: model.graph.replace_uses("v0", "w1"),
            "extract": lambda: model.extract(["v0"], [f"v{length}"]),
            "merge": lambda: onnxmap.merge(model, model, {"v1": "v0"}, prefix="b/"),
        }[verb]()  # fmt: skip

    def prepare(length: int) -> tuple[bytes, Work]:
        data = chain_of(length)
        return data, lambda: work(data, length)

    def names(length: int) -> list[bytes]:
        return [b"v%d" % (3 * length // 8), b"w%d" % (3 * length // 8)]

    assert not too_steep(prepare, (100, 1_000), names)


def graphs_in_one_attribute(length: int) -> bytes:
    graph = onnx.GraphProto(name="g", input=floats("x"), output=floats("y"))
    held = graph.node.add(op_type="Neg", input=["x"], output=["y"]).attribute.add(name="a", type=10)
    for _ in range(length):
        held.graphs.add()
    return helper.make_model(graph).SerializeToString()


def calls_with_many_inputs(length: int) -> bytes:
    inputs = [f"i{i}" for i in range(length)]
    nodes = [helper.make_node("Neg", ["i0"], ["y"])]
    called = helper.make_function("d", "f", inputs, ["y"], nodes, [helper.make_opsetid("", 18)])
    calls = [helper.make_node("f", ["x"], [f"y{i}"], domain="d") for i in range(length)]
    graph = helper.make_graph(calls, "g", floats("x"), floats("y0"))
    opsets = [helper.make_opsetid("", 18), helper.make_opsetid("d", 1)]
    return helper.make_model(graph, functions=[called], opset_imports=opsets).SerializeToString()


def empty_functions(length: int) -> bytes:
    """Too small for an index."""
    model = helper.make_model(helper.make_graph([], "g", [], []))
    for _ in range(length):
        model.functions.add()
    return model.SerializeToString()


def users_of_one_size(length: int) -> bytes:
    sizes = helper.make_node("Constant", [], ["s"], value_ints=[2] * (10 * length))
    nodes = [helper.make_node("Reshape", ["x", "s"], [f"y{i}"]) for i in range(length)]
    graph = helper.make_graph([sizes, *nodes], "g", floats("x"), floats("y0"))
    return helper.make_model(graph).SerializeToString()


def outputs_beside_annotations(length: int) -> bytes:
    outputs = ["y", *(f"o{i}" for i in range(length))]
    graph = helper.make_graph(
        [helper.make_node("Split", ["x"], outputs), helper.make_node("Neg", ["y"], ["z"])], "g",
        floats("x"), floats("z"),
    )  # fmt: skip
    for i in range(length):
        graph.quantization_annotation.add(tensor_name=f"v{i}")
    return helper.make_model(graph).SerializeToString()


def constants_of_one_name(length: int) -> bytes:
    graph = helper.make_graph(
        [helper.make_node("Neg", ["x"], ["y"])], "g", floats("x"), floats("y")
    )
    for _ in range(length):
        node = helper.make_node(
            "Constant", [], ["c"], value=onnx.TensorProto(data_type=1, dims=[0])
        )
        graph.node.append(node)
    return helper.make_model(graph).SerializeToString()


def training_infos(length: int) -> bytes:
    model = helper.make_model(helper.make_graph([], "g", [], []))
    for i in range(length):
        graph = model.training_info.add().algorithm
        graph.node.add(op_type="Neg", input=["x"], output=[f"y{i}"])
    return model.SerializeToString()


WORST: dict[str, tuple[Callable[[int], bytes], Callable[[onnxmap.Model], object]]] = {
    "sort": (graphs_in_one_attribute, onnxmap.Model.sort),
    "prune": (graphs_in_one_attribute, onnxmap.Model.prune),
    "extract": (graphs_in_one_attribute, lambda model: model.extract(["x"], ["y"])),
    "set_dims": (graphs_in_one_attribute, lambda model: model.set_dims(inputs={"x": [3]})),
    "set_dims with one constant": (
        users_of_one_size,
        lambda model: model.set_dims(inputs={"x": [3]}),
    ),
    "bypass": (outputs_beside_annotations, lambda model: model.graph.bypass(model.graph.nodes[0])),
    "prune functions": (empty_functions, onnxmap.Model.prune),
    "prune training": (training_infos, onnxmap.Model.prune),
    "lift_constants": (constants_of_one_name, onnxmap.Model.lift_constants),
}


@pytest.mark.skipif(SANITIZED, reason="nothing is counted under ASan")
@pytest.mark.parametrize("name", WORST)
def test_work_is_linear_in_lists_that_only_a_hostile_file_has(name: str) -> None:
    make, verb = WORST[name]

    def prepare(n: int) -> tuple[bytes, Work]:
        data = make(n)
        return data, lambda: verb(onnxmap.loads(data))

    assert not too_steep(prepare, (100, 1_000))


@pytest.mark.skipif(SANITIZED, reason="nothing is counted under ASan")
def test_what_is_too_large_to_inline_is_refused_after_linear_work() -> None:
    def work(data: bytes) -> None:
        with pytest.raises(onnxmap.LimitError):
            onnxmap.loads(data).inline_functions()

    def prepare(n: int) -> tuple[bytes, Work]:
        data = calls_with_many_inputs(n)
        return data, lambda: work(data)

    assert not too_steep(prepare, (10_000, 40_000))


def test_names_from_the_file_of_another_model_stay_until_a_verb_ends(tmp_path: Path) -> None:
    """An annotation goes, with the last use of that file; value infos are looked up after it."""
    graph = helper.make_graph(
        [helper.make_node("Neg", ["x"], ["y"])], "g", floats("x"), floats("y")
    )
    note = graph.quantization_annotation.add(tensor_name="dead")
    note.quant_parameter_tensor_names.add(key="SCALE_TENSOR", value="q" * 5000)
    onnx.save(helper.make_model(graph), tmp_path / "other.onnx")
    graph.node.append(helper.make_node("Neg", ["x"], ["dead"]))
    graph.value_info.extend(floats("r" * 5000, "dead"))
    del graph.quantization_annotation[:]
    model = onnxmap.loads(helper.make_model(graph).SerializeToString())
    other = onnxmap.load(tmp_path / "other.onnx").proto.graph
    model.proto.graph.quantization_annotation.append(other.quantization_annotation[0])
    del other
    gc.collect()
    assert model.prune().value_infos == ["r" * 5000, "dead"]


@cache
def nested(depth: int, names: int) -> bytes:
    """Subgraphs in subgraphs, of which the innermost uses values of the main graph."""
    output = helper.make_tensor_value_info("y", 1, [2])
    used = [f"x{i}" for i in range(names)]
    node = helper.make_node("Sum", used, ["y"])
    for _ in range(depth):
        graph = helper.make_graph([node], "g", [], [output])
        node = helper.make_node("If", ["c"], ["y"], then_branch=graph)
    inputs = [helper.make_tensor_value_info(name, 1, [2]) for name in ["c", *used]]
    graph = helper.make_graph([node], "g", inputs, [output])
    return helper.make_model(graph, ir_version=9).SerializeToString()


@pytest.mark.skipif(SANITIZED, reason="memory")
@pytest.mark.parametrize(
    "verb", ["prune()", "sort()", "extract(['c', *(f'x{i}' for i in range(30000))], ['y'])"]
)
def test_names_that_pass_through_subgraphs_are_kept_once(tmp_path: Path, verb: str) -> None:
    grown = {}
    for depth in (2, 20):
        path = tmp_path / str(depth)
        path.write_bytes(nested(depth, 30_000))
        model = f"onnxmap.loads(data).{verb}"
        grown[depth] = growth_kib(f"open({str(path)!r}, 'rb').read()", model)["growth"]
    assert grown[20] < 1.5 * grown[2], grown


def test_the_places_of_constants_have_a_limit() -> None:
    model = onnxmap.loads(users_of_one_size(100), limits=onnxmap.Limits(text_bytes=1_000))
    with pytest.raises(onnxmap.LimitError, match="raise the limit with limits=Limits"):
        model.set_dims(inputs={"x": [5]})
    assert not model.edited
