"""`python -m onnxmap` does the same as the command `onnxmap`."""

from __future__ import annotations

import sys

from onnxmap.cli import main

if __name__ == "__main__":
    sys.exit(main())
