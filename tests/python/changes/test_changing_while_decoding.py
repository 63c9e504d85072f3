"""Another thread changes a buffer while it is decoded. Any result is allowed, but no crash.

Decoding reads the entries twice without the interpreter lock: it counts them, then reads their
values. The second pass may find other entries than the first.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from support import wire_bytes as wire
from support.processes.subprocesses import facts_from
from support.run_options import EXHAUSTIVE, LONG, SANITIZED

ROUNDS = 5_000 if LONG else 40 if SANITIZED else 400 if EXHAUSTIVE else 80

CHANGE = """
import threading, time
import numpy as np
import onnxmap

path, rounds = sys.argv[1], int(sys.argv[2])
with open(path, "rb") as file:
    good = file.read()
buffer = bytearray(good)
bytes_of = np.frombuffer(buffer, np.uint8)
rng = np.random.default_rng(7)
stop = threading.Event()

def change():
    # All over the payload, and sometimes in the head, which has type, shape and lengths.
    original = np.frombuffer(good, np.uint8)
    while not stop.is_set():
        places = rng.integers(0, len(buffer), rng.choice([1, 100]))
        if rng.random() < 0.2:
            places = rng.integers(0, 40, 1)
        bytes_of[places] ^= rng.choice([0x80, 0x01], places.size).astype(np.uint8)
        bytes_of[places] = original[places]
        time.sleep(rng.choice([0, 1e-4]))

sys.setswitchinterval(1e-5)
model = onnxmap.loads(buffer)
tensors = [tensor for _, tensor in model.tensors()]
sparse = list(model.graph.sparse_initializers.values())
changer = threading.Thread(target=change)
changer.start()
counts = {"errors": 0, "answers": 0}
reads = [tensor.numpy for tensor in tensors] + [tensor.tobytes for tensor in tensors]
reads += [one.to_dense for one in sparse]
reads += [lambda tensor=tensor: tensor[5:7] for tensor in tensors]
for _ in range(rounds):
    for read in reads:
        try:
            read()
            counts["answers"] += 1
        except (onnxmap.OnnxMapError, TypeError, IndexError):
            counts["errors"] += 1
stop.set()
changer.join()
buffer[:] = good
for tensor in tensors:
    assert tensor.numpy().size == tensor.size
report(**counts, reads=rounds * len(reads))
"""


def model(*tensors: bytes, sparse: bytes = b"") -> bytes:
    graph = b"".join(wire.blob(5, one) for one in tensors)
    return wire.blob(7, graph + (wire.blob(15, sparse) if sparse else b""))


def tensor(number: int, count: int, *fields: bytes) -> bytes:
    head = wire.blob(8, b"w") + wire.scalar(1, count) + wire.scalar(2, number)
    return head + b"".join(fields)


def one_run() -> bytes:
    return model(tensor(7, 300_000, wire.blob(7, b"\x81\x01" * 300_000)))


def runs_and_entries() -> bytes:
    pieces = [wire.blob(5, b"\x05\x85\x01" * 100), wire.scalar(5, 300 - 256), wire.blob(5, b"\x01")]
    return model(tensor(2, 202 * 300, *(pieces * 300)))


def half_floats() -> bytes:
    return model(tensor(10, 300_000, wire.blob(5, b"\x01" * 300_000)))


def packed_entries() -> bytes:
    return model(tensor(22, 400_000, wire.blob(5, b"\x21" * 200_000)))


def six_bits() -> bytes:
    return model(tensor(27, 400_001, wire.blob(9, b"\x21" * 300_000 + b"\x05")))


def strings() -> bytes:
    return model(tensor(8, 20_000, *[wire.blob(6, b"abc")] * 20_000))


def segments() -> bytes:
    pieces = [
        tensor(
            6, 100_000,
            wire.blob(3, wire.scalar(1, begin) + wire.scalar(2, begin + 25_000)),
            wire.blob(5, b"\x07" * 25_000),
        )
        for begin in range(0, 100_000, 25_000)
    ]  # fmt: skip
    return model(*pieces)


def sparse_indices() -> bytes:
    values = tensor(2, 50_000, wire.blob(9, b"\x01" * 50_000))
    indices = b"".join(wire.varint(2 * index) for index in range(50_000))
    whole = wire.blob(1, values) + wire.blob(2, tensor(7, 50_000, wire.blob(7, indices)))
    return model(sparse=whole + wire.scalar(3, 100_000))


MODELS = {
    build.__name__: build
    for build in (
        one_run, runs_and_entries, half_floats, packed_entries, six_bits, strings, segments,
        sparse_indices,
    )
}  # fmt: skip


@pytest.mark.parametrize("name", MODELS)
def test_changes_while_a_tensor_is_decoded(name: str, tmp_path: Path) -> None:
    path = tmp_path / "model.onnx"
    path.write_bytes(MODELS[name]())
    facts = facts_from(CHANGE, str(path), str(ROUNDS))
    assert facts["answers"] + facts["errors"] == facts["reads"] > ROUNDS
    assert facts["answers"] > 0
