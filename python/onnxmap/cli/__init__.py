"""The command `onnxmap`. It runs a subcommand, which is a module or package of this package.

Exit status: 0 done, 1 check or verify found a fault, or run or diff a difference, 2 bad usage or
unreadable input. A failure prints one line on standard error, never a traceback. A subcommand
imports what it needs when it runs, so that `onnxmap --help` stays quick.
"""

from __future__ import annotations

import argparse
import codecs
import importlib
import io
import os
import sys
import warnings
from collections.abc import Sequence
from contextlib import redirect_stderr
from importlib.util import find_spec
from pathlib import Path
from textwrap import fill
from typing import Any, NoReturn

import onnxmap
from onnxmap._base.text import nearest, suggestion
from onnxmap.cli.arguments import flag
from onnxmap.cli.exit_status import (
    BAD_INPUT,
    DONE,
    INTERRUPTED,
    UsageError,
    complain,
    missing_package,
)
from onnxmap.cli.model_file import add_opening_options
from onnxmap.cli.text import IN_ASCII
from onnxmap.errors import OnnxMapError, printable

__all__ = ["UsageError", "main"]

# Each is a module of this package with `add_arguments(parser)` and `run(arguments)`, which
# returns an exit status, or None if there is only one way to end. The help has its docstring, which
# ends with an example.
COMMANDS = (
    "show", "ls", "dump", "stats", "report", "check", "verify", "diff", "save", "convert",
    "extract", "cp", "mv", "edit", "merge", "set", "rename-tensor", "run", "bench", "demo",
)  # fmt: skip
# By the first command of each.
GROUPS = {
    "show": "look at a model", "check": "check and compare", "save": "write files",
    "edit": "edit a model", "run": "run and measure",
}  # fmt: skip

# The line that a start file of bash or zsh needs. Without the option, bash offers files where
# nothing fits.
COMPLETION = 'eval "$(register-python-argcomplete --no-defaults onnxmap)"'


class _Parser(argparse.ArgumentParser):
    """An argument parser that reports an error in one line, without the usage."""

    def error(self, message: str) -> NoReturn:
        self.exit(BAD_INPUT, f"{self.prog}: {printable(message)} (see '{self.prog} --help')\n")

    def option(self, name: str, given: str) -> str | None:
        """Return the option for an argument or a verb of the package; None if there is none.

        Args:
            name: its name.
            given: the value of the argument; `...` or nothing stands for any.
        """
        options = [each for each in self._actions if each.option_strings]
        words = {each: each.option_strings[0] for each in options}
        named = [each for each in options if name in (each.dest, words[each][2:].replace("-", "_"))]
        # A value may have a flag of its own, such as --inline for external_data=False.
        named.sort(key=lambda each: (each.nargs == 0) == (given == "..."))
        for each in named:
            if each.nargs != 0:
                return f"{words[each]} {each.metavar if given in ('', '...') else given}"
            if given in ("", "...", str(each.const)):
                return words[each]
        return None


class _ShowVersion(argparse.Action):
    """`--version`. It reads the package's metadata only when it is used, because that is slow."""

    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> NoReturn:
        print(f"onnxmap {onnxmap.__version__}")
        parser.exit()


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(
        prog="onnxmap",
        usage="%(prog)s [-h] [--version] COMMAND ...",
        epilog=(
            "Exit status: 0 done, 1 check or verify found a fault, or run or diff a difference,\n"
            "2 bad usage or unreadable input.\n"
            "Completion with Tab needs the extra onnxmap[cli], and this line in ~/.bashrc or\n"
            f"~/.zshrc (there after compinit):\n  {COMPLETION}"
        ),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action=_ShowVersion, nargs=0, help="print the version")
    # The description has the commands in groups, which argparse cannot make.
    form: Any = {"metavar": "COMMAND", "help": argparse.SUPPRESS, "prog": parser.prog}
    listed = "Read, edit, save and move ONNX models of any size."
    commands = parser.add_subparsers(required=True, **form)
    for name in COMMANDS:
        module = importlib.import_module(f"onnxmap.cli.{name.replace('-', '_')}")
        text, _, example = str(module.__doc__).strip().rpartition("\n\n")
        first = text.partition("\n")[0].rstrip(".")
        if name in GROUPS:
            listed += f"\n\n{GROUPS[name]}:"
        listed += "\n" + fill(f"    {name:13} {first}", 78, subsequent_indent=" " * 18)
        command = commands.add_parser(name, help=first, description=text, epilog=example)
        module.add_arguments(command)
        flag(command, "--json", "print JSON, for programs")
        if name != "demo":
            add_opening_options(command)
        command.set_defaults(run=module.run, parser=command, commands=commands.choices)
    parser.description = listed
    return parser


