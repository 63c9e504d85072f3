"""Examples of the rules about operator sets."""

from __future__ import annotations

from check.examples.example import SMALL_SET, Example


def _of_set(rule: str, where: str, broken: str, kept: str) -> Example:
    return Example(f"operator_set.{rule}", where, broken, kept, base=SMALL_SET)


def _function(domain: str) -> str:
    """Return the text of a function whose node is of the set, which it need not import."""
    return f"""\
functions {{
  name: "F" {domain} input: "a" output: "b"
  node {{ op_type: "Op" domain: "org.example" input: "a" output: "b" }}
}}"""


EXAMPLES = [
    _of_set("magic", "", broken='magic: "ONNX"', kept='magic: "ONNXOPSET"'),
    _of_set("version", "opset_version", broken="opset_version: 0", kept="opset_version: 1"),
    _of_set("version", "ir_version", broken="ir_version: 0", kept="ir_version: 1"),
    _of_set("domain", "domain", broken='domain: "example"', kept='domain: "org.example.nn"'),
    _of_set(
        "prerelease",
        "ir_version_prerelease",
        broken='ir_version_prerelease: "beta 1"',
        kept='ir_version_prerelease: "beta.1"',
    ),
    _of_set(
        "prerelease",
        "ir_build_metadata",
        broken='ir_build_metadata: "a..b"',
        kept='ir_build_metadata: "a.b"',
    ),
    _of_set(
        "operator_name",
        "operator[1]",
        broken="""
            operator { op_type: "Op" since_version: 1 }
            operator { op_type: "Op" since_version: 2 }
        """,
        kept="""
            operator { op_type: "Op" since_version: 1 }
            operator { op_type: "Other" since_version: 2 }
        """,
    ),
    _of_set(
        "operator_name",
        "operator[0]",
        broken="operator { since_version: 1 }",
        kept='operator { op_type: "Op" since_version: 1 }',
    ),
    _of_set(
        "since_version",
        "operator[0]",
        broken='operator { op_type: "Op" since_version: 3 }',
        kept='operator { op_type: "Op" since_version: 2 }',
    ),
    _of_set(
        "operator_name",
        "functions[0]",
        broken=f'operator {{ op_type: "F" since_version: 1 }}\n{_function("")}',
        kept=f'operator {{ op_type: "G" since_version: 1 }}\n{_function("")}',
    ),
    _of_set(
        "function_domain",
        "functions[0]",
        broken=_function('domain: "org.other"'),
        kept=_function('domain: "org.example"'),
    ),
]
