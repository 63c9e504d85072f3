"""The map of the layers. To change the architecture is to change this map.

bindings -> {surgery -> {bulk, check, compare, save}, edit} -> model -> tensor
-> {safetensors -> onnx -> wire -> kernels, {source, contain} -> os} -> base

ROOMS is the map of the Python package.
"""

from __future__ import annotations

import ast
import re
import sys
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from onnxmap import Limits

if TYPE_CHECKING:
    from collections.abc import Iterable

ROOT = Path(__file__).parents[3]
sys.path.insert(0, str(ROOT / "tools"))
import count_code

PACKAGE = ROOT / "python/onnxmap"
FILES = ("os", "contain", "source")
SINKS = ("bulk", "check", "compare", "save", "surgery")
LAYERS: dict[str, set[str]] = {
    "base": set(),
    "os": {"base"},
    "contain": {"base", "os"},
    "source": {"base", "os"},
    "kernels": {"base"},
    "wire": {"base", "kernels"},
    "onnx": {"base", "wire"},
    "safetensors": {"base", "onnx"},
    "tensor": {"base", "wire", "onnx", "kernels", *FILES},
    "model": {"base", "wire", "onnx", "safetensors", *FILES, "tensor"},
    "edit": {"base", "onnx", "os", "source", "tensor", "model"},
    "read": {"base", "onnx", "os", "source", "tensor", "model"},
    "bulk": {"base", "onnx", "os", "source", "tensor", "model", "read"},
    "check": {"base", "onnx", "os", "source", "tensor", "model"},
    "compare": {"base", "onnx", "os", "source", "tensor", "model", "read"},
    "save": {"base", "wire", "onnx", "kernels", "safetensors", *FILES, "tensor", "model"},
    "surgery": {"base", "wire", "onnx", "os", "source", "tensor", "model", "compare", "save"},
    "bindings": {"base", "wire", "onnx", "kernels", *FILES, "tensor", "model", "edit", *SINKS},
}
# Only os/ uses the operating system. sys/types.h only declares types, and may be used elsewhere.
SYSTEM_HEADERS = re.compile(
    r"^(sys/(?!types\.h)|fcntl|unistd|dirent|poll|pthread|sched|c?signal|csetjmp|linux/|dlfcn"
    r"|termios)"
)
# What Linux adds to POSIX. Only os/linux/ may use it.
OF_LINUX = re.compile(
    r"\b(linux/|sys/(vfs|xattr|syscall|sysmacros|prctl|statfs)\.h|sched\.h|syscall|statx|fstatfs|mremap"
    r"|madvise|mincore|preadv2|posix_fadvise|sched_\w+|O_PATH|AT_EMPTY_PATH|MAP_NORESERVE"
    r"|copy_file_range|sendfile|renameat2|RENAME_\w+|SYS_\w+|MAP_FIXED_NOREPLACE|MADV_\w+|RWF_\w+|RESOLVE_\w+|SI_TKILL|CLOCK_MONOTONIC_COARSE|gettid|memfd_create)\b"
    r'|"/(proc|sys)\b'
)
INTRINSICS = re.compile(
    r"intrin\.h|arm_neon\.h|__SSE|__AVX|__ARM_NEON|\b_mm\d*_|__m\d+i?\b|__builtin_ia32"
)
INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]', re.MULTILINE)

# The rooms of the package, the lowest first; `""` is onnxmap itself. A module imports only from its
# own room or from one below. `_core` calls upwards only through the rows of package_seam.hpp.
ROOMS = [
    "_core", "errors", "_base", "types", "_show", "_methods", "_make", "_remote", "_read", "_write",
    "_files", "interop", "report", "", "cli", "__main__",
]  # fmt: skip
# Only these may import a room above them, inside functions: they name what is used later. Others
# may import `interop` there, which needs optional libraries.
LATER = {
    "", "_files.model", "_methods.mappings", "_methods.messages", "_methods.surgery",
    "_methods.tensors",
}  # fmt: skip

# Lines of code of the package, the commands, the report and the core together. It only falls: a
# feature raises it in a commit that says by how much and why. `tools/count_code.py` has the parts.
MOST_LINES_OF_CODE = 50_478

# What `import onnxmap` may import, besides the standard library.
AT_IMPORT = {"numpy", "onnxmap"}
# Commands, and modules that are imported when another library is needed: never by `import onnxmap`.
NOT_AT_IMPORT = {"cli", "__main__.py", "interop", "report", "_remote"}


