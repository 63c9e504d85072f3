"""Unpacking and conversion against ml_dtypes and NumPy, bit for bit, in all sets of kernels."""

from __future__ import annotations

import io
import platform
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from onnx import numpy_helper
from support.processes.subprocesses import facts_from
from support.run_options import EXHAUSTIVE, SANITIZED
from support.tensors.float32_samples import stratified_codes
from support.tensors.stored import (
    PACKED_BITS,
    Array,
    at_offset,
    bits_of,
    code_type,
    dtype_of,
    in_buffer,
    random_codes,
    stored,
    values_of,
)

import onnxmap
from onnxmap import _core

pytestmark = pytest.mark.skipif(SANITIZED, reason="tests/cpp/kernels do the same in C++")

TO_FLOAT32 = [
    "FLOAT16", "BFLOAT16", "FLOAT8E4M3FN", "FLOAT8E4M3FNUZ", "FLOAT8E5M2", "FLOAT8E5M2FNUZ",
    "FLOAT8E8M0", *PACKED_BITS,
]  # fmt: skip
FROM_FLOAT32 = ["FLOAT16", "BFLOAT16"]
FLOATS_OF_8_BITS = ["FLOAT8E4M3FN", "FLOAT8E4M3FNUZ", "FLOAT8E5M2", "FLOAT8E5M2FNUZ"]
# (stored type, type of the result): all pairs that have a kernel.
CONVERSIONS = [(name, "FLOAT") for name in TO_FLOAT32] + [("FLOAT", name) for name in FROM_FLOAT32]
UNPACKINGS = [(name, name) for name in PACKED_BITS]
OF_LARGE_ARRAYS = UNPACKINGS + CONVERSIONS
if not EXHAUSTIVE:  # elements of each width
    OF_LARGE_ARRAYS = [
        ("UINT2", "UINT2"), ("UINT4", "UINT4"), ("FLOAT6E3M2", "FLOAT6E3M2"), ("INT4", "FLOAT"),
        ("FLOAT8E5M2", "FLOAT"), ("FLOAT16", "FLOAT"), ("FLOAT", "FLOAT16"),
    ]  # fmt: skip
LANES = 64  # more elements than any vector has


@pytest.fixture(params=_core.kernel_paths(), autouse=True)
def kernels(request: pytest.FixtureRequest) -> Iterator[str]:
    """Use one set of kernels for the length of a test."""
    before = _core.kernels_in_use()
    _core.use_kernels(request.param)
    try:
        assert _core.kernels_in_use() == request.param
        yield request.param
    finally:
        _core.use_kernels(before)


def expected(source: str, target: str, codes: Array) -> Array:
    """The result of ml_dtypes and NumPy for elements with these bits, as bits."""
    with np.errstate(all="ignore"):
        converted = values_of(source, codes).astype(dtype_of(target)).view(code_type(target))
    if platform.machine() == "aarch64" and {source, target} == {"FLOAT16", "FLOAT"}:
        # NumPy uses an instruction there, which makes each NaN quiet.
        is_nan = np.isnan(values_of(source, codes))
        converted[is_nan] = NAN_OF[target](codes[is_nan])
    return converted


# What NumPy's own loops make of a NaN: the payload moves, and none becomes an infinity.
NAN_OF = {
    "FLOAT": lambda code: (
        ((code & 0x8000).astype(np.uint32) << 16)
        | 0x7F80_0000
        | ((code & 0x3FF).astype(np.uint32) << 13)
    ),
    "FLOAT16": lambda code: (
        ((code >> 16) & 0x8000) | 0x7C00 | np.maximum((code >> 13) & 0x3FF, 1)
    ).astype(np.uint16),
}


def found(source: str, target: str, codes: Array, offset: int = 0) -> Array:
    """The kernel's result for the same elements, stored at this distance from a multiple of 64."""
    buffer, _ = in_buffer(source, codes.shape, stored(source, codes), offset)
    tensor = onnxmap.loads(buffer).initializers["t"]
    array = tensor.numpy() if source == target else tensor.numpy(dtype=dtype_of(target))
    assert (array.dtype, array.shape) == (dtype_of(target), codes.shape)
    return array.view(code_type(target))


def assert_same_bits(ours: Array, theirs: Array, codes: Array) -> None:
    """Like assert_array_equal, but the message names the element whose conversion differs."""
    assert ours.shape == theirs.shape
    different = np.flatnonzero(ours != theirs)
    first = different[:1]
    assert not different.size, (
        f"{different.size} differ; at {first}: "
        f"code {codes[first]}, {ours[first]} != {theirs[first]}"
    )


def all_codes(type_name: str) -> Array:
    """Every code in every lane of a vector."""
    codes = np.arange(1 << bits_of(type_name), dtype=code_type(type_name))
    lanes = min(LANES, codes.size) if codes.size <= 1 << 8 else 16
    return np.concatenate([np.roll(codes, lane) for lane in range(lanes)])


