"""Random mutants of tensors are refused if onnx.proto says so, and otherwise read like onnx.

`tensor_verdict` gives the verdict, and `to_array` the values. No other result is allowed.
"""

from __future__ import annotations

import random
import warnings
from collections import Counter

import numpy as np
import pytest
from onnx import TensorProto, numpy_helper
from support import wire_bytes as wire
from support.hostile import wire_mutator
from support.hostile.wire_mutator import without_zero_in_groups
from support.oracles import tensor_verdict
from support.oracles.canonical import parse
from support.oracles.tensor_encoder import ELEMENT_TYPES
from support.oracles.tensors import assert_same_array
from support.run_options import EXHAUSTIVE, LONG, SANITIZED
from support.tensors.examples import example_of, storages_of, store

import onnxmap

MUTANTS_PER_SEED = 2_000 if LONG else 10 if SANITIZED else 40 if EXHAUSTIVE else 25
SHAPES = [(), (0,), (5,), (2, 3)]
TENSOR = TensorProto.DESCRIPTOR
# Other faults that the verdict may find in a tensor with too long raw_data or two places of data.
LENIENT_WITH_THEM = {"tensor.data_size", "tensor.wrong_field", "tensor.string_raw"}


def seeds_of(name: str) -> list[bytes]:
    kind = ELEMENT_TYPES[name]
    return [
        store(example_of(kind, shape, storage), "w.bin").message
        for storage in storages_of(kind)
        for shape in SHAPES
    ]


def mutate(rng: random.Random, data: bytes) -> bytes:
    """Changes of the tree, then of the type, shape or data of a tensor."""
    if rng.random() < 0.5:
        data = wire_mutator.mutant(rng, [data], TENSOR)
    return data + b"".join(addition(rng, data) for _ in range(rng.choice([0, 1, 1, 2])))


def addition(rng: random.Random, data: bytes) -> bytes:
    """Add a field: the type again, another dimension, or other or more values."""
    message = parse(data, "TensorProto")
    own = 9 if message is not None and message.HasField("raw_data") else 0
    number = rng.choice([own or 5, own or 7, 4, 5, 6, 9, 10, 11])
    changes = [
        lambda: wire.scalar(2, rng.randrange(-1, 31)),
        lambda: wire.scalar(1, rng.choice([0, 1, 1, 2, 3, -1, 1 << 32, 1 << 61, 1 << 62])),
        lambda: wire.blob(number, rng.randbytes(rng.choice([0, 1, 2, 4, 5, 8, 16, 40]))),
        lambda: wire.blob(number, bytes([rng.randrange(128)])),
        lambda: wire.blob(9, rng.randbytes(len(message.raw_data))) if own else b"",
        lambda: wire.scalar(number, rng.choice([0, 1, 63, 64, 255, 256, -1, -129, 1 << 32])),
        lambda: wire.blob(3, wire.scalar(1, 0) + wire.scalar(2, rng.randrange(7))),
        lambda: wire.scalar(14, rng.choice([0, 1, 2])),
    ]
    return rng.choice(changes)()


def assert_reads_as(array: np.ndarray, message: TensorProto) -> None:
    """The values of a tensor without faults, if `to_array` reads it right."""
    if message.data_type == TensorProto.STRING:
        assert array.ravel().tolist() == tensor_verdict.values_as_text(message)
        assert array.shape == tuple(message.dims)
        return
    plain = TensorProto.FromString(message.SerializeToString())
    plain.ClearField("segment")  # the whole tensor as one segment, which to_array does not read
    assert_same_array(array, numpy_helper.to_array(plain))


