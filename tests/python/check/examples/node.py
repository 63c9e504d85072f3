"""Examples of the rules about nodes."""

from __future__ import annotations

from check.examples.example import Example

WHERE = "graph.node[1]"


def compiled(context: str, embed_mode: int = 0) -> str:
    """Return a node that an execution provider has compiled."""
    return f"""\
opset_import {{ domain: "com.microsoft" version: 1 }}
graph {{
  node {{
    op_type: "EPContext" domain: "com.microsoft" input: "x" output: "z"
    attribute {{ name: "embed_mode" type: INT i: {embed_mode} }}
    attribute {{ name: "ep_cache_context" type: STRING s: "{context}" }}
  }}
}}"""


EXAMPLES = [
    Example(
        "node.op_type",
        "graph.node[1]",
        text='graph { node {«| op_type: "Abs"» input: "x" output: "z" } }',
    ),
    Example(
        "node.name_repeated",
        "graph.node[2]",
        broken="""
            graph {
              node { name: "n" op_type: "Abs" input: "x" output: "a" }
              node { name: "n" op_type: "Neg" input: "x" output: "b" }
            }
        """,
        kept="""
            graph {
              node { name: "n" op_type: "Abs" input: "x" output: "a" }
              node { name: "m" op_type: "Neg" input: "x" output: "b" }
              node { op_type: "Neg" input: "x" output: "c" }
              node { op_type: "Neg" input: "x" output: "d" }
            }
        """,
    ),
    Example(
        "node.outputs",
        "graph.node[1]",
        text='graph { node { op_type: "Abs" input: "x" «|output: "z" »} }',
    ),
    Example(
        "node.outputs",
        "graph.node[1]",
        broken='graph { node { op_type: "Dropout" input: "x" output: "" output: "" } }',
        kept='graph { node { op_type: "Dropout" input: "x" output: "z" output: "u" } }',
    ),
    Example(
        "node.trailing_empty",
        "graph.node[1].input[1]",
        broken='graph { node { op_type: "Clip" input: "x" input: "" output: "z" } }',
        kept='graph { node { op_type: "Clip" input: "x" input: "" input: "y" output: "z" } }',
    ),
    Example(
        "node.attribute_repeated",
        "graph.node[1].attribute[1]",
        broken="""
            graph {
              node {
                op_type: "Softmax" input: "x" output: "z"
                attribute { name: "axis" type: INT i: 0 }
                attribute { name: "axis" type: INT i: 1 }
              }
            }
        """,
        kept="""
            graph {
              node {
                op_type: "Softmax" input: "x" output: "z"
                attribute { name: "axis" type: INT i: 1 }
              }
            }
        """,
    ),
    Example(
        "node.attribute_name",
        'graph.node[1].attribute["axis"]',
        text="""
            graph {
              node {
                op_type: "Softmax" input: "x" output: «"axis"|"z"»
                attribute { name: "axis" type: INT i: 0 }
              }
            }
        """,
    ),
    Example(
        "node.domain",
        "graph.node[1]",
        broken='graph { node { op_type: "Op" domain: "org.example" input: "x" output: "z" } }',
        kept="""
            opset_import { domain: "org.example" version: 1 }
            graph { node { op_type: "Op" domain: "org.example" input: "x" output: "z" } }
        """,
    ),
    Example(
        "node.overload",
        "graph.node[1]",
        broken='graph { node { op_type: "Abs" overload: "fast" input: "x" output: "z" } }',
        kept="""
            opset_import { domain: "org.example" version: 1 }
            graph {
              node {
                op_type: "F" domain: "org.example" overload: "fast" input: "x" output: "z"
              }
            }
            functions { name: "F" domain: "org.example" overload: "fast" input: "a" output: "a" }
        """,
    ),
    Example(
        "node.ep_context_file",
        WHERE,
        broken=compiled("gone.bin"),
        kept=compiled("context.bin"),
        files={"context.bin": b"compiled"},
    ),
    Example(
        "node.ep_context_file",
        WHERE,
        broken=compiled("../context.bin"),
        kept=compiled("sub/context.bin"),
        files={"sub/context.bin": b"compiled"},
    ),
    Example(
        "node.ep_context_file",
        WHERE,
        broken=compiled("/context.bin"),
        kept=compiled("/context.bin", embed_mode=1),
    ),
]