@pytest.mark.parametrize(("source", "target"), UNPACKINGS + CONVERSIONS[: len(TO_FLOAT32)])
def test_every_code(source: str, target: str) -> None:
    codes = all_codes(source)
    assert set(codes.tolist()) == set(range(1 << bits_of(source)))
    assert_same_bits(found(source, target, codes), expected(source, target, codes), codes)


@pytest.mark.parametrize("target", FROM_FLOAT32)
def test_float32_at_every_boundary_of_rounding(target: str) -> None:
    codes = stratified_codes()
    assert_same_bits(found("FLOAT", target, codes), expected("FLOAT", target, codes), codes)


@pytest.mark.parametrize("target", FLOATS_OF_8_BITS)
def test_float32_to_8_bits_as_the_reference_of_cast(target: str) -> None:
    """A save with `dtype=` rounds and saturates as onnx's own Cast, in a large run all float32."""
    dtype = dtype_of(target)
    for begin in range(0, 1 << 32, 1 << 24) if EXHAUSTIVE else (None,):
        codes = stratified_codes()
        if begin is not None:
            codes = np.arange(begin, begin + (1 << 24), dtype=np.int64).astype(np.uint32)
        file = io.BytesIO()
        model = onnxmap.from_arrays({"t": codes.view(np.float32)})
        model.save(file, dtype=dtype, allow_loss=True)
        ours = onnxmap.loads(file.getvalue()).initializers[f"t.{dtype.name}"].numpy()
        with np.errstate(all="ignore"):
            theirs = numpy_helper.saturate_cast(codes.view(np.float32), dtype)
        assert_same_bits(ours.view(np.uint8), theirs.view(np.uint8), codes)


# Worked out by hand, so that an error that the kernels and the oracle share would show.
BY_HAND: list[tuple[str, str, int, int]] = [
    ("FLOAT16", "FLOAT", 0x7C01, 0x7F802000),  # a signalling NaN keeps its payload
    ("FLOAT16", "FLOAT", 0xFE55, 0xFFCAA000),
    ("FLOAT16", "FLOAT", 0x0001, 0x33800000),  # 2^-24
    ("FLOAT16", "FLOAT", 0x83FF, 0xB87FC000),  # the largest subnormal, negative
    ("BFLOAT16", "FLOAT", 0x7F81, 0x7F810000),
    ("FLOAT8E4M3FN", "FLOAT", 0xFF, 0xFFC00000),
    ("FLOAT8E4M3FNUZ", "FLOAT", 0x80, 0xFFC00000),  # the only NaN there
    ("FLOAT8E5M2", "FLOAT", 0x7D, 0x7FC00000),  # payloads of 2 bits are not kept
    ("FLOAT8E5M2", "FLOAT", 0xFC, 0xFF800000),
    ("FLOAT8E8M0", "FLOAT", 0x00, 0x00400000),  # 2^-127 is a subnormal number
    ("FLOAT8E8M0", "FLOAT", 0xFF, 0x7FC00000),
    ("FLOAT6E2M3", "FLOAT", 0x3F, 0xC0F00000),  # -7.5
    ("FLOAT6E3M2", "FLOAT", 0x1F, 0x41E00000),  # 28
    ("FLOAT4E2M1", "FLOAT", 0x8, 0x80000000),  # -0
    ("INT4", "FLOAT", 0x8, 0xC1000000),  # -8
    ("INT2", "FLOAT", 0x3, 0xBF800000),  # -1
    ("FLOAT", "FLOAT16", 0x477FEFFF, 0x7BFF),  # just below halfway to 65536
    ("FLOAT", "FLOAT16", 0x477FF000, 0x7C00),  # halfway: infinity
    ("FLOAT", "FLOAT16", 0x33000000, 0x0000),  # half of the smallest subnormal, to even
    ("FLOAT", "FLOAT16", 0x33000001, 0x0001),
    ("FLOAT", "FLOAT16", 0x33C00000, 0x0002),  # one and a half of it, to even
    ("FLOAT", "FLOAT16", 0x387FE000, 0x0400),  # rounds up into the normal numbers
    ("FLOAT", "FLOAT16", 0x7F800001, 0x7C01),  # a NaN stays one when its payload is cut away
    ("FLOAT", "FLOAT16", 0xFFC02000, 0xFE01),
    ("FLOAT", "BFLOAT16", 0x7F7FFFFF, 0x7F80),
    ("FLOAT", "BFLOAT16", 0x3F808000, 0x3F80),  # to even
    ("FLOAT", "BFLOAT16", 0x3F818000, 0x3F82),
    ("FLOAT", "BFLOAT16", 0x00008001, 0x0001),
    ("FLOAT", "BFLOAT16", 0xFF800001, 0xFFC0),
]


@pytest.mark.parametrize(("source", "target", "code", "result"), BY_HAND)
def test_values_worked_out_by_hand(source: str, target: str, code: int, result: int) -> None:
    for count in (1, 40):  # up to the end of a vector loop, and beyond it
        codes = np.full(count, code, code_type(source))
        assert set(found(source, target, codes).tolist()) == {result}


