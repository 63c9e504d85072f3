"""Every verb, save and bridge on onnx's examples of operators: what they compute stays.

Each example is tried as it is, with its inputs as initializers, and both in a function.
"""

from __future__ import annotations

import random
import re
from collections import Counter
from collections.abc import Callable, Container, Iterable, Iterator
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import pytest
from onnx import ModelProto, TensorProto, numpy_helper
from onnx.reference import ReferenceEvaluator
from support.interop.bridged_models import whole_message
from support.models.node_cases import in_a_function, node_cases, some_cases
from support.run_options import EXHAUSTIVE, LONG
from support.surgery.models import Feed, loads
from support.surgery.programs import MAKERS, VERBS, errors

import onnxmap

PARTS = 16 if EXHAUSTIVE else 1
STEP = 1 if LONG else 3 if EXHAUSTIVE else 15  # between the examples of a part

Change: TypeAlias = Callable[[onnxmap.Model, random.Random, Feed], Any]
CHANGES: dict[str, Change] = {
    **VERBS,
    **MAKERS,
    "drop_initializer_inputs": lambda model, rng, feed: model.drop_initializer_inputs(),
    "infer_shapes": lambda model, rng, feed: model.infer_shapes(),
    "ir": lambda model, rng, feed: onnxmap.from_ir(model.to_ir()),
    "proto": lambda model, rng, feed: onnxmap.from_proto(model.to_proto()),
}
REFUSED = object()
# What a caller has to decide, and no other call can help with.
EXPECTED = re.compile(
    r"^_ is an output already$|: pass outputs=True$|^IR version _ cannot become _|\w\(\)|"
    r"set model.opset_imports|which would use it$|and _ is another one$|"
    r"state it with graph.value_infos.append|add an Identity node instead$|"
    r"^Constant nodes are ONNX_|has no known rank, not _$"
)
# Identity copies, and a matrix product adds numbers in another order if its matrix is no view any
# longer, as the output of Transpose is one.
WITH_IDENTITY = {"insert_after", "insert_before", "merge", "replace"}
OUTSIDE: dict[str, Any] = {"external_data": "w.data", "size_threshold_bytes": 0}
SAVES: dict[str, dict[str, Any]] = {
    "attributes": {**OUTSIDE, "attributes": True},
    "dedupe": {**OUTSIDE, "dedupe": True},
    "float16": {"dtype": "float16", "allow_loss": True},
    "json": {"format": "json"},
    "outside": {**OUTSIDE, "checksum": True},
    "same": {},
    "shards": {**OUTSIDE, "max_shard_size_bytes": 64},
    "textproto": {"format": "textproto"},
}


def examples(part: int) -> Iterator[tuple[str, ModelProto, Feed]]:
    """Yield the name of an example, its model, and what the model takes."""
    constant = node_cases()
    for case in some_cases()[part::PARTS][::STEP]:
        inputs = [value.name for value in case.model.graph.input]
        given = dict(zip(inputs, case.data_sets[0][0], strict=False))
        for message in (case.model, constant[case.name]):
            feed = {
                each.name: given[each.name] for each in message.graph.input if each.name in given
            }
            name = f"{case.name} of {len(feed)} inputs"
            yield name, message, feed
            if not message.functions:
                yield f"{name} in a function", in_a_function(message), feed


def run(model: onnxmap.Model | ModelProto, feed: Feed) -> Feed:
    """What the package onnx computes: onnxruntime crashes on some examples."""
    message = whole_message(model) if isinstance(model, onnxmap.Model) else model
    runner = ReferenceEvaluator(message)
    given = {name: feed[name] for name in runner.input_names}
    return dict(zip(runner.output_names, runner.run(None, given), strict=True))


def computed(message: ModelProto, feed: Feed) -> Feed:
    """The outputs; none if onnx cannot compute them, or if they are random."""
    try:
        outputs = run(message, feed)
        assert_same(run(message, feed), outputs, "random")
    except Exception:  # noqa: BLE001 -- the evaluator has one for each reason
        return {}
    return outputs


def assert_same(found: Any, wanted: Any, what: str, is_copied: bool = False) -> None:
    """Compare outputs. `is_copied`: sums may have another order."""
    assert type(found) is type(wanted), what
    if isinstance(wanted, dict):
        assert found.keys() == wanted.keys(), what
        for name, value in wanted.items():
            assert_same(found[name], value, what, is_copied)
    elif isinstance(wanted, list):
        assert len(found) == len(wanted), what
        for one, other in zip(found, wanted, strict=True):
            assert_same(one, other, what, is_copied)
    elif isinstance(wanted, np.ndarray):
        assert found.dtype == wanted.dtype, what
        if is_copied and found.dtype.kind == "f":
            np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-6, err_msg=what)
        else:
            np.testing.assert_array_equal(found, wanted, err_msg=what)
    else:
        assert found == wanted, what


