"""Examples of the rules about sparse tensors."""

from __future__ import annotations

from check.examples.example import Example


def sparse(values: str, indices: str, dims: str) -> str:
    """Return the text of a sparse initializer."""
    return f"""\
graph {{
  sparse_initializer {{
    values {{ name: "w" {values} }}
    indices {{ {indices} }}
    dims: {dims}
  }}
}}"""


ONE = "data_type: 1 dims: 1 float_data: 5"
TWO = "data_type: 1 dims: 2 float_data: [5, 6]"
GOOD = sparse(TWO, "data_type: 7 dims: 2 int64_data: [1, 4]", "[2, 3]")
WHERE = "graph.sparse_initializer[0]"

EXAMPLES = [
    Example(
        "tensor.sparse_dtype",
        WHERE,
        broken=sparse(ONE, "data_type: 6 dims: 1 int32_data: 4", "[2, 3]"),
        kept=GOOD,
    ),
    Example(
        "tensor.sparse_rank",
        WHERE,
        broken=sparse(
            "data_type: 1 dims: [1, 1] float_data: 5",
            "data_type: 7 dims: 1 int64_data: 4",
            "[2, 3]",
        ),
        kept=sparse(ONE, "data_type: 7 dims: [1, 2] int64_data: [1, 1]", "[2, 3]"),
    ),
    Example(
        "tensor.sparse_rank",
        WHERE,
        broken=sparse(ONE, "data_type: 7 dims: [1, 3] int64_data: [0, 0, 0]", "[2, 3]"),
        kept=sparse(ONE, "data_type: 7 dims: [1, 3] int64_data: [0, 0, 0]", "[2, 3, 4]"),
    ),
    Example(
        "tensor.sparse_count",
        WHERE,
        broken=sparse(TWO, "data_type: 7 dims: 1 int64_data: 4", "[2, 3]"),
        kept=GOOD,
    ),
    Example(
        "tensor.sparse_overflow",
        WHERE,
        broken=sparse(
            ONE, "data_type: 7 dims: 1 int64_data: 4", "[4611686018427387904, 4611686018427387904]"
        ),
        kept=GOOD,
    ),
    Example(
        "tensor.sparse_range",
        WHERE,
        broken=sparse(ONE, "data_type: 7 dims: 1 int64_data: 6", "[2, 3]"),
        kept=sparse(ONE, "data_type: 7 dims: 1 int64_data: 5", "[2, 3]"),
        values=True,
    ),
    Example(
        "tensor.sparse_range",
        WHERE,
        broken=sparse(ONE, "data_type: 7 dims: [1, 2] int64_data: [0, 3]", "[2, 3]"),
        kept=sparse(ONE, "data_type: 7 dims: [1, 2] int64_data: [0, 2]", "[2, 3]"),
        values=True,
    ),
    Example(
        "tensor.sparse_order",
        WHERE,
        broken=sparse(TWO, "data_type: 7 dims: 2 int64_data: [4, 1]", "[2, 3]"),
        kept=GOOD,
        values=True,
    ),
    Example(
        "tensor.sparse_duplicate",
        WHERE,
        broken=sparse(TWO, "data_type: 7 dims: 2 int64_data: [4, 4]", "[2, 3]"),
        kept=GOOD,
        values=True,
    ),
]