@pytest.mark.parametrize(("source", "target"), UNPACKINGS + CONVERSIONS)
def test_every_length_up_to_two_vectors(source: str, target: str) -> None:
    for count in range(131):
        codes = random_codes(source, count)
        assert_same_bits(found(source, target, codes), expected(source, target, codes), codes)


@pytest.mark.parametrize(("source", "target"), UNPACKINGS + CONVERSIONS)
def test_every_position_of_the_stored_bytes(source: str, target: str) -> None:
    for offset in range(64):
        codes = random_codes(source, 131, offset)
        ours = found(source, target, codes, offset)
        assert_same_bits(ours, expected(source, target, codes), codes)


@pytest.mark.parametrize(("source", "target"), UNPACKINGS + CONVERSIONS)
def test_every_position_of_the_result(source: str, target: str) -> None:
    """Results in `out` arrays that begin anywhere. No byte beside them is written."""
    for offset in range(64):
        count = 100 + offset % 33
        codes = random_codes(source, count, offset)
        buffer, _ = in_buffer(source, codes.shape, stored(source, codes), 64 - offset)
        out, room = at_offset(count, dtype_of(target), offset)
        assert onnxmap.loads(buffer).initializers["t"].numpy(out=out) is out
        assert_same_bits(out.view(code_type(target)), expected(source, target, codes), codes)
        out.view(np.uint8)[:] = 0xA5
        assert (room == 0xA5).all()


@pytest.mark.parametrize(("source", "target"), OF_LARGE_ARRAYS)
def test_large_arrays_are_shared_out_without_a_seam(source: str, target: str) -> None:
    """Several threads write more than 16 MiB of results: values without a period, an odd count."""
    count = (17 << 20) // dtype_of(target).itemsize + 77
    codes = random_codes(source, count)
    ours = found(source, target, codes, offset=5)
    assert_same_bits(ours, expected(source, target, codes), codes)


@pytest.mark.parametrize(("source", "target"), OF_LARGE_ARRAYS)
def test_large_arrays_read_piece_by_piece(source: str, target: str, tmp_path: Path) -> None:
    """From a file that is not mapped. Its pieces end within vectors."""
    count = (5 << 20) // dtype_of(target).itemsize + 77
    codes = random_codes(source, count)
    buffer, _ = in_buffer(source, codes.shape, stored(source, codes))
    (tmp_path / "model.onnx").write_bytes(buffer)
    tensor = onnxmap.load(tmp_path / "model.onnx", io="read").initializers["t"]
    array = tensor.numpy() if source == target else tensor.numpy(dtype=dtype_of(target))
    assert_same_bits(array.view(code_type(target)), expected(source, target, codes), codes)


def test_no_byte_beyond_the_ends_is_touched(kernels: str) -> None:
    """Stored bytes and results end at a hole of the address space. One step further is a crash."""
    code = """
    import numpy as np
    import onnxmap
    from support.tensors.guarded_memory import ending_at_a_hole
    from onnxmap import _core
    from support.tensors.stored import dtype_of, model_head, random_codes, stored
    _core.use_kernels(sys.argv[1])
    done = 0
    for pair in sys.argv[2:]:
        source, target = pair.split(">")
        for count in range(131):
            data = stored(source, random_codes(source, count))
            whole = model_head(source, [count], len(data)) + data
            buffer = ending_at_a_hole(len(whole))
            buffer[:] = np.frombuffer(whole, np.uint8)
            dtype = dtype_of(target)
            out = ending_at_a_hole(count * dtype.itemsize).view(dtype)
            tensor = onnxmap.loads(buffer).initializers["t"]
            tensor.numpy(out=out)
            done += out.tobytes() == tensor.numpy(dtype=dtype).tobytes()
    report(done=done)
    """
    pairs = [f"{source}>{target}" for source, target in UNPACKINGS + CONVERSIONS]
    assert facts_from(code, kernels, *pairs) == {"done": 131 * len(pairs)}


def test_the_sets_of_kernels_are_those_of_the_machine() -> None:
    paths = _core.kernel_paths()
    assert "scalar" in paths
    assert len(set(paths)) == len(paths)
    flags = Path("/proc/cpuinfo").read_text().split()  # under emulation, not those of `machine`
    is_x86 = platform.machine() == "x86_64"
    assert ("avx2" in paths) == (is_x86 and {"avx2", "f16c"} <= set(flags))
    assert ("neon" in paths) == (platform.machine() == "aarch64")
    with pytest.raises(ValueError, match="no_such"):
        _core.use_kernels("no_such")
    assert _core.kernels_in_use() in paths


def test_a_wrong_result_would_be_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    """One bit of one element among thousands is wrong, and the comparison of this file finds it."""

    def one_bit_off(*arguments: Any) -> Array:
        wrong = found(*arguments).copy()
        wrong[-1] ^= 1
        return wrong

    codes = all_codes("FLOAT8E5M2")
    theirs = expected("FLOAT8E5M2", "FLOAT", codes)
    with pytest.raises(AssertionError, match="1 differ"):
        assert_same_bits(one_bit_off("FLOAT8E5M2", "FLOAT", codes), theirs, codes)
