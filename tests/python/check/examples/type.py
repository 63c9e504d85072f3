"""Examples of the rules about types of values."""

from __future__ import annotations

from check.examples.example import Example, StandIn


def value(type_text: str, imports: str = "") -> str:
    """Return the text of a value of this type, and of further fields of the model."""
    before = f"{imports}\n" if imports else ""
    return f"""\
{before}graph {{
  node {{ op_type: "Op" domain: "org.example" input: "x" output: "z" }}
  value_info {{
    name: "z"
    type {{ {type_text} }}
  }}
}}
opset_import {{ domain: "org.example" version: 1 }}"""


WHERE = "graph.value_info[0].type"

EXAMPLES = [
    Example(
        "type.missing",
        f"{WHERE}.sequence_type",
        broken=value("sequence_type { }"),
        kept=value("sequence_type { elem_type { tensor_type { elem_type: 1 } } }"),
    ),
    Example(
        "type.missing",
        f"{WHERE}.sequence_type.elem_type",
        broken=value("sequence_type { elem_type { } }"),
        kept=value("sequence_type { elem_type { tensor_type { elem_type: 1 } } }"),
    ),
    Example(
        "type.missing",
        f"{WHERE}.map_type",
        broken=value("map_type { key_type: 7 }"),
        kept=value("map_type { key_type: 7 value_type { tensor_type { elem_type: 1 } } }"),
    ),
    Example(
        "type.elem_type",
        f"{WHERE}.tensor_type",
        broken=value("tensor_type { elem_type: 99 shape { } }"),
        kept=value("tensor_type { elem_type: 1 shape { } }"),
    ),
    Example(
        "type.elem_type",
        f"{WHERE}.tensor_type",
        broken=value("tensor_type { shape { } }"),
        kept=value("tensor_type { elem_type: 16 shape { } }"),
    ),
    Example(
        "type.version",
        f"{WHERE}.optional_type",
        broken=value(
            "optional_type { elem_type { tensor_type { elem_type: 1 } } }", "ir_version: 7"
        ),
        kept=value("optional_type { elem_type { tensor_type { elem_type: 1 } } }", "ir_version: 8"),
    ),
    Example(
        "type.version",
        f"{WHERE}.tensor_type",
        broken=value("tensor_type { elem_type: 22 }", "ir_version: 9"),
        kept=value("tensor_type { elem_type: 22 }", "ir_version: 10"),
    ),
    Example(
        "type.map_key",
        f"{WHERE}.map_type",
        broken=value("map_type { key_type: 1 value_type { tensor_type { elem_type: 1 } } }"),
        kept=value("map_type { key_type: 8 value_type { tensor_type { elem_type: 1 } } }"),
    ),
    Example(
        "type.dimension",
        f"{WHERE}.tensor_type.shape.dim[0]",
        broken=value('tensor_type { elem_type: 1 shape { dim { dim_value: 2 dim_param: "n" } } }'),
        kept=value("tensor_type { elem_type: 1 shape { dim { dim_value: 2 } } }"),
        stand_in=StandIn("dim_param", "denotation", b"\x12", b"\x1a", b"\x01n"),
    ),
    Example(
        "type.negative_dim",
        f"{WHERE}.tensor_type.shape.dim[0]",
        broken=value("tensor_type { elem_type: 1 shape { dim { dim_value: -1 } } }"),
        kept=value("tensor_type { elem_type: 1 shape { dim { } } }"),
    ),
    Example(
        "type.any_dims",
        f"{WHERE}.tensor_type.shape.dim[0]",
        broken=value('tensor_type { elem_type: 1 shape { dim { dim_param: "*" } } }'),
        kept=value('tensor_type { elem_type: 1 shape { dim { dim_param: "n" } } }'),
    ),
    Example(
        "type.not_tensor",
        "graph.input[1]",
        broken="""
            graph {
              input {
                name: "list"
                type { sequence_type { elem_type { tensor_type { elem_type: 1 } } } }
              }
            }
        """,
        kept="""
            opset_import { domain: "ai.onnx.ml" version: 5 }
            graph {
              input {
                name: "list"
                type { sequence_type { elem_type { tensor_type { elem_type: 1 } } } }
              }
            }
        """,
    ),
]
