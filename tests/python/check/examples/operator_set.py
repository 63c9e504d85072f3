"""Examples of the rules about operator sets."""

from __future__ import annotations

from check.examples.example import SMALL_SET, Example


def _of_set(rule: str, where: str, broken: str, kept: str) -> Example:
    return Example(f"operator_set.{rule}", where, broken, kept, base=SMALL_SET)


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
]
