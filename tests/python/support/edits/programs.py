"""Random programs of edits. The same seed gives the same program, a longer one starts with it.

A program is made by running it on protobuf's messages: each edit is chosen for the model as the
edits before it left it.
"""

from __future__ import annotations

import random

from support.edits.list_kinds import LIST_KINDS
from support.edits.message_kinds import MESSAGE_KINDS, WEIGHTS
from support.edits.models import model_name
from support.edits.runs import Edit, OracleSide, Program, Run
from support.edits.sites import Places

ATTEMPTS = 2  # of a kind, before another kind is tried
KINDS = {**MESSAGE_KINDS, **LIST_KINDS}
_WEIGHTS = [WEIGHTS.get(kind, 1) for kind in KINDS]


def random_program(seed: int, size: int) -> Program:
    """A program of up to `size` edits: fewer if protobuf fails half-way in one of them."""
    rng = random.Random(f"edits {seed}")
    program = Program(model_name(rng), model_name(rng), ())
    oracle = Run(OracleSide(program), is_oracle=True)
    places = Places(rng, oracle)
    edits: list[Edit] = []
    while len(edits) < size:
        edit = _next_edit(places)
        if oracle.removed_target(edit) is None:
            before = oracle.state()
            if oracle.execute(edit).what != "done" and oracle.state() != before:
                break
        edits.append(edit)
    return Program(program.model, program.other, tuple(edits))


def _next_edit(places: Places) -> Edit:
    while True:
        (kind,) = places.rng.choices(list(KINDS), _WEIGHTS)
        for _ in range(ATTEMPTS):
            text = KINDS[kind](places)
            if text is not None:
                return Edit(kind, text)