def sources(layer: str) -> list[Path]:
    suffixes = (".hpp", ".cpp", ".def", ".h", ".inc")
    return sorted(path for path in (ROOT / "cpp" / layer).rglob("*") if path.suffix in suffixes)


def includes(path: Path) -> list[tuple[bool, str]]:
    """The includes of a file: whether in angle brackets, and the included name."""
    return [(bracket == "<", name) for bracket, name in INCLUDE.findall(path.read_text())]


def test_the_folders_are_the_layers() -> None:
    assert {path.name for path in (ROOT / "cpp").iterdir() if path.is_dir()} == set(LAYERS)
    assert all(sources(layer) for layer in LAYERS)


@pytest.mark.parametrize("layer", LAYERS)
def test_includes_point_downwards(layer: str) -> None:
    for path in sources(layer):
        for in_brackets, name in includes(path):
            if in_brackets:
                continue
            folder, _, file = name.partition("/")
            assert file, f"{path}: {name} does not name its layer"
            assert folder in LAYERS[layer] | {layer}, f"{path} includes {name}"
            assert (ROOT / "cpp" / name).is_file(), f"{path} includes {name}, which is not there"


@pytest.mark.parametrize("layer", LAYERS)
def test_only_bindings_know_python(layer: str) -> None:
    for path in sources(layer):
        text = path.read_text()
        if layer != "bindings":
            assert "pybind11" not in text, path
            assert not re.search(r"\bPy_|\bPyObject|Python\.h", text), path


@pytest.mark.parametrize("layer", LAYERS)
def test_only_os_knows_the_operating_system(layer: str) -> None:
    for path in sources(layer):
        for in_brackets, name in includes(path):
            if layer != "os" and in_brackets:
                assert not SYSTEM_HEADERS.match(name), f"{path} includes <{name}>"


def test_os_does_include_system_headers() -> None:
    """The rule above has a purpose: os/ does include system headers."""
    seen = [
        name for path in sources("os") for _, name in includes(path) if SYSTEM_HEADERS.match(name)
    ]
    assert seen


def test_intrinsics_stand_in_kernels() -> None:
    for layer in LAYERS:
        found = [path for path in sources(layer) if INTRINSICS.search(path.read_text())]
        assert bool(found) == (layer == "kernels"), found


def test_the_package_needs_no_linux() -> None:
    """Only the command that measures memory does. Paths of Linux that mean a stream are known."""
    of_linux = re.compile(r"\bos\.sched_|\"/proc\b")
    found = {path.name for path in PACKAGE.rglob("*.py") if of_linux.search(path.read_text())}
    assert found == {"streams.py", "bench.py"}


def test_each_piece_of_linux_has_a_plain_substitute() -> None:
    """The folders have files of the same names. CMake takes each from one of them."""
    folders = [ROOT / "cpp/os" / system for system in ("linux", "posix", "darwin")]
    linux, posix, darwin = ({path.stem for path in folder.glob("*.cpp")} for folder in folders)
    assert linux == posix
    assert darwin < posix
    build = (ROOT / "cpp/CMakeLists.txt").read_text()
    assert {name for name in linux if not re.search(rf"\n  {name}\b", build)} == set()
    for path in sources("os"):
        code = re.sub(r"//.*", "", path.read_text())
        if path.parent.name == "darwin":
            continue
        found = OF_LINUX.search(code)
        assert (found is not None) == (path.parent.name == "linux"), f"{path}: {found}"


def test_the_interpreter_lock_has_one_place() -> None:
    """pybind11's own lock classes can abort a process whose interpreter ends."""
    other = re.compile(
        r"gil_scoped|gil_safe_call_once|call_guard|PyGILState_|PyEval_(Save|Restore)Thread|Py_BEGIN_ALLOW"
    )
    for path in sources("bindings"):
        assert bool(other.search(path.read_text())) == (path.stem == "interpreter_lock"), path


def defined_in(module: str) -> set[str]:
    """The names that a module of the package defines at its top level."""
    path = PACKAGE.parent / module.replace(".", "/")
    path = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
    names: set[str] = set()
    for node in ast.parse(path.read_text()).body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            names.add(node.name)
        elif isinstance(node, ast.Assign):
            names |= {target.id for target in node.targets if isinstance(target, ast.Name)}
    return names


