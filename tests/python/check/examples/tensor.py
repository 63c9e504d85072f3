"""Examples of the rules about dense tensors."""

from __future__ import annotations

from check.examples.example import Example


def _of_rank(rank: int) -> str:
    rows = ["dims: [" + ", ".join(["1"] * min(16, rank - i)) + "]" for i in range(0, rank, 16)]
    dims = "\n".join(f"    {row}" for row in rows)
    return f"""\
graph {{
  initializer {{
    name: "w" data_type: 1 float_data: 1
{dims}
  }}
}}"""


EXAMPLES = [
    Example(
        "tensor.dtype",
        "graph.initializer[0]",
        text='graph { initializer { name: "w" data_type: «99|1» dims: 1 float_data: 1 } }',
    ),
    Example(
        "tensor.dtype_version",
        "graph.initializer[0]",
        text="""
            ir_version: «8|9»
            graph { initializer { name: "w" data_type: 17 dims: 1 raw_data: "\\000" } }
        """,
    ),
    Example(
        "tensor.rank",
        "graph.initializer[0]",
        broken=_of_rank(65),
        kept=_of_rank(64),
    ),
    Example(
        "tensor.negative_dim",
        "graph.initializer[0]",
        text='graph { initializer { name: "w" data_type: 1 dims: «-1 float_data: 1|0» } }',
    ),
    Example(
        "tensor.size_overflow",
        "graph.initializer[0]",
        broken="""
            graph {
              initializer { name: "w" data_type: 1 dims: [4611686018427387904, 2] float_data: 1 }
            }
        """,
        kept='graph { initializer { name: "w" data_type: 1 dims: [1, 2] float_data: [1, 2] } }',
    ),
    Example(
        "tensor.data_size",
        "graph.initializer[0]",
        text='graph { initializer { name: "w" data_type: 1 dims: 2 float_data: «1|[1, 2]» } }',
    ),
    Example(
        "tensor.data_size",
        'graph.node[1].attribute["value"].t',
        text="""
            graph {
              node {
                op_type: "Constant" output: "z"
                attribute {
                  name: "value" type: TENSOR
                  t { data_type: 2 dims: 3 raw_data: «"\\001\\002"|"\\001\\002\\003"» }
                }
              }
            }
        """,
    ),
    Example(
        "tensor.ambiguous_data",
        "graph.initializer[0]",
        broken=r"""
            graph {
              initializer { name: "w" data_type: 2 dims: 1 int32_data: 1 raw_data: "\001" }
            }
        """,
        kept='graph { initializer { name: "w" data_type: 2 dims: 1 int32_data: 1 } }',
    ),
    Example(
        "tensor.wrong_field",
        "graph.initializer[0]",
        text='graph { initializer { name: "w" data_type: «1|7» dims: 1 int64_data: 1 } }',
    ),
    Example(
        "tensor.string_raw",
        "graph.initializer[0]",
        broken='graph { initializer { name: "w" data_type: 8 dims: 1 raw_data: "text" } }',
        kept='graph { initializer { name: "w" data_type: 8 dims: 1 string_data: "text" } }',
    ),
    Example(
        "tensor.string_external",
        "graph.initializer[0]",
        broken="""
            graph {
              initializer {
                name: "w" data_type: 8 dims: 1
                data_location: EXTERNAL external_data { key: "location" value: "weights.bin" }
              }
            }
        """,
        kept='graph { initializer { name: "w" data_type: 8 dims: 1 string_data: "text" } }',
        files={"weights.bin": b"text"},
    ),
    Example(
        "tensor.string_value",
        "graph.initializer[0]",
        broken=r'graph { initializer { name: "w" data_type: 8 dims: 1 string_data: "caf\351" } }',
        kept='graph { initializer { name: "w" data_type: 8 dims: 1 string_data: "café" } }',
    ),
    Example(
        "tensor.segment_used",
        "graph.initializer[0]",
        broken='graph { initializer { name: "w" data_type: 1 float_data: 1 segment { } } }',
        kept='graph { initializer { name: "w" data_type: 1 float_data: 1 } }',
    ),
    Example(
        "tensor.segment",
        "graph.initializer[0]",
        broken="""
            graph {
              initializer {
                name: "w" data_type: 1 dims: 2 float_data: 1
                segment { begin: 0 end: 1 }
              }
            }
        """,
        kept="""
            graph {
              initializer {
                name: "w" data_type: 1 dims: 2 float_data: 1
                segment { begin: 0 end: 1 }
              }
              initializer {
                name: "w" data_type: 1 dims: 2 float_data: 2
                segment { begin: 1 end: 2 }
              }
            }
        """,
    ),
    Example(
        "tensor.value_range",
        "graph.initializer[0]",
        text='graph { initializer { name: "w" data_type: 3 dims: 1 int32_data: «1000|-128» } }',
    ),
    Example(
        "tensor.padding",
        "graph.initializer[0]",
        text="""
            ir_version: 14
            graph { initializer { name: "w" data_type: 27 dims: 1 raw_data: «"\\100"|"\\077"» } }
        """,
        values=True,
    ),
    Example(
        "tensor.bool_value",
        "graph.initializer[0]",
        broken=r'graph { initializer { name: "w" data_type: 9 dims: 2 raw_data: "\001\002" } }',
        kept=r'graph { initializer { name: "w" data_type: 9 dims: 2 raw_data: "\001\000" } }',
        values=True,
    ),
]
