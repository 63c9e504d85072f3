"""The memory of decoded and copied arrays: aligned, in huge pages if large, and freed."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support import wire_bytes as wire
from support.processes.subprocesses import facts_from
from support.run_options import SANITIZED
from support.tensors.stored import PACKED_BITS, Array, dtype_of, in_buffer, random_codes, stored

import onnxmap

MIB = 1 << 20
HUGE_PAGES = Path("/sys/kernel/mm/transparent_hugepage")
Make = Callable[[int], Array]


@lru_cache(maxsize=1)
def tensor_of(type_name: str, count: int) -> onnxmap.Tensor:
    data = stored(type_name, random_codes(type_name, count))
    return onnxmap.loads(in_buffer(type_name, [count], data, offset=1)[0]).initializers["t"]


@lru_cache(maxsize=1)
def typed(count: int) -> onnxmap.Tensor:
    """INT64 elements as varints of one byte each."""
    numbers = (np.arange(count) & 0x7F).astype(np.uint8).tobytes()
    tensor = wire.blob(8, b"t") + wire.scalar(2, 7) + wire.scalar(1, count) + wire.blob(7, numbers)
    return onnxmap.loads(wire.blob(7, wire.blob(5, tensor))).initializers["t"]


# Each makes an array, given the number of its bytes.
MAKERS: dict[str, Make] = {
    "copied": lambda nbytes: tensor_of("FLOAT", nbytes // 4).numpy(copy=True),
    "unpacked from 2 bits": lambda nbytes: tensor_of("UINT2", nbytes).numpy(),
    "unpacked from 6 bits": lambda nbytes: tensor_of("FLOAT6E3M2", nbytes).numpy(),
    "converted": lambda nbytes: tensor_of("FLOAT16", nbytes // 4).numpy(dtype=np.float32),
    "narrowed": lambda nbytes: tensor_of("FLOAT", nbytes // 2).numpy(dtype=np.float16),
    "from a typed field": lambda nbytes: typed(nbytes // 8).numpy(),
}
SIZES = [8, 64, 72, 4096, 100_000, 4 * MIB - 64, 4 * MIB, 4 * MIB + 8, 9 * MIB + 16]


@pytest.mark.parametrize("name", MAKERS)
@pytest.mark.parametrize("nbytes", SIZES)
def test_arrays_begin_at_multiples_of_64(name: str, nbytes: int) -> None:
    """Large arrays are aligned to 2 MiB for huge pages. `MAKERS` begin with misaligned bytes."""
    arrays = [MAKERS[name](nbytes) for _ in range(3)]
    for array in arrays:
        assert array.nbytes == nbytes
        assert array.ctypes.data % 64 == 0
        assert array.flags.aligned
        assert array.flags.c_contiguous
    assert len({array.ctypes.data for array in arrays}) == 3


def flags_of_mapping(address: int) -> set[str]:
    """The `VmFlags` of the mapping with this address."""
    inside = False
    for line in Path("/proc/self/smaps").read_text().splitlines():
        if bounds := re.match(r"([0-9a-f]+)-([0-9a-f]+) ", line):
            inside = int(bounds[1], 16) <= address < int(bounds[2], 16)
        elif inside and line.startswith("VmFlags:"):
            return set(line.split()[1:])
    raise AssertionError(f"{address:#x} is in no mapping")


@pytest.mark.skipif(not HUGE_PAGES.is_dir(), reason="this kernel has no transparent huge pages")
@pytest.mark.parametrize("name", MAKERS)
def test_large_arrays_ask_for_huge_pages(name: str) -> None:
    array = MAKERS[name](12 * MIB)
    begin, middle = array.ctypes.data, array.ctypes.data + 6 * MIB
    assert "hg" in flags_of_mapping(middle)
    assert begin % 64 == 0


@pytest.mark.parametrize("name", PACKED_BITS)
def test_alignment_of_every_unpacked_type(name: str) -> None:
    for count in (1, 3, 1000):
        array = tensor_of(name, count).numpy()
        assert array.ctypes.data % 64 == 0
        assert array.dtype == dtype_of(name)


@pytest.mark.skipif(SANITIZED, reason="ASan keeps freed memory in quarantine")
def test_dropped_arrays_give_their_memory_back() -> None:
    code = """
    import numpy as np
    import onnxmap
    from support.tensors.stored import in_buffer
    buffer, _ = in_buffer("UINT4", [32 << 20], bytes(16 << 20))
    tensor = onnxmap.loads(buffer).initializers["t"]
    def turn():
        return [int(tensor.numpy().view(np.uint8)[-1]), float(tensor.numpy(dtype=np.float16)[-1]),
                tensor.numpy(copy=True)[5:7].nbytes]
    turn()
    def mappings():
        with open("/proc/self/maps") as maps:
            return sum(1 for _ in maps)
    before, maps = resident_kib(), mappings()
    for _ in range(20):
        turn()
    kept = tensor.numpy()[7:9]
    one = resident_kib() - before
    del kept
    report(kib=resident_kib() - before, one=one, peak=peak_kib() - before,
           maps=mappings() - maps)
    """
    facts = facts_from(code)
    assert facts["kib"] < 4 * 1024
    assert facts["one"] > 24 * 1024  # a slice keeps the whole array
    assert facts["peak"] < 200 * 1024
    assert facts["maps"] <= 2


def test_no_elements_need_no_memory() -> None:
    for name in ("FLOAT", "INT4", "FLOAT16"):
        tensor = tensor_of(name, 0)
        arrays: list[Any] = [tensor.numpy(), tensor.numpy(copy=True), tensor.numpy(dtype="f8")]
        assert [array.shape for array in arrays] == [(0,)] * 3
        assert all(array.flags.c_contiguous for array in arrays)
