"""Examples of the rules about external data."""

from __future__ import annotations

import os
from pathlib import Path

from check.examples.example import MODEL_FILE, Example


def external(*entries: tuple[str, str], count: int = 1, name: str = "w", more: str = "") -> str:
    """Return the text of an initializer of float32 with external data."""
    lines = "\n".join(
        f'    external_data {{ key: "{key}" value: "{value}" }}' for key, value in entries
    )
    return f"""\
graph {{
  initializer {{
    name: "{name}" data_type: 1 dims: {count} data_location: EXTERNAL
{lines}
  }}{more}
}}"""


def _unreadable(path: Path) -> None:
    path.write_bytes(bytes(4))
    path.chmod(0)


FILE = ("location", "weights.bin")
GOOD = external(FILE, ("offset", "0"), ("length", "4"))
FILES = {"weights.bin": bytes(4)}
WHERE = "graph.initializer[0]"
SHA1 = "9069ca78e7450a285173431b3e52c5c25299e473"  # of four zero bytes

RESHAPE = """\
graph {{
  node {{ op_type: "Reshape" input: "x" input: "w" output: "z" }}
  initializer {{
    name: "w" data_type: 7 dims: 1
    {}
  }}
}}"""
TRAINING = """\
training_info {{
  algorithm {{
    name: "step"
    initializer {{
      name: "w" data_type: 1 dims: 1
      {}
    }}
  }}
}}"""
OUTSIDE = 'data_location: EXTERNAL external_data { key: "location" value: "weights.bin" }'

EXAMPLES = [
    Example(
        "ext.location",
        WHERE,
        broken=external(("offset", "0")),
        kept=GOOD,
        files=FILES,
    ),
    Example(
        "ext.unsafe_path",
        WHERE,
        broken=external(("location", "../weights.bin")),
        kept=external(("location", "data/weights.bin")),
        files={"data/weights.bin": bytes(4)},
    ),
    Example("ext.no_root", WHERE, broken=GOOD, kept=GOOD, files=FILES, in_memory=True),
    Example(
        "ext.missing", WHERE, broken=external(("location", "gone.bin")), kept=GOOD, files=FILES
    ),
    Example(
        "ext.not_regular",
        WHERE,
        broken=external(("location", "pipe")),
        kept=GOOD,
        files={**FILES, "pipe": os.mkfifo},
    ),
    Example(
        "ext.permission",
        WHERE,
        broken=GOOD,
        kept=GOOD,
        files={"weights.bin": _unreadable},
        kept_files=FILES,
        needs_user=True,
    ),
    Example("ext.offset", WHERE, broken=external(FILE, ("offset", "zero")), kept=GOOD, files=FILES),
    Example("ext.length", WHERE, broken=external(FILE, ("length", "3")), kept=GOOD, files=FILES),
    Example("ext.length", WHERE, broken=external(FILE, ("length", "-4")), kept=GOOD, files=FILES),
    Example("ext.bounds", WHERE, broken=external(FILE, count=2), kept=GOOD, files=FILES),
    Example(
        "ext.duplicate_key",
        WHERE,
        broken=external(FILE, ("location", "weights.bin")),
        kept=GOOD,
        files=FILES,
    ),
    Example(
        "ext.entries",
        WHERE,
        broken=external(FILE, *[(f"prepacked_{i}", "") for i in range(2000)]),
        kept=external(FILE, *[(f"prepacked_{i}", "") for i in range(3)]),
        files=FILES,
    ),
    Example(
        "ext.unknown_key",
        f"{WHERE}.external_data[1]",
        broken=external(FILE, ("compression", "zip")),
        kept=GOOD,
        files=FILES,
    ),
    Example(
        "ext.length_zero", WHERE, broken=external(FILE, ("length", "0")), kept=GOOD, files=FILES
    ),
    Example(
        "ext.not_used",
        WHERE,
        broken="""
            graph {
              initializer {
                name: "w" data_type: 1 dims: 1 float_data: 1
                external_data { key: "location" value: "weights.bin" }
              }
            }
        """,
        kept='graph { initializer { name: "w" data_type: 1 dims: 1 float_data: 1 } }',
    ),
    Example(
        "ext.model_file",
        WHERE,
        broken=external(("location", MODEL_FILE)),
        kept=GOOD,
        files=FILES,
    ),
    Example(
        "ext.decides_shape",
        WHERE,
        broken=RESHAPE.format(OUTSIDE),
        kept=RESHAPE.format("int64_data: 1"),
        files={"weights.bin": bytes(8)},
    ),
    Example(
        "ext.training",
        "training_info[0].algorithm.initializer[0]",
        broken=TRAINING.format(OUTSIDE),
        kept=TRAINING.format("float_data: 1"),
        files=FILES,
    ),
    Example(
        "ext.overlap",
        WHERE,
        broken=external(
            FILE,
            ("length", "8"),
            count=2,
            more="""
  initializer {
    name: "v" data_type: 1 dims: 1 data_location: EXTERNAL
    external_data { key: "location" value: "weights.bin" }
    external_data { key: "length" value: "4" }
  }""",
        ),
        kept=external(
            FILE,
            ("length", "4"),
            more="""
  initializer {
    name: "v" data_type: 1 dims: 1 data_location: EXTERNAL
    external_data { key: "location" value: "weights.bin" }
    external_data { key: "length" value: "4" }
  }""",
        ),
        files={"weights.bin": bytes(8)},
    ),
    Example(
        "ext.alignment",
        WHERE,
        broken=external(FILE, ("offset", "64")),
        kept=external(FILE, ("offset", "4096")),
        files={"weights.bin": bytes(4100)},
    ),
    Example(
        "ext.checksum_form",
        f"{WHERE}.external_data[1]",
        broken=external(FILE, ("checksum", "crc32:0")),
        kept=external(FILE, ("checksum", SHA1)),
        files=FILES,
    ),
]
