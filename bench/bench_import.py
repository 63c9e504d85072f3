"""How much does `import onnxmap` add to `import numpy`?"""

from __future__ import annotations

import pytest

from bench import report
from bench.question import OURS, Question
from bench.ratios import PARITY_PAIRS, at_most
from bench.sampling import Work

PEERS = {
    "onnx": "onnx",
    "onnx-ir": "onnx_ir",
    "onnx2": "onnx_extended.onnx2",
    "onnxruntime": "onnxruntime",
    "safetensors": "safetensors.numpy",
}

P19 = Question(
    key="P19",
    title="import",
    pairs=PARITY_PAIRS,
    works={
        OURS: Work("import", "onnxmap"),
        "numpy": Work("import", "numpy"),
        # The cost of both, in this order.
        "onnxmap, then numpy": Work("import", "onnxmap numpy", orientation=PARITY_PAIRS),
    }
    | {label: Work("import", module, orientation=5) for label, module in PEERS.items()},
    targets=[at_most(1.15, OURS, "numpy")],
)


@pytest.mark.parametrize("contender", P19.contenders)
def bench_import(ask, contender, smoke):
    if contender == OURS and not smoke and report.is_editable():
        pytest.fail("an editable install's import hook is in the time; install onnxmap as users do")
    ask(P19, contender)
