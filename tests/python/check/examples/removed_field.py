"""Examples of fields that ONNX has removed."""

from __future__ import annotations

from check.examples.example import Example, StandIn

EXAMPLES = [
    Example(
        "model.field_removed",
        'graph.node[1].attribute["axis"]',
        text="""
            graph {
              node {
                op_type: "Softmax" input: "x" output: "z"
                attribute { name: "axis" type: INT i: 0 «12: "removed" |»}
              }
            }
        """,
        stand_in=StandIn(
            '12: "removed"', 'doc_string: "removed"', b"\x62", b"\x6a", b"\x07removed"
        ),
    ),
    Example(  # as models had it before the first version of onnx.proto
        "model.field_removed",
        "graph",
        text='«graph { 9: "removed" }|domain: "org.example.team"»',
        stand_in=StandIn('9: "removed"', 'doc_string: "removed"', b"\x4a", b"\x52", b"\x07removed"),
    ),
    Example(
        "model.field_removed",
        "functions[0]",
        broken="""
            functions {
              name: "F" domain: "org.example" input: "a" output: "b"
              opset_import { version: 21 }
              node { op_type: "Relu" input: "a" output: "b" }
              2: "removed"
            }
        """,
        kept="""
            functions {
              name: "F" domain: "org.example" input: "a" output: "b"
              opset_import { version: 21 }
              node { op_type: "Relu" input: "a" output: "b" }
            }
        """,
        stand_in=StandIn('2: "removed"', 'doc_string: "removed"', b"\x12", b"\x42", b"\x07removed"),
    ),
]
