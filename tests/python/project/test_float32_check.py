"""The script that checks all 2^32 float32 codes still works: here it checks a few."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import onnxmap
from onnxmap import _core

SCRIPT = Path(__file__).parents[3] / "tools" / "check_float32_kernels.py"


@pytest.fixture(scope="module")
def script() -> ModuleType:
    spec = importlib.util.spec_from_file_location("check_float32_kernels", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_a_range_of_codes_agrees() -> None:
    command = [sys.executable, str(SCRIPT), "--codes", "0x477fe000", "0x47801001"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 0, done.stderr
    assert "12289 codes agree" in done.stdout
    assert all(name in done.stdout for name in _core.kernel_paths())
    assert "100.0%" in done.stderr


def test_pieces_cover_the_range_once(
    script: ModuleType, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pieces: list[tuple[int, int]] = []
    monkeypatch.setattr(script, "CODES_AT_ONCE", 1000)
    monkeypatch.setattr(
        script, "check_piece", lambda first, last, kernels: pieces.append((first, last)) or True
    )
    assert script.main(["--codes", "500", "3000"]) == 0
    assert pieces == [(500, 1500), (1500, 2500), (2500, 3000)]
    assert "2500 codes agree" in capsys.readouterr().out


@pytest.mark.parametrize("kernels", _core.kernel_paths())
def test_one_wrong_code_is_reported(
    script: ModuleType,
    kernels: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    right = script.tensor_of

    def one_wrong(codes: np.ndarray[Any, np.dtype[np.uint32]]) -> onnxmap.Tensor:
        wrong = codes.copy()
        wrong[777] ^= 0x2000  # the lowest bit that float16 has
        return right(wrong)

    monkeypatch.setattr(script, "tensor_of", one_wrong)
    before = _core.kernels_in_use()
    assert script.main(["--codes", "0x3f800000", "0x3f801000", "--kernels", kernels]) == 1
    told = capsys.readouterr().err
    assert f"{kernels}: float32 0x3f800309 to float16: 0x3c01, not 0x3c00" in told
    assert _core.kernels_in_use() == before


def test_an_invalid_range_is_bad_usage(script: ModuleType) -> None:
    for codes in (["5", "5"], ["-1", "5"], ["0", "0x100000001"]):
        with pytest.raises(SystemExit) as caught:
            script.main(["--codes", *codes])
        assert caught.value.code == 2
