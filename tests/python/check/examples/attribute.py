"""Examples of the rules about attributes."""

from __future__ import annotations

from check.examples.example import Example


def custom(attribute: str) -> str:
    """Return the text of a node of another domain with an attribute."""
    return f"""\
opset_import {{ domain: "org.example" version: 1 }}
graph {{
  node {{
    op_type: "Op" domain: "org.example" input: "x" output: "z"
    {attribute}
  }}
}}"""


EXAMPLES = [
    Example(
        "attribute.name",
        "graph.node[1].attribute[0]",
        broken="""
            graph {
              node { op_type: "Softmax" input: "x" output: "z" attribute { type: INT i: 0 } }
            }
        """,
        kept="""
            graph {
              node {
                op_type: "Softmax" input: "x" output: "z"
                attribute { name: "axis" type: INT i: 0 }
              }
            }
        """,
    ),
    Example(
        "attribute.type",
        'graph.node[1].attribute["axis"]',
        text="""
            graph {
              node {
                op_type: "Softmax" input: "x" output: "z"
                attribute { name: "axis" «|type: INT »i: 0 }
              }
            }
        """,
    ),
    Example(
        "attribute.value",
        'graph.node[1].attribute["axis"]',
        text="""
            graph {
              node {
                op_type: "Softmax" input: "x" output: "z"
                attribute { name: "axis" type: INT «f|i»: 0 }
              }
            }
        """,
    ),
    Example(
        "attribute.value",
        'graph.node[1].attribute["axis"]',
        text="""
            graph {
              node {
                op_type: «"Softmax" input: "x"|"Constant"» output: "z"
                attribute { name: «"axis"|"value_ints"» type: «INT i|INTS ints»: 0 ints: 0 }
              }
            }
        """,
    ),
    Example(
        "attribute.no_value",
        'graph.node[1].attribute["axis"]',
        text="""
            graph {
              node {
                op_type: «"Softmax"|"Transpose"» input: "x" output: "z"
                attribute { name: «"axis"|"perm"» type: «INT|INTS» }
              }
            }
        """,
    ),
    Example(
        "attribute.reference",
        'graph.node[1].attribute["axis"]',
        broken="""
            graph {
              node {
                op_type: "Softmax" input: "x" output: "z"
                attribute { name: "axis" type: INT ref_attr_name: "axis" }
              }
            }
        """,
        kept="""
            functions {
              name: "F" domain: "org.example" input: "a" output: "b" attribute: "axis"
              opset_import { version: 21 }
              node {
                op_type: "Softmax" input: "a" output: "b"
                attribute { name: "axis" type: INT ref_attr_name: "axis" }
              }
            }
        """,
    ),
    Example(
        "attribute.reference_value",
        'functions[0].node[0].attribute["axis"]',
        text="""
            functions {
              name: "F" domain: "org.example" input: "a" output: "b" attribute: "axis"
              opset_import { version: 21 }
              node {
                op_type: "Softmax" input: "a" output: "b"
                attribute { name: "axis" type: INT ref_attr_name: "axis" «i: 1 |»}
              }
            }
        """,
    ),
    Example(
        "attribute.reference_name",
        'functions[0].node[0].attribute["axis"]',
        broken="""
            functions {
              name: "F" domain: "org.example" input: "a" output: "b" attribute: "axis"
              opset_import { version: 21 }
              node {
                op_type: "Softmax" input: "a" output: "b"
                attribute { name: "axis" type: INT ref_attr_name: "dim" }
              }
            }
        """,
        kept="""
            functions {
              name: "F" domain: "org.example" input: "a" output: "b"
              attribute_proto { name: "axis" type: INT i: 1 }
              opset_import { version: 21 }
              node {
                op_type: "Softmax" input: "a" output: "b"
                attribute { name: "axis" type: INT ref_attr_name: "axis" }
              }
            }
        """,
    ),
    Example(
        "attribute.string_value",
        'graph.node[1].attribute["text"].s',
        broken=custom('attribute { name: "text" type: STRING s: "(latin1)" }'),
        kept=custom('attribute { name: "text" type: STRING s: "caf\\303\\251" }'),
    ),
    Example(
        "attribute.string_value",
        'graph.node[1].attribute["texts"].strings[1]',
        broken=custom('attribute { name: "texts" type: STRINGS strings: "a" strings: "(latin1)" }'),
        kept=custom('attribute { name: "texts" type: STRINGS strings: "a" strings: "b" }'),
    ),
]
