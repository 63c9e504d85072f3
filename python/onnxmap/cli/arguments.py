"""Types of arguments for argparse."""

from __future__ import annotations

import argparse


def at_least_one(text: str) -> int:
    """Return a whole number of at least 1.

    Raises:
        argparse.ArgumentTypeError: the text is none.
    """
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"must be a whole number of at least 1, not {text!r}")
    return int(text)
