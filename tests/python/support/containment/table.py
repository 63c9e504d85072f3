"""The result for each location of a `containment.tree.Tree`, by policy: a value or a refusal."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import onnxmap
from support.containment.tree import BELOW, CANARY, LONG_NAME, VALUES, Tree, model_bytes
from support.processes.file_watch import FileWatch

POLICIES: dict[str, dict[str, object]] = {
    "contained": {},
    "strict": {"link_policy": "strict"},
    "trusted": {"link_policy": "trusted"},
    "contained with hard links": {"link_policy": "contained", "allow_hardlinks": True},
    "strict with hard links": {"link_policy": "strict", "allow_hardlinks": True},
}


@dataclass(frozen=True)
class Verdict:
    code: str  # of the error, or "opens"
    words: tuple[str, ...] = ()
    values: tuple[float, ...] = ()


def opens(values: list[float] = VALUES) -> Verdict:
    return Verdict("opens", values=tuple(values))


def unsafe(*words: str) -> Verdict:
    return Verdict("ext.unsafe_path", words)


OUTSIDE, ABSOLUTE = unsafe("outside the model directory"), unsafe("absolute")
NUL_BYTE, ADDRESS, RESERVED = (
    unsafe("NUL byte"),
    unsafe("a memory address"),
    unsafe("reserved name"),
)
SYMLINK, NO_LINKS = unsafe("symlink"), unsafe("symlink", 'link_policy="contained"')
HARD_LINK = unsafe("hard link", "allow_hardlinks=True")
MISSING, LOOP = Verdict("ext.missing"), Verdict("ext.missing", ("symlink loop",))
NOT_A_FILE = Verdict("ext.location", ("is not a file",))
TOO_LONG = Verdict("ext.location", ("too long",))
NOT_REGULAR = Verdict("ext.not_regular")

# Locations judged by their text: the verdict is the same under every policy.
TEXTS: dict[str, tuple[bytes | None, Verdict]] = {
    "plain": (b"w.bin", opens()),
    "below": (b"sub/w.bin", opens(BELOW)),
    "dot": (b"./w.bin", opens()),
    "down and up": (b"sub/../w.bin", opens()),
    "down, up and down": (b"sub/../sub/./w.bin", opens(BELOW)),
    "two slashes": (b"sub//w.bin", opens(BELOW)),
    "two dots inside a name": (b"a..b.bin", opens()),
    "two dots before a name": (b"..w.bin", opens()),
    "two dots after a name": (b"w..", opens()),
    "number sign": (b"#w.bin", opens()),
    "space before": (b" w.bin", opens()),
    "control characters": (b"\x1b[31m\n.bin", opens()),
    "not UTF-8": (b"\xff.bin", opens()),
    "backslash": (b"sub\\w.bin", opens()),
    "colon with nothing behind": (b"file:/w.bin", opens()),
    "looks like a URL": (b"file:///w.bin", opens()),
    "longest name": (LONG_NAME.encode(), opens()),
    "longest location": (b"./" * 2045 + b"w.bin", opens()),
    "begins like a device": (b"console.bin", opens()),
    "begins like another device": (b"auxiliary.bin", opens()),
    "more than a port": (b"COM10", opens()),
    "less than a device": (b"null", opens()),
    "nothing there": (b"none.bin", MISSING),
    "nothing there, in colour": (b"\x1b[31mnone\n.bin", MISSING),
    "nothing there, not UTF-8": (b"none\xff.bin", MISSING),
    "no folder": (b"none/w.bin", MISSING),
    "no folder, and up": (b"none/../w.bin", MISSING),
    "a file as a folder": (b"w.bin/x", MISSING),
    "URL of a file": (b"file:///etc/passwd", MISSING),
    "URL": (b"http://example.org/w.bin", MISSING),
    "longest name that is not there": (b"m" * 255, MISSING),
    "up": (b"../outside/canary.bin", OUTSIDE),
    "up to nothing": (b"../outside/none.bin", OUTSIDE),
    "up and back": (b"../model/w.bin", OUTSIDE),
    "only up": (b"..", OUTSIDE),
    "up with a slash": (b"../", OUTSIDE),
    "down and further up": (b"sub/../../outside/canary.bin", OUTSIDE),
    "down, further up and back": (b"sub/../../model/w.bin", OUTSIDE),
    "through a folder that is not there": (b"none/../../outside/canary.bin", OUTSIDE),
    "dots and up": (b"././../outside/canary.bin", OUTSIDE),
    "far up": (b"../" * 30 + b"etc/passwd", OUTSIDE),
    "up in colour": (b"../\x1b[31m\n", OUTSIDE),
    "up, not UTF-8": (b"../\xff", OUTSIDE),
    "up as Windows reads it": (b"..\\outside\\canary.bin", OUTSIDE),
    "further up as Windows reads it": (b"sub\\..\\..\\canary.bin", OUTSIDE),
    "further up by both slashes": (b"sub/..\\../outside/canary.bin", OUTSIDE),
    "whole path": (b"{root}/model/w.bin", ABSOLUTE),
    "whole path out": (b"{root}/outside/canary.bin", ABSOLUTE),
    "whole path of nothing": (b"/none/none", ABSOLUTE),
    "root": (b"/", ABSOLUTE),
    "two slashes before": (b"//server/share", ABSOLUTE),
    "drive": (b"C:\\w.bin", ABSOLUTE),
    "drive with a slash": (b"c:/w.bin", ABSOLUTE),
    "drive and folder of its own": (b"C:w.bin", ABSOLUTE),
    "server": (b"\\\\server\\share\\w.bin", ABSOLUTE),
    "verbatim": (b"\\\\?\\C:\\w.bin", ABSOLUTE),
    "root of a drive": (b"\\w.bin", ABSOLUTE),
    "NUL byte after a name": (b"w.bin\0evil", NUL_BYTE),
    "NUL byte and up": (b"w.bin\0/../../x", NUL_BYTE),
    "NUL byte last": (b"w.bin\0", NUL_BYTE),
    "memory": (b"*/_ORT_MEM_ADDR_/*", ADDRESS),
    "memory inside a name": (b"x_ORT_MEM_ADDR_x", ADDRESS),
    "device of Windows": (b"NUL", RESERVED),
    "device of Windows in small letters": (b"con", RESERVED),
    "device of Windows with an ending": (b"aux.bin", RESERVED),
    "device of Windows below": (b"sub/prn.tar.gz", RESERVED),
    "device of Windows above": (b"COM1/w.bin", RESERVED),
    "printer of Windows": (b"LPT9", RESERVED),
    "device behind a backslash": (b"sub\\nul", RESERVED),
    "stream": (b"w.bin:stream", RESERVED),
    "stream of a folder": (b"sub:stream/w.bin", RESERVED),
    "space after": (b"w.bin ", RESERVED),
    "space after a folder": (b"sub /w.bin", RESERVED),
    "dot after": (b"w.bin.", RESERVED),
    "dot after a folder": (b"sub./w.bin", RESERVED),
    "none": (None, Verdict("ext.location")),
    "empty": (b"", Verdict("ext.location", ("is empty",))),
    "the folder itself": (b".", NOT_A_FILE),
    "the folder itself with a slash": (b"./", NOT_A_FILE),
    "a folder": (b"sub", NOT_A_FILE),
    "a folder with a slash": (b"sub/", NOT_A_FILE),
    "a folder, and up": (b"sub/..", NOT_A_FILE),
    "a file with a slash": (b"w.bin/", NOT_A_FILE),
    "a file with a dot behind": (b"w.bin/.", NOT_A_FILE),
    "5,000 characters": (b"x/" * 2500, TOO_LONG),
    "a byte too long": (b"./" * 2045 + b"/w.bin", TOO_LONG),
    "a name a byte too long": (b"n" * 256, TOO_LONG),
    "a folder's name a byte too long": (b"n" * 256 + b"/w.bin", TOO_LONG),
}

# Links. "strict" refuses them all; the verdicts are those of "contained" and "trusted".
LINKED: dict[str, tuple[bytes, Verdict, Verdict]] = {
    "link": (b"link", opens(), opens()),
    "link by its whole path": (b"link to the whole path", opens(), opens()),
    "link out": (b"link out", SYMLINK, opens(CANARY)),
    "link out by its whole path": (b"link to the whole path out", SYMLINK, opens(CANARY)),
    "link to a neighbour": (b"link to a neighbour", SYMLINK, opens(CANARY)),
    "folder of a neighbour": (b"neighbour/canary.bin", SYMLINK, opens(CANARY)),
    "up to a neighbour": (b"up/model2/canary.bin", SYMLINK, opens(CANARY)),
    "link out and in": (b"link out and in", opens(), opens()),
    "link to a link back in": (b"link to a link in", opens(), opens()),
    "folder": (b"folder/w.bin", opens(BELOW), opens(BELOW)),
    "folder by its whole path": (b"folder by its whole path/w.bin", opens(BELOW), opens(BELOW)),
    "folder out": (b"folder out/canary.bin", SYMLINK, opens(CANARY)),
    "folder out by its whole path": (
        b"folder out by its whole path/canary.bin", SYMLINK, opens(CANARY),
    ),
    "folder out and in": (b"folder out/back/w.bin", opens(), opens()),
    "folder out, and up to the model": (b"folder out/../model/w.bin", opens(), opens()),
    "folder out, and up to another": (b"folder out/../outside/canary.bin", SYMLINK, opens(CANARY)),
    "folder out, and nothing": (b"folder out/none.bin", SYMLINK, MISSING),
    "a file out as a folder": (b"folder out/canary.bin/../back/w.bin", SYMLINK, MISSING),
    "folder, and up": (b"folder/../w.bin", opens(), opens()),
    "link in a folder out": (b"folder out/hop", opens(), opens()),
    "folder by itself": (b"folder", NOT_A_FILE, NOT_A_FILE),
    "folder out by itself": (b"folder out", SYMLINK, NOT_A_FILE),
    "here": (b"here/here/here/w.bin", opens(), opens()),
    "up and back": (b"up/model/w.bin", opens(), opens()),
    "up and out": (b"up/outside/canary.bin", SYMLINK, opens(CANARY)),
    "chain": (b"chain", opens(), opens()),
    "chain out": (b"chain out", SYMLINK, opens(CANARY)),
    "loop": (b"loop", LOOP, LOOP),
    "loop of one": (b"itself", LOOP, LOOP),
    "loop of a folder": (b"itself/w.bin", LOOP, LOOP),
    "dangling": (b"dangling", MISSING, MISSING),
    "dangling below": (b"dangling below", MISSING, MISSING),
    "dangling out": (b"dangling out", SYMLINK, MISSING),
    "link to a pipe": (b"link to a pipe", NOT_REGULAR, NOT_REGULAR),
    "link to a pipe out": (b"link to a pipe out", SYMLINK, NOT_REGULAR),
    "link to proc": (b"link to proc", SYMLINK, NOT_REGULAR),
    "link to null": (b"link to null", SYMLINK, NOT_REGULAR),
}  # fmt: skip

SPECIAL = {"pipe": b"pipe", "socket": b"socket"}
DEVICES = {"character device": b"character device", "block device": b"block device"}
HARD_LINKED = {
    "hard link": (b"hard link", opens()),
    "the file with a hard link": (b"twin", opens()),
    "hard link out": (b"hard link out", opens(CANARY)),
}


def locations(tree: Tree) -> dict[str, bytes | None]:
    """The tensors of the model: the name of a row of the table, and its location."""
    found: dict[str, bytes | None] = {f"text: {name}": row[0] for name, row in TEXTS.items()}
    found |= {f"link: {name}": row[0] for name, row in LINKED.items()}
    found["link: to a hard link"] = b"link to a hard link"
    found["link: to a magic link"] = b"link to a magic link"
    found |= {f"hard: {name}": row[0] for name, row in HARD_LINKED.items()}
    found |= {f"special: {name}": row for name, row in (SPECIAL | DEVICES).items()}
    root = bytes(tree.root)
    return {name: row and row.replace(b"{root}", root) for name, row in found.items()}


def build(root: Path) -> Tree:
    tree = Tree(root)
    return tree.build(model_bytes(locations(tree)))


def expected(policy: str, tree: Tree) -> dict[str, Verdict]:
    trusted, strict = policy == "trusted", policy.startswith("strict")
    found = {f"text: {name}": row[1] for name, row in TEXTS.items()}
    for name, (_, contained, when_trusted) in LINKED.items():
        found[f"link: {name}"] = NO_LINKS if strict else when_trusted if trusted else contained
    hard_links = trusted or policy.endswith("with hard links")
    found |= {
        f"hard: {name}": row[1] if hard_links else HARD_LINK for name, row in HARD_LINKED.items()
    }
    linked = opens() if hard_links else HARD_LINK
    found["link: to a hard link"] = NO_LINKS if strict else linked
    if not trusted:  # for some users who run the tests, it is a regular file
        found["link: to a magic link"] = NO_LINKS if strict else SYMLINK
    for name in SPECIAL | (DEVICES if tree.has_devices else {}):
        found[f"special: {name}"] = NOT_REGULAR
    for name, target in (("link to proc", "/proc/self/status"), ("link to null", "/dev/null")):
        if trusted and not Path(target).exists():
            found[f"link: {name}"] = MISSING
    return found


def difference(read: Callable[[], object], verdict: Verdict, wanted: list[str]) -> str:
    """How the result of `read` differs from the verdict; empty if it agrees."""
    try:
        values = read()
    except onnxmap.ExternalDataError as error:
        text = str(error)
        missing = [word for word in (*verdict.words, *wanted) if word not in text]
        classes = {
            "ext.unsafe_path": onnxmap.UnsafePathError,
            "ext.missing": FileNotFoundError,
            "ext.permission": PermissionError,
        }
        also = [code for code, kind in classes.items() if isinstance(error, kind)]
        if error.code != verdict.code or missing or also != [error.code] * (error.code in classes):
            return f"{error.code} {also} lacks {missing} wants {verdict.code}: {text}"
        if not text.isprintable() or len(text) > 1_500 or not isinstance(error, ValueError):
            return f"an unfit message or class: {text!r}"
        return ""
    except (onnxmap.OnnxMapError, OSError) as error:
        return f"{type(error).__name__}: {error}"
    return "" if verdict == opens(values) else f"{values!r:.80} wants {verdict}"


def differences(
    tree: Tree, model: onnxmap.Model, policy: str, folder: str, watch: FileWatch
) -> list[str]:
    """Where the tensors differ from the table. `folder` is how messages name its folder."""
    found = []
    table, places, allowed = expected(policy, tree), locations(tree), tree.may_be_opened(policy)
    watch.opened()
    for name, verdict in table.items():
        tensor, location = model.initializers[name], places[name] or b""
        said = location.decode("ascii", "replace")
        wanted = []
        if verdict.code == "ext.unsafe_path":
            plain = said.isascii() and said.isprintable() and "\\" not in said
            wanted = [name, folder, *([said[:100]] if plain else [])]
        told = difference(lambda tensor=tensor: tensor.numpy().tolist(), verdict, wanted)
        if opened := watch.opened() - allowed:
            told += f" opened {opened}"
        if told:
            found.append(f"{policy}, {name}: {told}")
    assert len(table) > 100, "the table is not all there"
    return found