def test_the_bindings_call_the_package_through_one_table() -> None:
    of_metadata = {"onnxmap.view."}  # begins keys of metadata_props
    for path in (path for layer in LAYERS for path in sources(layer)):
        named = re.findall(r'"(onnxmap\.[a-z_][\w.]*)"', path.read_text())
        named = [name for name in named if name not in of_metadata]
        assert not named or path.name == "package_seam.hpp", f"{path} names {named}"
    table = (ROOT / "cpp/bindings/package_seam.hpp").read_text()
    rows = re.findall(r'auto (\w+) =\s*python_object<"([\w.]+)", "(\w+)">;', table)
    assert 0 < len(rows) == table.count("inline constexpr") < 8
    for _, module, name in rows:
        assert name in defined_in(module), f"{module} has no {name}"
    bindings = "".join(path.read_text() for path in sources("bindings"))
    used = re.findall(r"\bpackage::(\w+)(?:\(\)|>)", bindings)
    assert [name for name, _, _ in rows if name not in used] == []


def test_the_core_reads_of_objects_what_the_protocols_say() -> None:
    """Options, hooks and remote files. Other attributes are those of Python, NumPy and messages."""
    protocols = (PACKAGE / "_base/protocols.py").read_text()
    told = set(re.findall(r"^    (?:def )?(?!class)(\w+)(?:: |\()", protocols, re.MULTILINE))
    files = ("bind_save.cpp", "load_options.cpp", "remote.cpp")
    texts = [(ROOT / "cpp/bindings" / name).read_text() for name in files]
    asking = r'\b(?:given|options|hooks|file_?|folder_?|external_root)(?:\.|->)attr\("(\w+)"\)'
    asking += r'|\bnamed\(k\w+, "(\w+)"\)'
    asked = {name for text in texts for names in re.findall(asking, text) for name in names}
    assert asked - {""} == told
    limits = re.findall(r'\{"(\w+)", &model::Limits::\w+\}', texts[1])
    assert set(limits) < {each.name for each in fields(Limits)}


# The bindings that show any message under the names of onnx.proto, using the rows of the schema.
GENERIC = {"bind_proto_view.cpp", "bind_schema.cpp", "bind_unknown_fields.cpp"}
GENERIC |= {"message_class.cpp", "message_class.hpp", "proto_fields.cpp", "proto_fields.hpp"}
# And those that edit any field, which is known by its row.
GENERIC |= {"bind_proto_edits.cpp", "editing.cpp", "editing.hpp"}
GENERIC |= {"field_encoding.cpp", "field_encoding.hpp", "value_list.cpp"}
GENERIC |= {"field_mapping.cpp", "field_mapping.hpp"}


def test_bindings_hold_no_rule_of_the_format() -> None:
    """model/ decides what a model means. Other bindings name no field and read no wire format."""
    of_the_format = re.compile(r'\bwire::|\bfield<|\bmessage<"|"[A-Z]\w*Proto\.\w+"|for_each_field')
    naming = {path.name for path in sources("bindings") if of_the_format.search(path.read_text())}
    assert naming == GENERIC


def test_files_cannot_make_a_table_of_names_slow() -> None:
    """The hash of the standard library has no seed: a file could choose names that collide."""
    table = re.compile(r"unordered_(?:multi)?(?:map|set)<std::string[^;]*")
    files = [path for layer in LAYERS for path in sources(layer)]
    found = [made for path in files for made in table.findall(path.read_text())]
    assert found
    assert [made for made in found if "NameHash" not in made] == []


def test_wire_knows_no_onnx() -> None:
    for path in sources("wire"):
        code = re.sub(r"//.*", "", path.read_text())
        for word in ("TensorProto", "GraphProto", "ModelProto", "initializer", "raw_data"):
            assert word not in code, f"{path} names {word}"


def test_headers_begin_with_a_word_and_pragma_once() -> None:
    for layer in LAYERS:
        for path in sources(layer):
            if path.suffix == ".hpp":
                text = path.read_text()
                assert text.startswith("//"), f"{path} does not say what it is"
                assert "#pragma once" in text, path


def python_files() -> list[Path]:
    return sorted(PACKAGE.rglob("*.py"))