def judged(data: bytes) -> str:
    """Return "unreadable", "external", "read" or the code of the refusal. The oracles agree."""
    message = parse(data, "TensorProto")
    if message is None or without_zero_in_groups(data, TENSOR) is not None:
        with pytest.raises((onnxmap.ParseError, onnxmap.LimitError)):
            onnxmap.loads(wire.blob(7, wire.blob(5, data)))
        return "unreadable"
    (tensor,) = onnxmap.loads(wire.blob(7, wire.blob(5, data))).initializers.all()
    assert "\n" not in repr(tensor)
    if message.data_location == TensorProto.EXTERNAL:
        with pytest.raises(onnxmap.OnnxMapError):  # there is no folder for external data
            tensor.numpy()
        return "external"
    faults = tensor_verdict.faults(message)
    code, array = answer(tensor)
    assert code in faults if code else not faults, (code, faults)
    if array is not None:
        assert_reads_as(array, message)
    return code or "read"


def answer(tensor: onnxmap.Tensor) -> tuple[str, np.ndarray | None]:
    """The code of the refusal, or the values."""
    try:
        return "", tensor.numpy()
    except onnxmap.TensorError as error:
        return error.code, None


def is_read_with_warnings(data: bytes) -> bool:
    """Whether `lenient` reads a tensor that has faults. It reads all tensors like onnx."""
    message = TensorProto.FromString(data)
    faults = tensor_verdict.faults(message)
    model = onnxmap.loads(wire.blob(7, wire.blob(5, data)), lenient=True)
    (tensor,) = model.initializers.all()
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        code, array = answer(tensor)
    if array is None:  # the ignored bytes may be the fault, or only a part of it
        assert code in faults | {"tensor.padding"}
        return False
    assert_reads_as(array, message)
    assert bool(warned) == bool(faults)
    assert all(one.category is onnxmap.TensorWarning for one in warned)
    assert faults <= {"tensor.ambiguous_data", "tensor.value_range", *LENIENT_WITH_THEM}
    return bool(faults)


@pytest.mark.parametrize("name", ELEMENT_TYPES)
def test_verdict_and_values_of_mutants(name: str) -> None:
    """The seed is the type's name, so the mutants are the same on every run."""
    rng, seeds = random.Random(name), seeds_of(name)
    seen: Counter[str] = Counter()
    more = 0
    for seed in seeds:
        assert judged(seed) in ("read", "external")
        for _ in range(MUTANTS_PER_SEED):
            data = mutate(rng, seed)
            found = judged(data)
            seen[found] += 1
            if found not in ("unreadable", "external"):
                more += is_read_with_warnings(data)
    assert seen.total() == len(seeds) * MUTANTS_PER_SEED
    # The mutants are useful only while each kind of answer occurs.
    assert seen["read"] > seen.total() // 50
    assert seen["tensor.data_size"] > seen.total() // 50
    assert len(seen) >= 7
    assert more > 0


def test_the_oracles_know_the_table_of_bad_tensors() -> None:
    """`tensor_verdict` finds in each bad tensor the fault that the table names."""
    from support.hostile.bad_tensors import BAD_TENSORS, GOOD_TENSORS, LOCATION

    for key, bad in BAD_TENSORS.items():
        if LOCATION not in bad.fields:
            assert bad.code in tensor_verdict.faults(TensorProto.FromString(bad.fields)), key
    for key, (fields, _) in GOOD_TENSORS.items():
        assert not tensor_verdict.faults(TensorProto.FromString(fields)), key


def test_a_wrong_answer_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """The comparison fails in both directions."""
    good = store(example_of(ELEMENT_TYPES["INT16"], (5,), "raw"), "").message
    assert judged(good) == "read"
    monkeypatch.setattr(tensor_verdict, "faults", lambda message: {"tensor.rank"})
    with pytest.raises(AssertionError):
        judged(good)
    monkeypatch.setattr(tensor_verdict, "faults", lambda message: set())
    with pytest.raises(AssertionError):
        judged(good + wire.blob(9, b"1"))
    monkeypatch.undo()
    other = np.arange(5, dtype=np.int16)
    monkeypatch.setattr(numpy_helper, "to_array", lambda message: other)
    with pytest.raises(AssertionError):
        judged(good)