def in_float16(message: ModelProto, kept: Container[str]) -> ModelProto:
    """The model with numbers that float16 has as well, but for those of some initializers."""
    made = ModelProto()
    made.CopyFrom(message)
    for tensor in made.graph.initializer:
        if tensor.data_type in (TensorProto.FLOAT, TensorProto.DOUBLE) and tensor.name not in kept:
            values = numpy_helper.to_array(tensor)
            with np.errstate(over="ignore"):
                halves = values.astype(np.float16).astype(values.dtype)
            tensor.CopyFrom(numpy_helper.from_array(halves, tensor.name))
    return made


def after_remedies(model: onnxmap.Model, call: Callable[[], Any], refusals: Counter[str]) -> Any:
    """What the call returns, after the calls that its errors name; `REFUSED` if they name none."""
    tried: set[str] = set()
    while True:
        before = onnxmap.dumps(model)
        try:
            return call()
        except (ValueError, KeyError, OSError) as error:
            text = str(error)
        assert onnxmap.dumps(model) == before, text
        refusals[re.sub(r"'[^']*'|\d+", "_", text)] += 1
        remedy = re.search(r"(\w+)\(\)", text)
        if remedy is None or (remedy[1] in tried and "or state it" in text):
            return REFUSED
        assert remedy[1] not in tried, text
        tried.add(remedy[1])
        getattr(model, remedy[1])()


def changed(change: str, name: str, message: ModelProto, feed: Feed, refusals: Counter[str]) -> Any:
    """The model after the change, or REFUSED."""
    model, rng = loads(message), random.Random(f"{change} {name}")
    made = after_remedies(model, lambda: CHANGES[change](model, rng, feed), refusals)
    return model if made is not REFUSED and not isinstance(made, onnxmap.Model) else made


def saved(save: str, model: onnxmap.Model, folder: Path, refusals: Counter[str]) -> Any:
    """The model as it was saved, or REFUSED."""
    options = SAVES[save]
    path = folder / f"m.{options.get('format', 'onnx')}"
    report = after_remedies(model, lambda: model.save(path, **options), refusals)
    return report if report is REFUSED else onnxmap.load(path)


def impossible(message: ModelProto, values: Iterable[Any]) -> set[str]:
    """The changes that are no changes of such a model."""
    if not all(isinstance(value, np.ndarray) for value in values):
        return {*WITH_IDENTITY, "set_dims"}  # Identity did not take sequences at first
    return set() if any(not each.domain for each in message.opset_import) else WITH_IDENTITY


@pytest.mark.parametrize("part", range(PARTS))
def test_what_a_model_computes_stays(part: int, tmp_path: Path) -> None:
    done: Counter[str] = Counter()
    refusals: Counter[str] = Counter()
    for name, message, feed in examples(part):
        if not (wanted := computed(message, feed)):
            continue
        broken = errors(loads(message))
        for change in CHANGES.keys() - impossible(message, [*feed.values(), *wanted.values()]):
            model, what = changed(change, name, message, feed, refusals), f"{change}: {name}"
            if model is not REFUSED:
                found = run(model, feed)
                both = found.keys() & wanted.keys()
                assert both == wanted.keys() or change in MAKERS, what
                assert_same({each: found[each] for each in both},
                            {each: wanted[each] for each in both},
                            what, change in WITH_IDENTITY)  # fmt: skip
                assert errors(model) <= broken, what
                done[change] += 1
        for save in SAVES:
            model = loads(message)
            copy = saved(save, model, tmp_path, refusals)
            if copy is not REFUSED:
                outputs = wanted
                if save == "float16":  # after remedies, constants are initializers
                    kept = copy.initializers.keys()  # they decide a shape, as the scales of Resize
                    outputs = run(in_float16(whole_message(model), kept), feed)
                assert_same(run(copy, feed), outputs, f"{save}: {name}")
                done[save] += 1
    assert {*CHANGES, *SAVES} <= done.keys(), done
    unexpected = {text: n for text, n in refusals.items() if not EXPECTED.search(text)}
    assert not unexpected, "\n".join(unexpected)
