"""Which locations may be opened: links, hard links, special files, and text that leads outside."""

from __future__ import annotations

import os
import pickle
from collections.abc import Iterator
from contextlib import closing

import pytest
from support.containment.bases import BASES, differences_from
from support.containment.table import POLICIES, build, expected, locations
from support.containment.tree import Tree
from support.processes.file_watch import FileWatch

import onnxmap


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Tree]:
    made = build(tmp_path_factory.mktemp("containment"))
    # Opening this pipe is noticed, and never waits for a writer.
    pipes = [os.open(path, os.O_RDWR) for path in made.special() if path.is_fifo()]
    yield made
    for pipe in pipes:
        os.close(pipe)


@pytest.fixture(scope="module")
def watch(tree: Tree) -> Iterator[FileWatch]:
    with closing(FileWatch(tree.watched())) as made:
        yield made


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("base", BASES)
def test_the_whole_table(tree: Tree, watch: FileWatch, base: str, policy: str) -> None:
    assert differences_from(base, policy, tree, watch) == []


def refusals(tree: Tree) -> dict[tuple[str, str], str]:
    return {
        (policy, name): verdict.code
        for policy in POLICIES
        for name, verdict in expected(policy, tree).items()
        if verdict.code != "opens"
    }


def test_every_way_to_read_is_refused_alike(tree: Tree, watch: FileWatch) -> None:
    """A refused location is refused the second time, too."""
    watch.opened()
    for (policy, name), code in refusals(tree).items():
        model = onnxmap.load(tree.path, **POLICIES[policy])
        tensor = model.initializers[name]
        ways = {
            "numpy": tensor.numpy,
            "views": lambda model=model, name=name: model.views([name]),
            "tobytes": tensor.tobytes,
            "copy": lambda tensor=tensor: tensor.numpy(writable=True),
            "slice": lambda tensor=tensor: tensor[1:2],
            "again": tensor.numpy,
        }
        for way, read in ways.items():
            with pytest.raises(onnxmap.ExternalDataError) as caught:
                read()
            assert caught.value.code == code, (policy, name, way)
            assert caught.value.tensor == name
            assert caught.value.location == os.fsdecode(locations(tree)[name] or b"")
        assert watch.opened() == set(), (policy, name)


@pytest.mark.parametrize("policy", POLICIES)
def test_a_pickle_keeps_the_policy(tree: Tree, policy: str) -> None:
    """The policy was given when the model was loaded. Unpickling neither widens nor narrows it."""
    model = onnxmap.load(tree.path, **POLICIES[policy])
    for name, verdict in expected(policy, tree).items():
        tensor = model.initializers[name]
        if verdict.code == "opens":
            copy = pickle.loads(pickle.dumps(tensor))
            assert copy.numpy().tolist() == list(verdict.values), name
        else:
            with pytest.raises(onnxmap.ExternalDataError) as caught:
                pickle.dumps(tensor)
            assert caught.value.code == verdict.code, name


def test_the_watch_notices(tree: Tree, watch: FileWatch) -> None:
    """The other tests rely on this: the watch notices if a watched file is opened by any name."""
    for path in tree.watched():
        watch.opened()
        if path.is_dir():
            list(path.iterdir())
        elif not path.is_socket() and not path.is_block_device():
            os.close(os.open(path, os.O_RDONLY | os.O_NONBLOCK))
        else:
            continue
        assert str(path) in watch.opened()
    model = onnxmap.load(tree.path, allow_hardlinks=True)
    model.initializers["hard: hard link out"].numpy()
    assert watch.opened() == {str(tree.outside / "canary hard.bin")}
    os.close(os.open(tree.outside / "canary.bin", os.O_PATH))
    assert watch.opened() == set()


@pytest.mark.parametrize(
    "policy", ["", "Contained", "none", "CONTAINED", "strict ", None, 1, b"strict"]
)
def test_other_policies_are_a_value_error(tree: Tree, policy: object) -> None:
    for load in (
        lambda: onnxmap.load(tree.path, link_policy=policy),
        lambda: onnxmap.loads(tree.path.read_bytes(), link_policy=policy),
    ):
        with pytest.raises(ValueError, match=r"contained.*strict.*trusted"):
            load()