def imports(path: Path, at_import_time: bool, for_types: bool = True) -> set[str]:
    """Full names of the modules that a file imports, in functions only if all are asked for.

    `for_types`: also those that are only for type checkers, if all are asked for.
    """
    tree = ast.parse(path.read_text())
    hidden: set[ast.AST] = set()
    for node in ast.walk(tree):
        is_later = isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        is_for_types = isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test)
        if (is_later and at_import_time) or (is_for_types and (at_import_time or not for_types)):
            hidden |= set(ast.walk(node))
    found: set[str] = set()
    for node in ast.walk(tree):
        if node in hidden:
            continue
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: a relative import"
            found.add(node.module or "")
    return found


def test_the_package_imports_numpy_and_nothing_heavier() -> None:
    import sys

    assert python_files()
    for path in python_files():
        if path.relative_to(PACKAGE).parts[0] in NOT_AT_IMPORT:
            continue
        tops = {name.partition(".")[0] for name in imports(path, at_import_time=True)}
        assert tops <= AT_IMPORT | set(sys.stdlib_module_names), path


def module_name(path: Path) -> str:
    """The name below `onnxmap`, such as `_remote.files`; empty for the package itself."""
    parts = path.relative_to(PACKAGE).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def _name_of(function: ast.expr) -> str:
    """The last name in `function` or `module.function`."""
    return str(getattr(function, "id", getattr(function, "attr", "")))


def imports_in_package(path: Path, modules: set[str]) -> set[str]:
    """The modules of the package that a file imports, also in functions and for types."""
    found: set[str] = set()
    tree = ast.parse(path.read_text())
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            names = {f"{node.module}.{alias.name}" for alias in node.names}
            inner = {name for name in names if name.removeprefix("onnxmap.") in modules}
            found |= inner | ({node.module or ""} if inner < names else set())
        elif isinstance(node, ast.Call) and _name_of(node.func).endswith("import_module"):
            begin = getattr(node.args[0], "values", [node.args[0]])[0]
            if isinstance(begin, ast.Constant):  # import_module(f"onnxmap.cli.{name}")
                below = str(begin.value).removeprefix("onnxmap.")
                found |= {f"onnxmap.{name}" for name in modules if name.startswith(below)}
            else:  # a name from a table of the same file
                texts = {each.value for each in ast.walk(tree) if isinstance(each, ast.Constant)}
                found |= {f"onnxmap.{name}" for name in modules} & texts
    ours = {name for name in found if name.partition(".")[0] == "onnxmap"}
    return {name.removeprefix("onnxmap").removeprefix(".") for name in ours}


def drawing(files: Iterable[Path]) -> dict[str, set[str]]:
    """What each module of the package imports from the package; `_core` is the extension."""
    by_name = {module_name(path): path for path in files}
    modules = {*by_name, "_core"}
    arrows = {name: imports_in_package(path, modules) for name, path in by_name.items()}
    return {"_core": set(), **arrows}


def circle(arrows: dict[str, set[str]]) -> list[str]:
    """The modules in an import circle, and those between two circles."""
    left = set(arrows)
    while True:
        importing = {name for name in left if arrows[name] & left}
        imported = set().union(*(arrows[name] & left for name in left))
        if left <= importing & imported:
            return sorted(left)
        left &= importing & imported


def room_of(module: str) -> str:
    return module.partition(".")[0]


def height(module: str) -> int:
    """The height of a module's room."""
    return ROOMS.index(room_of(module))


def test_one_room_alone_has_a_circle() -> None:
    """A Model has methods that load and save, and what loads and saves makes a Model."""
    arrows = drawing(python_files())
    assert len(arrows) > 40
    in_rooms = {
        name: {each for each in targets - {name} if room_of(each) == room_of(name)}
        for name, targets in arrows.items()
    }
    assert {room_of(name) for name in circle(in_rooms)} == {"_files"}
    assert circle({**arrows, **{name: set() for name in LATER}}) == []  # all are through Model


def test_imports_of_the_package_point_downwards() -> None:
    arrows = drawing(python_files())
    upwards = [
        f"{name} imports {target}"
        for name, targets in arrows.items()
        for target in targets
        if height(target) > height(name) and name not in LATER and room_of(target) != "interop"
    ]
    assert upwards == []
    assert set(map(room_of, arrows)) == set(ROOMS)


