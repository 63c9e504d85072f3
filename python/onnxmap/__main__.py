"""`python -m onnxmap`: the same as the `onnxmap` command."""

from __future__ import annotations

import sys

from onnxmap.cli import main

if __name__ == "__main__":
    sys.exit(main())