def _complete(parser: argparse.ArgumentParser) -> None:
    """Answer the shell and stop, if it asks how a command line may go on."""
    if "_ARGCOMPLETE" in os.environ:
        if find_spec("argcomplete") is None:
            raise UsageError("completion needs argcomplete; pip install 'onnxmap[cli]'")
        import argcomplete

        # Options are listed only after a dash. Else they would stand among all files and names.
        argcomplete.autocomplete(parser, always_complete_options=False)


def _parse(words: list[str]) -> argparse.Namespace:
    parser = _parser()
    _complete(parser)
    if words[:1] == ["help"]:  # `help` and `help ls` mean `--help` and `ls --help`
        words = [*words[1:], "--help"]
    _check_command(parser, words)
    arguments, rest = parser.parse_known_args(words)
    # For argparse, a command's list of names ends at its first option. The names after the option
    # are in `rest`: `ls FILE --sort size NAME`.
    if hasattr(arguments, "names") and not any(word.startswith("-") for word in rest):
        arguments.names = [*arguments.names, *rest]
    elif rest:
        arguments.parser.error(f"unrecognized arguments: {' '.join(rest)}")
    return arguments


def _check_command(parser: argparse.ArgumentParser, words: Sequence[str]) -> None:
    """Refuse a command that does not exist, and suggest another."""
    name = next((word for word in words if not word.startswith("-")), None)
    if name is not None and name not in COMMANDS:
        near = suggestion(nearest(name, COMMANDS)) or f"; the commands are {', '.join(COMMANDS)}"
        parser.error(f"no command is named {name!r}{near}")


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line `argv` (default: that of the process) and return the exit status."""
    # If the terminal's encoding lacks a character, another one is printed instead of an error.
    codecs.register_error("onnxmap", _replaced)
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="onnxmap")
    # If standard error is closed, as by `2>&-`, print() would write to standard output instead.
    nowhere = Path(os.devnull).open("w")  # noqa: SIM115 -- closed below
    with warnings.catch_warnings(), nowhere, redirect_stderr(sys.stderr or nowhere):
        warnings.showwarning = _show_warning
        # Python 3.15 warns of the way in which protobuf decodes Base64.
        warnings.filterwarnings("ignore", module=r"google\.protobuf")
        return _run(argv)


def _replaced(error: UnicodeError) -> tuple[str | bytes, int]:
    """Write the characters that the commands themselves use in ASCII, and others as numbers."""
    assert isinstance(error, UnicodeEncodeError)
    character = error.object[error.start]
    if character in IN_ASCII:
        return IN_ASCII[character], error.start + 1
    return codecs.backslashreplace_errors(error)


def _show_warning(message: Warning | str, *_: object, **__: object) -> None:
    print(f"onnxmap: warning: {printable(str(message))}", file=sys.stderr)


def _run(argv: Sequence[str] | None) -> int:
    arguments, words = None, list(sys.argv[1:] if argv is None else argv)
    try:
        if sys.stdout is None:  # as by `>&-`
            raise UsageError("standard output is closed")
        arguments = _parse(words)
        status: int | None = arguments.run(arguments)
        # At interpreter exit, the error of a closed pipe could no longer be caught.
        sys.stdout.flush()
    except SystemExit as stop:  # argparse: --help, or a bad command line, which it has reported
        return stop.code if isinstance(stop.code, int) else BAD_INPUT
    except BrokenPipeError:  # for example `| head`, which has ended
        _write_nothing_more()
        return DONE
    except KeyboardInterrupt:
        return INTERRUPTED
    # ImportError: a package that an extra installs. Warning: PYTHONWARNINGS=error.
    except (OnnxMapError, OSError, UsageError, ImportError, Warning) as failure:
        if isinstance(failure, ImportError):
            failure = missing_package(failure, words)
        complain(failure, arguments)
        try:
            if sys.stdout is not None:
                sys.stdout.flush()
        except OSError:  # the failure was that standard output cannot be written
            _write_nothing_more()
        return BAD_INPUT
    return DONE if status is None else status


def _write_nothing_more() -> None:
    """Discard what is in the buffer. At exit Python would try to write it and report an error."""
    with Path(os.devnull).open("w") as nowhere:
        os.dup2(nowhere.fileno(), sys.stdout.fileno())