def test_the_commands_are_built_on_the_public_package() -> None:
    """What a command can do, Python can do. Sizes, types and numbers are written as in Python."""
    for path in (PACKAGE / "cli").rglob("*.py"):
        found = imports_in_package(path, {"_core", *map(module_name, python_files())})
        private = {
            name for name in found if any(part[0] == "_" for part in name.split(".") if part)
        }
        allowed = {
            "_base.text",
            "_base.arguments",
            "_base.schema",
            "_methods.surgery",
            "_read.stats",
        }
        assert private <= allowed, f"{path} imports {private}"
        members = {
            node.attr
            for node in ast.walk(ast.parse(path.read_text()))
            if isinstance(node, ast.Attribute)
            and re.match("_[^_]", node.attr)
            and node.attr != "_asdict"  # of a named tuple
            and not (
                isinstance(node.value, ast.Name) and node.value.id in ("self", "argparse", "os")
            )
        }
        assert members == set(), f"{path} uses {members}"


def test_what_may_be_imported_later_is_imported_in_functions() -> None:
    modules = {"_core", *map(module_name, python_files())}
    for path in python_files():
        name = module_name(path)
        at_once = imports(path, at_import_time=True)
        ours = {
            each.removeprefix("onnxmap").removeprefix(".") for each in at_once if "onnxmap" in each
        }
        above = {each for each in ours & modules - {""} if height(each) > height(name)}
        assert above == set(), f"{name} imports {above} at once"


def test_imports_in_functions_are_found(tmp_path: Path) -> None:
    low, high = "def f() -> None:\n    from onnxmap import _high\n", "import onnxmap._low\n"
    by_string = 'import_module(f"onnxmap.cli.{name}")\n'
    for name, text in (("_low", low), ("_high", high), ("_other", by_string)):
        (tmp_path / f"{name}.py").write_text(text)
    modules = {"_low", "_high", "_other", "cli.show", "cli.show.page"}
    found = {path.stem: imports_in_package(path, modules) for path in tmp_path.glob("*.py")}
    assert found == {
        "_low": {"_high"},
        "_high": {"_low"},
        "_other": {"cli.show", "cli.show.page"},
    }
    assert circle(found) == ["_high", "_low"]


def test_the_oracles_are_for_tests_only() -> None:
    for path in python_files():
        found = imports(path, at_import_time=False, for_types=False)
        tops = {name.partition(".")[0] for name in found}
        assert "pytest" not in tops, path
        if "interop" not in path.parts:
            assert not tops & {"onnx", "google", "onnx_ir", "onnxruntime"}, path


def test_measured_processes_of_other_libraries_do_not_import_the_package() -> None:
    """If a process of `bench/` imported onnxmap, the figures would include its time and memory."""
    bench = ROOT / "bench"
    in_processes = [bench / f"{name}.py" for name in ("worker", "tasks", "witness", "counters")]
    ours = ("ours.py", "our_sessions.py", "our_surgery.py")
    peers = [path for path in (bench / "peers").glob("*.py") if path.name not in ours]
    assert len(peers) > 5
    for path in [*in_processes, *peers]:
        tops = {name.partition(".")[0] for name in imports(path, at_import_time=True)}
        assert "onnxmap" not in tops, path


def test_the_lines_of_code_become_no_more() -> None:
    counts = count_code.counts()
    assert sum(counts.values()) <= MOST_LINES_OF_CODE, counts


def test_lines_of_code_are_counted() -> None:
    text = '"""Says what."""\n\nimport os\n\n# why\nx = """a\nb"""\n\n'
    text += 'def f():\n    """Doc."""\n    return x\n'
    assert count_code.python_lines(text) == 4
    assert count_code.cpp_lines('// x\n#include "a.hpp"\n\n/* y */\nint a;\n') == 1
    assert count_code.imports_in_functions("import os\ndef f():\n    import sys\n") == 1


def test_the_report_has_one_template() -> None:
    assert [path.name for path in (PACKAGE / "report").glob("*.jinja")] == ["report.html.jinja"]


def test_the_check_itself_sees_a_wrong_include(tmp_path: Path) -> None:
    bad = tmp_path / "bad.cpp"
    bad.write_text('// x\n#include "model/load.hpp"\n  #  include <sys/mman.h>\n')
    assert includes(bad) == [(False, "model/load.hpp"), (True, "sys/mman.h")]
    assert "model" not in LAYERS["wire"] | {"wire"}
    assert SYSTEM_HEADERS.match("sys/mman.h")
    assert SYSTEM_HEADERS.match("sched.h")
    assert SYSTEM_HEADERS.match("csignal")
    assert SYSTEM_HEADERS.match("linux/openat2.h")
    assert not SYSTEM_HEADERS.match("system_error")
    assert not SYSTEM_HEADERS.match("sys/types.h")
