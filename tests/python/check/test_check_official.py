"""Whatever onnx.checker finds in mutants of valid models, a check finds as an error, too."""

from __future__ import annotations

import random
import re
from collections import Counter

import pytest
from onnx import ModelProto, checker, defs
from onnx.shape_inference import InferenceError
from support.checks.message_mutator import mutant
from support.checks.operator_mutator import operator_mutant
from support.checks.rules import errors_in
from support.checks.valid_models import CHECKED_MODELS
from support.models.node_cases import some_cases
from support.run_options import EXHAUSTIVE, LONG

import onnxmap

OPERATOR_MUTANTS = 10_000 if LONG else 2_000 if EXHAUSTIVE else 400
MUTANTS = 30_000 if LONG else 3_000 if EXHAUSTIVE else 600
SEEDS = list(CHECKED_MODELS.values())

# What the checker finds and a check does not, and why.
EXPLAINED = [
    (
        "No opset import for domain 'ai.onnx'",
        "ai.onnx is another name of the default domain, which the checker does not know",
    ),
    (
        "Opset import version -?[0-9]+ is out of supported range",
        "onnx.proto has versions of 64 bits, and the checker takes those of 32 bits",
    ),
    (
        "Field 'name' of 'type' is required to be non-empty",
        "onnx.proto says that the name of an opaque type is optional",
    ),
    (
        "Field 'domain' of 'function' is required but missing",
        "a domain that is left out is the default domain: function.standard_domain is a warning",
    ),
]


def official(data: bytes) -> str | None:
    """Return what onnx.checker says; None if it finds nothing."""
    try:
        checker.check_model(data)
    except (checker.ValidationError, InferenceError) as error:
        return str(error)
    return None


def ours(data: bytes) -> list[tuple[str, str]]:
    """Return the errors that a check finds. A model that cannot be loaded has one."""
    try:
        return errors_in(data)
    except onnxmap.OnnxMapError as error:
        return [(error.code, "")]


def explanation(message: str) -> str | None:
    return next((reason for pattern, reason in EXPLAINED if re.search(pattern, message)), None)


@pytest.mark.parametrize("name", CHECKED_MODELS)
def test_the_seeds_are_valid(name: str) -> None:
    data = CHECKED_MODELS[name]
    assert official(data) is None
    assert errors_in(data) == []


@pytest.mark.filterwarnings("ignore:.*occurs more than once")
def test_mutants() -> None:
    rng = random.Random(20)
    missed: dict[str, bytes] = {}
    seen: Counter[str] = Counter()
    for _ in range(MUTANTS):
        data = mutant(rng, rng.choice(SEEDS), ModelProto)
        fault = official(data)
        found = ours(data)
        seen[f"{'bad' if fault else 'good'} {'bad' if found else 'good'}"] += 1
        if fault and not found and not explanation(fault):
            missed.setdefault(fault, data)
    assert not missed, "\n".join(
        f"{fault}\n{ModelProto.FromString(data)}" for fault, data in missed.items()
    )
    assert seen["bad bad"] > MUTANTS / 5
    assert seen["good good"] > MUTANTS / 20


# What onnx.checker with its inference says of a node that does not fit its operator. Of the shapes
# that operators make, and of the values of most attributes, a check knows little without `full`.
OF_SIGNATURES = re.compile(
    "No Op registered|input size|output size|Unrecognized attribute|Required attribute|"
    "Mismatched attribute|is deprecated|has unsupported type|has inconsistent type|"
    "No opset import|is marked single|does not specify a valid type"
)


def full_verdict(data: bytes) -> str | None:
    """Return what onnx.checker and its inference say; None if they find nothing."""
    try:
        checker.check_model(data, full_check=True)
    except (checker.ValidationError, InferenceError, ValueError) as error:
        return str(error)
    return None


def test_operator_mutants() -> None:
    """Every fault in how a node uses its operator is found without the package onnx."""
    rng = random.Random(21)
    seeds = [case.model for case in some_cases()]
    operators = sorted({schema.name for schema in defs.get_all_schemas() if not schema.domain})
    missed: dict[str, ModelProto] = {}
    seen: Counter[str] = Counter()
    for _ in range(OPERATOR_MUTANTS):
        changed = operator_mutant(rng, rng.choice(seeds), operators)
        data = changed.SerializeToString()
        fault, found = full_verdict(data), ours(data)
        seen[f"{'bad' if fault else 'good'} {'bad' if found else 'good'}"] += 1
        if fault and not found and OF_SIGNATURES.search(fault):
            missed.setdefault(fault, changed)
    assert not missed, "\n".join(f"{fault}\n{model}" for fault, model in missed.items())
    assert seen["good bad"] <= OPERATOR_MUTANTS / 100
    assert seen["bad bad"] > OPERATOR_MUTANTS / 2
    assert seen["good good"] > OPERATOR_MUTANTS / 50
