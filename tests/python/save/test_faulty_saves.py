"""A system call of a save fails, or a signal arrives at it: the old files stay, or the new come."""

from __future__ import annotations

import platform
from pathlib import Path

import pytest
from support.faults.seccomp_filter import X86_64
from support.processes.subprocesses import facts_from
from support.run_options import EXHAUSTIVE, SANITIZED

LINUX = tuple(int(part) for part in platform.release().split(".")[:2])
# Expressions, and the file that says which of the others are in use.
SAVES = {
    "a model": ("model.save(out / 'm.onnx')", "m.onnx"),
    "a data file": ("model.save(out / 'm.onnx', 'w.data')", "m.onnx"),
    "another type": ("model.save(out / 'm.onnx', dtype='float16')", "m.onnx"),
    "another type in a data file": (
        "model.save(out / 'm.onnx', 'w.data', dtype='float16')", "m.onnx"
    ),
    "on safetensors": (
        "model.save(out / 'm.onnx', 'w.safetensors', size_threshold_bytes=0)", "m.onnx"
    ),
    "on shards of safetensors": (
        "model.save(out / 'm.onnx', 'w.safetensors', max_shard_size_bytes=165_000)", "m.onnx"
    ),
    "safetensors": ("onnxmap.save_safetensors(model, out / 'w.safetensors')", "w.safetensors"),
    "shards of safetensors": (
        "onnxmap.save_safetensors(model, out / 'w.safetensors', max_shard_size_bytes=165_000)",
        "w.safetensors.index.json",
    ),
    "safetensors of another type": (
        "model.extract_weights(out / 'w.safetensors', dtype='float16')", "w.safetensors"
    ),
    "npz": ("model.extract_weights(out / 'w.npz')", "w.npz"),
    "npy": ("model.extract_weights(out / 'w.npy', 'a')", "w.npy"),
    "convert": ("command('convert', source, out / 'w.npz')", "w.npz"),
    "convert to a model": (
        "command('convert', source, out / 'm.onnx', '--external-data=w.data')", "m.onnx"
    ),
    "extract": ("command('extract', source, '-o', out / 'w.safetensors')", "w.safetensors"),
}  # fmt: skip
TRIED = list(SAVES) if EXHAUSTIVE else list(SAVES)[1::2]  # those of several files among them


@pytest.mark.skipif(SANITIZED, reason="the sanitizers make calls of their own")
@pytest.mark.skipif(not X86_64, reason="the numbers of system calls are those of x86-64")
@pytest.mark.skipif(LINUX < (5, 19), reason="a signal would interrupt a call that waits")
@pytest.mark.parametrize("kind", TRIED)
def test_old_files_or_new_ones(kind: str, tmp_path: Path) -> None:
    facts = facts_from(
        """
    from pathlib import Path
    from support.faults.faulty_saves import outcomes
    save, main_file, folder, most = sys.argv[1:]
    report(**outcomes(save, main_file, Path(folder), eval(most)))
        """,
        *SAVES[kind], str(tmp_path), "None" if EXHAUSTIVE else "3",
        timeout=3600 if EXHAUSTIVE else 120,
    )  # fmt: skip
    assert facts["problems"] == [], facts
    assert facts["calls"] > 50
