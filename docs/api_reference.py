"""What Sphinx cannot find out by itself for the API reference, and which names it must have.

- The stub of the core has the types of its functions and properties: `make stubs` takes them from
  the extension.
- The section `Attributes` of a class describes its fields.

The build fails if a public name, or a public member of a public class, is left out.
"""

from __future__ import annotations

import ast
import enum
import importlib
import inspect
import re
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from docutils import nodes
from sphinx.util import logging
from sphinx.util.nodes import find_pending_xref_condition

import onnxmap

if TYPE_CHECKING:
    from sphinx.application import Sphinx

STUB = Path(onnxmap.__file__).with_name("_core.pyi")
PLAINER = (  # what the stub says, and what a reader needs
    ("typing.SupportsInt | typing.SupportsIndex", "int"),
    ("typing.SupportsFloat | typing.SupportsIndex", "float"),
    ("_torch.", "torch."),
    ("_ndarray[Any, Any]", "numpy.ndarray"),
    ("np.ndarray[Any, Any]", "numpy.ndarray"),
    ("numpy.ndarray[Any, Any]", "numpy.ndarray"),
    ("collections.abc.", ""),
    ("builtins.", ""),
    ("typing.", ""),
    ("_core.", ""),
)
COLON = "\ue000"
_LOG = logging.getLogger(__name__)


def plain(text: str) -> str:
    """Return a type or signature of the stub as the reference shows it."""
    for stub, shown in PLAINER:
        text = text.replace(stub, shown)
    return text


@cache
def stub() -> dict[str, ast.FunctionDef]:
    """Return the functions, methods and properties of the core by their names."""
    found: dict[str, ast.FunctionDef] = {}
    for item in ast.parse(STUB.read_text()).body:
        if isinstance(item, ast.FunctionDef):
            found.setdefault(item.name, item)
        elif isinstance(item, ast.ClassDef):
            for member in item.body:
                if isinstance(member, ast.FunctionDef):
                    found.setdefault(f"{item.name}.{member.name}", member)
    return found


def made_by_users(name: str) -> bool:
    """Whether users call the class themselves; functions make the others."""
    return name.startswith("onnxmap.types.") or name in ("onnxmap.Limits", "onnxmap.relocate")


def signature(
    app: Sphinx,
    what: str,
    name: str,
    thing: Any,
    options: Any,
    given: str | None,
    returns: str | None,
) -> tuple[str | None, str | None]:
    """Return the signature of a function of the core, from the stub."""
    if inspect.isclass(thing) and not made_by_users(name):
        return given and "", None
    if what not in ("function", "method") or inspect.isfunction(thing):
        return (given and plain(given), returns and plain(returns))
    if (told := stub().get(name.removeprefix("onnxmap."))) is None:
        return given, returns
    arguments = told.args
    if what == "method":
        arguments.args = [each for each in arguments.args if each.arg != "self"]
    return plain(f"({ast.unparse(arguments)})"), plain(
        ast.unparse(told.returns or ast.Constant(None))
    )


def attributes_of(lines: list[str], heading: str = "Attributes:") -> dict[str, list[str]]:
    """Take the section about attributes out of a docstring; return the description of each."""
    if heading not in lines:
        return {}
    begin = lines.index(heading)
    end = begin + 1
    found: dict[str, list[str]] = {}
    while end < len(lines) and (not lines[end] or lines[end].startswith("    ")):
        if match := re.match(r"    (\w+): (.*)", lines[end]):
            found[match[1]] = last = [match[2][0].upper() + match[2][1:]]
        elif lines[end]:
            last.append(lines[end].strip())
        end += 1
    del lines[begin:end]
    return found


def own_classes(cls: type) -> list[type]:
    """Return a class and its private bases, whose members count as its own."""
    private = [each for each in cls.__mro__[1:] if each.__name__.startswith("_")]
    return [cls, *(each for each in private if each.__module__.startswith("onnxmap"))]


def described_fields(cls: type) -> dict[str, list[str]]:
    """Return the descriptions of attributes in the docstrings of a class."""
    found: dict[str, list[str]] = {}
    for each in reversed(own_classes(cls)):
        about = (inspect.getdoc(each) or "").splitlines()
        found |= attributes_of(about) or attributes_of(about, "Args:")
    return found


def plain_fields(cls: type) -> dict[str, str]:
    """Return the public fields of a class that have no docstring of their own, and their types."""
    return {
        field: plain(type_)
        for each in own_classes(cls)
        for field, type_ in vars(each).get("__annotations__", {}).items()
        if not field.startswith("_") and not hasattr(getattr(cls, field, None), "__get__")
    }


def hidden(line: str) -> str:
    """Return a line without the colons from which napoleon concludes that a type stands before."""
    return re.sub(r":(?= |$)", COLON, line)


def hide_colons(lines: list[str]) -> None:
    """Hide the colons in the description of a result, whose beginning napoleon takes for a type."""
    within = False
    for number, line in enumerate(lines):
        if line in ("Returns:", "Yields:"):
            within = True
        elif within and line.startswith("    "):
            lines[number] = hidden(line)
        else:
            within = False


