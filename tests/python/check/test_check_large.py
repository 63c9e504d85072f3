"""A check of a file that onnx.checker can not parse: 3 GB, of which it reads no weight."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.interop.bridged_models import write_weights

import onnxmap

COUNT = 12
SIDE = 8192  # 256 MiB of float32
MIB = 1 << 20


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model whose weights are holes in the file."""
    path = tmp_path_factory.mktemp("large") / "model.onnx"
    write_weights(path, count=COUNT, side=SIDE)
    assert path.stat().st_size > 3_000_000_000
    return path


def test_a_file_of_3_gb_is_checked_and_no_weight_is_read(large: Path) -> None:
    model = onnxmap.load(large)
    about_itself = ["model.no_domain", "model.producer", "graph.doc_string"]
    assert model.check(strict=True, ignore=about_itself).counts == {}
    resident = sum(each.resident for each in model.residency().values())
    assert resident < COUNT * 4 * MIB  # the system may read ahead behind each header
    model.initializers["w0"].numpy()[: SIDE // 16].sum()
    read = sum(each.resident for each in model.residency().values())
    assert read >= resident + 8 * MIB  # residency sees what is read


def test_a_fault_behind_3_gb_is_found(large: Path) -> None:
    model = onnxmap.load(large)
    model.graph.nodes[-1].inputs[0] = "missing"
    (finding,) = model.check().errors
    assert (finding.rule, finding.where) == (
        "value.undefined",
        f"graph.node[{COUNT - 1}].input[0]",
    )
