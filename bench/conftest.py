"""Fixtures of the benchmarks: models, answers to questions, and the report."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from pytest_benchmark.fixture import BenchmarkFixture

from bench import report
from bench.backed_memory import BackedMemory
from bench.floors import compile_floors
from bench.models import RECIPES
from bench.page_cache import can_be_cold
from bench.question import REPLAY, WARMUP_ROUNDS, Answer, Question, answer
from bench.sampling import Model

BACKED_BYTES = 12 * 10**9


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--smoke", action="store_true", help="small models and one round of each")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        item.add_marker(pytest.mark.benchmark(timer=REPLAY))


@pytest.fixture(scope="session")
def smoke(request: pytest.FixtureRequest) -> bool:
    """Whether this run only checks that everything works."""
    return bool(request.config.getoption("--smoke")) or os.environ.get(
        "ONNXMAP_BENCH_SMOKE", ""
    ) not in ("", "0")


class Shelf:
    """The models. Each is made at its first use.

    Models that are in the folder already are used and kept. Models that are made here are removed.
    """

    def __init__(self, folder: Path, smoke: bool) -> None:
        self.folder = folder
        self.folder.mkdir(parents=True, exist_ok=True)
        self.smoke = smoke
        self.made: list[Path] = []

    def __getitem__(self, name: str) -> Model:
        recipe = RECIPES[name]
        folder = self.folder / (f"smoke_{name}" if self.smoke else name)
        if not folder.exists():
            recipe.make(folder, self.smoke)
            self.made.append(folder)
        return Model(folder, recipe.payload_is_read)

    def clear(self) -> None:
        """Remove what was made here."""
        for folder in self.made:
            shutil.rmtree(folder)


@pytest.fixture(scope="session")
def shelf(smoke: bool) -> Iterator[Shelf]:
    """Models in ONNXMAP_BENCH_DIR, or in a temporary folder."""
    with tempfile.TemporaryDirectory(prefix="onnxmap-bench-") as temporary:
        found = Shelf(Path(os.environ.get("ONNXMAP_BENCH_DIR", temporary)).absolute(), smoke)
        try:
            yield found
        finally:
            found.clear()


@pytest.fixture(scope="session")
def answers(
    shelf: Shelf, smoke: bool, request: pytest.FixtureRequest
) -> Iterator[Callable[[Question], Answer]]:
    """Answers to questions. A question is measured once for all of its contenders, in turns."""
    compile_floors()
    once = smoke or request.config.getoption("benchmark_disable")
    if not once:
        with BackedMemory(BACKED_BYTES):
            pass
    given: dict[str, Answer] = {}

    def give(question: Question) -> Answer:
        if question.key not in given:
            if any(work.cold for work in question.works.values()) and not can_be_cold(shelf.folder):
                pytest.skip(f"files in {shelf.folder} cannot leave the page cache")
            models = {name: shelf[name] for name in question.models}
            rounds, warmups = (1, 0) if once else (question.pairs, WARMUP_ROUNDS)
            with BackedMemory(0 if once else question.takes) as memory:
                given[question.key] = answer(question, models, rounds, warmups, memory)
            report.record(given[question.key], smoke=bool(once))
        return given[question.key]

    yield give
    if given:
        report.write_markdown(smoke=bool(once))


@pytest.fixture
def ask(
    answers: Callable[[Question], Answer], smoke: bool, request: pytest.FixtureRequest
) -> Callable[[Question, str], None]:
    """Give one contender's samples of a question, and the targets, to pytest-benchmark."""

    def put(question: Question, contender: str) -> None:
        found = answers(question)
        error = found.error(contender)
        known = question.works[contender].fails
        if known and not smoke:  # every contender can do the small models of a smoke run
            assert error, f"{contender} was known to fail ({known}) and no longer does"
            pytest.skip(f"{known}: {error}")
        assert not error, error
        # Requested only now, because an unused benchmark fixture is an error.
        benchmark: BenchmarkFixture = request.getfixturevalue("benchmark")
        benchmark.group = f"{question.key}: {question.title}"
        benchmark.extra_info["targets"] = found.verdicts()
        benchmark.extra_info["counters"] = found.as_json()["contenders"][contender]["counters"]
        REPLAY.run(benchmark, found.samples[contender])

    return put