def docstring(
    app: Sphinx, what: str, name: str, thing: Any, options: Any, lines: list[str]
) -> None:
    """Describe an attribute where it stands, and add the type of a property of the core."""
    hide_colons(lines)
    if inspect.isclass(thing):
        attributes_of(lines)  # they are described below, with their types
        described = described_fields(thing)
        fields = plain_fields(thing)
        lines += ["Attributes:"] * any(field in described for field in fields)
        for field, type_ in fields.items():
            if field in described:
                first, *more = described[field]
                lines += [f"    {field} ({type_}): {first}", *(f"        {each}" for each in more)]
    elif what in ("attribute", "property"):
        module, owner, member = name.rsplit(".", 2)
        cls = getattr(importlib.import_module(module), owner)
        described = described_fields(cls)
        told = stub().get(f"{owner}.{member}")
        if member in described:
            lines[:] = described[member]
        raw = getattr(vars(cls).get(member), "__doc__", None) or ""
        if re.fullmatch(r"[A-Z]\w+\.\w+", raw):  # which autodoc takes for a signature
            lines[:] = [f"The field `{raw}` of onnx.proto."]
        undescribed = not any(lines) or lines[0].startswith("Alias for field number")
        if undescribed and not issubclass(cls, enum.Enum):
            _LOG.warning("%s is not described", name)
        lines[:] = [hidden(line) for line in lines]
        if told is not None and told.returns is not None:
            lines += ["", f":type: {plain(ast.unparse(told.returns))}"]


def skip(app: Sphinx, what: str, name: str, thing: Any, leave: bool, options: Any) -> bool | None:
    """Leave out a plain field: the section about attributes describes it."""
    is_plain = repr(thing) != "SLOTS_ATTR" and not hasattr(thing, "__get__")
    return True if is_plain and name in every_plain_field() else None


def restore_colons(
    app: Sphinx, what: str, name: str, thing: Any, options: Any, lines: list[str]
) -> None:
    """Undo what hides colons from napoleon, to which `The indices: a Tensor` begins with a type."""
    lines[:] = [line.replace(COLON, ":") for line in lines]


def public() -> dict[str, Any]:
    """Return everything public by its full name, without the members of classes."""
    found = {f"onnxmap.{name}": getattr(onnxmap, name) for name in onnxmap.__all__}
    for module in ("onnxmap.types", "onnxmap.errors"):
        for name, value in vars(importlib.import_module(module)).items():
            if (
                getattr(value, "__module__", "") == module
                and not name.startswith("_")
                and name not in (*onnxmap.__all__, "warn", "printable", "make_error")
            ):
                found[f"{module}.{name}"] = value
    return found


@cache
def every_plain_field() -> set[str]:
    """Return the plain fields of all public classes."""
    classes = [thing for thing in public().values() if inspect.isclass(thing)]
    return {field for cls in classes for field in plain_fields(cls)}


def wanted() -> set[str]:
    """Return the full names that the reference must have."""
    names = set(public())
    for name, cls in public().items():
        if inspect.isclass(cls):
            own = {member for each in own_classes(cls) for member in vars(each)}
            own |= plain_fields(cls).keys() | described_fields(cls).keys()
            others = [each for each in cls.__mro__ if each not in own_classes(cls)]
            inherited = {member for each in others for member in vars(each)}
            names |= {f"{name}.{each}" for each in own - inherited if not each.startswith("_")}
    return names


def check_complete(app: Sphinx, env: Any) -> None:
    """Warn of each name that the reference lacks: a warning is an error."""
    known = env.domains["py"].objects
    for name in sorted(wanted() - known.keys()):
        _LOG.warning("the API reference lacks %s", name)


def resolve(app: Sphinx, env: Any, node: Any, content: nodes.Element) -> nodes.Element | None:
    """Find a name of onnxmap that a docstring or a signature gives without its module."""
    parts = node["reftarget"].split(".")
    domain = env.domains["py"]
    for module in ("onnxmap", "onnxmap.types", "onnxmap.errors"):
        for last in (parts[-2:], parts[-1:]):
            name = ".".join([module, *last])
            if node.get("refdomain") == "py" and name in domain.objects:
                condition = find_pending_xref_condition(node, "resolved")
                shown = condition.children[0] if condition else content
                return domain.resolve_xref(
                    env, node["refdoc"], app.builder, "obj", name, node, shown
                )
    return None  # names of other packages are plain text: the site is built without a network


def setup(app: Sphinx) -> dict[str, bool]:
    """Called by Sphinx."""
    app.connect("autodoc-process-signature", signature)
    app.connect("autodoc-process-docstring", docstring, priority=400)  # before napoleon
    app.connect("autodoc-process-docstring", restore_colons, priority=600)
    app.connect("autodoc-skip-member", skip)
    app.connect("env-check-consistency", check_complete)
    app.connect("missing-reference", resolve)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
