"""Examples of the rules about functions of a model."""

from __future__ import annotations

from check.examples.example import Example

EXAMPLES = [
    Example(
        "function.name",
        "functions[0]",
        text='functions {«| name: "F"» domain: "org.example" input: "a" output: "a" }',
    ),
    Example(
        "function.repeated",
        "functions[1]",
        text="""
            functions { name: "F" domain: "org.example" input: "a" output: "a" }
            functions { name: "F" domain: "org.example" «|overload: "2" »input: "a" output: "a" }
        """,
    ),
    Example(
        "function.standard_domain",
        "functions[0]",
        text='functions { name: "F" domain: «"ai.onnx"|"org.example"» input: "a" output: "a" }',
    ),
    Example(
        "function.parameter_repeated",
        "functions[0].input[1]",
        broken='functions { name: "F" domain: "org.example" input: "a" input: "a" output: "a" }',
        kept='functions { name: "F" domain: "org.example" input: "a" input: "b" output: "a" }',
    ),
    Example(
        "function.parameter_repeated",
        'functions[0].attribute_proto["k"]',
        text="""
            functions {
              name: "F" domain: "org.example" input: "a" output: "a"
              attribute: "k"
              attribute_proto { name: «"k"|"n"» type: INT i: 1 }
            }
        """,
    ),
    Example(
        "function.output_undefined",
        "functions[0].output[0]",
        broken='functions { name: "F" domain: "org.example" input: "a" output: "b" }',
        kept="""
            functions {
              name: "F" domain: "org.example" input: "a" output: "b"
              opset_import { version: 21 }
              node { op_type: "Relu" input: "a" output: "b" }
            }
        """,
    ),
    Example(
        "function.opset_version",
        "functions[0].node[0]",
        text="""
            functions {
              name: "F" domain: "org.example" input: "a" output: "b"
              opset_import { version: «12|14» }
              node { op_type: "Relu" input: "a" output: "b" }
            }
        """,
    ),
    Example(
        "function.opset_import",
        "functions[0].opset_import[0]",
        text="""
            opset_import { domain: "org.other" version: 2 }
            functions {
              name: "F" domain: "org.example" input: "a" output: "b"
              opset_import { domain: "org.other" version: «1|2» }
              node { op_type: "Op" domain: "org.other" input: "a" output: "b" }
            }
        """,
    ),
    Example(
        "function.recursion",
        "functions[0]",
        broken="""
            functions {
              name: "F" domain: "org.example" input: "a" output: "b"
              opset_import { domain: "org.example" version: 1 }
              node { op_type: "G" domain: "org.example" input: "a" output: "b" }
            }
            functions {
              name: "G" domain: "org.example" input: "a" output: "b"
              opset_import { domain: "org.example" version: 1 }
              node { op_type: "F" domain: "org.example" input: "a" output: "b" }
            }
        """,
        kept="""
            functions {
              name: "F" domain: "org.example" input: "a" output: "b"
              opset_import { domain: "org.example" version: 1 }
              node { op_type: "G" domain: "org.example" input: "a" output: "b" }
            }
            functions { name: "G" domain: "org.example" input: "a" output: "a" }
        """,
    ),
    Example(
        "function.unused",
        "functions[0]",
        broken="""
            opset_import { domain: "org.example" version: 1 }
            functions { name: "F" domain: "org.example" input: "a" output: "a" }
        """,
        kept="""
            opset_import { domain: "org.example" version: 1 }
            graph { node { op_type: "F" domain: "org.example" input: "x" output: "z" } }
            functions { name: "F" domain: "org.example" input: "a" output: "a" }
        """,
    ),
]
