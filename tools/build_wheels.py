"""Builds wheels for six platforms on one machine, with the compiler that ziglang packages.

    python tools/build_wheels.py [--platforms TAG]... [--output dist] [HEADERS...]

HEADERS are directories such as /usr/include/python3.14. An extension needs no more of a Python than
its headers. Without arguments, they are those of the Pythons that tools/find_python finds. The
headers of Linux on x86-64 serve for all: CONTRIBUTING.md says how their pyconfig.h differ.

For the same bytes each time, the tools are pinned in the extra `wheels`, and every wheel is built
from the unpacked sdist. Each wheel has the licences of what zig links into it. Each wheel is
checked, and an SBOM is written beside them.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tomllib
import venv
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BUILD = ROOT / "build/wheels"
BIN = BUILD / "venv/bin"
LARGEST = 2_500_000  # bytes of a wheel
SYMBOLS_OF_MAC = 100_000  # more: zig does not strip them
LINKED = ("libcxx", "libcxxabi", "libunwind")  # parts of LLVM that ziglang has
# The compiler's target, and the end of an extension's name. An extension uses its Python's musl.
PLATFORMS = {
    "manylinux_2_28_x86_64": ("x86_64-linux-gnu.2.28", "x86_64-linux-gnu"),
    "manylinux_2_28_aarch64": ("aarch64-linux-gnu.2.28", "aarch64-linux-gnu"),
    "musllinux_1_2_x86_64": ("x86_64-linux-musl -dynamic", "x86_64-linux-musl"),
    "musllinux_1_2_aarch64": ("aarch64-linux-musl -dynamic", "aarch64-linux-musl"),
    "macosx_13_0_arm64": ("aarch64-macos.13.0", "darwin"),
    "macosx_13_0_x86_64": ("x86_64-macos.13.0", "darwin"),
}


def run(*command: str | Path, cwd: Path = ROOT, **variables: str) -> str:
    """Run a command with the tools of the environment first, and return its output."""
    epoch = os.environ.get("SOURCE_DATE_EPOCH", "315532800")  # the first time that a zip can have
    path = f"{BIN}:{os.environ['PATH']}"
    env = {**os.environ, "PATH": path, "SOURCE_DATE_EPOCH": epoch, **variables}
    done = subprocess.run(command, cwd=cwd, env=env, text=True, stdout=subprocess.PIPE, check=False)
    if done.returncode:
        sys.exit(f"{done.stdout}\n{' '.join(map(str, command))} returned {done.returncode}")
    return done.stdout


def headers_of_found_pythons(project: dict) -> list[Path]:
    """Return the directories of headers of the Pythons here, and print which are missing."""
    found = []
    for version in re.findall(r"Python :: (3\.\d+)", " ".join(project["classifiers"])):
        finder = [str(ROOT / "tools/find_python"), version]
        python = subprocess.run(finder, text=True, stdout=subprocess.PIPE, check=False).stdout
        script = "import sysconfig; print(sysconfig.get_path('include'))"
        if python and (headers := Path(run(python.strip(), "-c", script).strip())).is_dir():
            found.append(headers)
        else:
            print(f"left out: Python {version}, whose headers are not here")
    return found


def install_tools(project: dict) -> None:
    """Make the environment of the build, in the versions of the extra `wheels`."""
    shutil.rmtree(BUILD, ignore_errors=True)
    venv.create(BUILD / "venv", with_pip=True)
    extra = project["optional-dependencies"]["wheels"]
    run(BIN / "python", "-m", "pip", "install", "--quiet", *extra)
    (BIN / "zig-ar").write_text(f'#!/bin/sh\nexec "{BIN}/python-zig" ar "$@"\n')
    (BIN / "zig-ar").chmod(0o755)


def copied(headers: Path) -> Path:
    """Copy the headers, with the pyconfig.h of x86-64: Debian's reads one for the target."""
    copy = BUILD / headers.name
    shutil.copytree(headers, copy)
    for pyconfig in headers.parent.glob(f"x86_64-linux-gnu/{headers.name}/pyconfig.h"):
        shutil.copy(pyconfig, copy)
    return copy


def source_of(output: Path) -> Path:
    """Write the sdist into `output` and return its directory, unpacked and with more licences."""
    script = f"import scikit_build_core.build as b; print(b.build_sdist({str(output)!r}))"
    sdist = output / run(BIN / "python", "-c", script).split()[-1]
    with tarfile.open(sdist) as archive:
        archive.extractall(BUILD / "source", filter="data")
    source = next((BUILD / "source").iterdir())
    (zig,) = BUILD.glob("venv/lib/python*/site-packages/ziglang")
    for part in LINKED:
        shutil.copy(zig / "lib" / part / "LICENSE.TXT", source / f"LICENSES/{part}.txt")
    return source


def build(source: Path, platform: str, headers: Path) -> Path:
    """Build a wheel and return its path. A platform's core is compiled once, for all Pythons."""
    found = re.search(r'define PY_VERSION\s+"3\.(\d+)', (headers / "patchlevel.h").read_text())
    assert found, headers
    # A free-threaded Python has an ABI of its own.
    letter = "t" if "define Py_GIL_DISABLED 1" in (headers / "pyconfig.h").read_text() else ""
    python = f"cp3{found[1]}"
    target, suffix = PLATFORMS[platform]
    is_mac = platform.startswith("macosx")
    settings = {
        "build-dir": BUILD / platform,
        "cmake.args": "--fresh",  # forgets the Python before, and leaves objects
        "cmake.python-hints": "false",
        "install.strip": "false",  # strip knows this machine's architecture alone
        "cmake.define.CMAKE_STRIP": "",
        "cmake.define.CMAKE_MODULE_LINKER_FLAGS": "-s",
        "cmake.define.CMAKE_SYSTEM_NAME": "Darwin" if is_mac else "Linux",
        "cmake.define.CMAKE_SYSTEM_PROCESSOR": target.partition("-")[0],
        "cmake.define.PYBIND11_USE_CROSSCOMPILING": "ON",  # asks no interpreter for the suffix
        "cmake.define.CMAKE_AR": BIN / "zig-ar",
        "cmake.define.CMAKE_RANLIB": "",
        "cmake.define.Python_INCLUDE_DIR": headers,
        "cmake.define.CMAKE_FIND_ROOT_PATH": BUILD / "nothing",  # not this machine's libpython
        "cmake.define.CMAKE_FIND_ROOT_PATH_MODE_PROGRAM": "ONLY",
        "cmake.define.CMAKE_FIND_ROOT_PATH_MODE_LIBRARY": "ONLY",
    }
    linking = ""
    if is_mac:
        # CMake would ask Xcode for these.
        for name in ("OSX_SYSROOT", "OSX_ARCHITECTURES", "OSX_DEPLOYMENT_TARGET"):
            settings[f"cmake.define.CMAKE_{name}"] = ""
        # zig crashes when it links a bundle. Python loads a library as well.
        linking = "set(CMAKE_SHARED_MODULE_CREATE_CXX_FLAGS -shared)"
    elif platform.startswith("musllinux"):
        # The name that Alpine has, and auditwheel expects.
        libc = f"libc.musl-{target.partition('-')[0]}.so.1"
        patch = f"{BIN}/patchelf --replace-needed libc.so {libc} <TARGET>"
        linking = f'list(APPEND CMAKE_CXX_CREATE_SHARED_MODULE "{patch}")'
    (BUILD / "linking.cmake").write_text(linking)
    settings["cmake.define.CMAKE_PROJECT_INCLUDE"] = BUILD / "linking.cmake"
    wheels = BUILD / "built"
    shutil.rmtree(wheels, ignore_errors=True)
    run(
        *(BIN / "python", "-m", "pip", "wheel", "--quiet", "--no-build-isolation", "--no-deps"),
        *(f"--config-settings={name}={value}" for name, value in settings.items()),
        *(f"--wheel-dir={wheels}", source),
        CXX=f"{BIN}/python-zig c++ -target {target}",
        SETUPTOOLS_EXT_SUFFIX=f".cpython-3{found[1]}{letter}-{suffix}.so",
        _PYTHON_HOST_PLATFORM=platform,
    )
    tags = f"--python-tag={python}", f"--abi-tag={python}{letter}"
    run(BIN / "wheel", "tags", "--remove", *tags, *wheels.iterdir())
    return next(wheels.iterdir())


# Prints the libraries that a program of macOS needs, and its processor and oldest system.
SHOW_MACHO = """
import sys
from macholib.MachO import MachO
from macholib.mach_o import CPU_TYPE_NAMES
for header in MachO(sys.argv[1]).headers:
    for load, command, data in header.commands:
        name = load.get_cmd_name()
        if name.endswith("_DYLIB") and name != "LC_ID_DYLIB":
            print(data.rstrip(b"\\0").decode())
        elif name == "LC_BUILD_VERSION":
            print(CPU_TYPE_NAMES[header.header.cputype].lower(), hex(command.minos))
"""


def check(wheel: Path, platform: str) -> None:
    """Exit if the wheel is too large, lacks a licence, or needs more than its platform has."""
    is_mac = platform.startswith("macosx")
    largest = LARGEST + (SYMBOLS_OF_MAC if is_mac else 0)
    if wheel.stat().st_size > largest:
        sys.exit(f"{wheel.name} has {wheel.stat().st_size:,} bytes, more than {largest:,}")
    end = f".{wheel.name.split('-')[3].replace('cp', 'cpython-')}-{PLATFORMS[platform][1]}.so"
    names = zipfile.ZipFile(wheel).namelist()
    if f"onnxmap/_core{end}" not in names:
        sys.exit(f"{wheel.name} has no extension for its Python, named {end}")
    for part in ("pybind11", *LINKED):
        if not any(name.endswith(f"licenses/LICENSES/{part}.txt") for name in names):
            sys.exit(f"{wheel.name} has no licence of {part}")
    if is_mac:
        extension = zipfile.ZipFile(wheel).extract(f"onnxmap/_core{end}", BUILD)
        shown = run(BIN / "python", "-c", SHOW_MACHO, extension)
        processor = platform.partition("_0_")[2]
        if sorted(shown.split("\n")) != ["", "/usr/lib/libSystem.B.dylib", f"{processor} 0xd0000"]:
            sys.exit(f"{wheel.name} is not for {platform}: {shown}")
        return
    shown = " ".join(run(BIN / "auditwheel", "show", wheel).split())
    if f'consistent with the following platform tag: "{platform}"' not in shown:
        sys.exit(f"{wheel.name} is not for {platform}: {shown}")
    if "GLIBCXX" in shown or "libstdc++" in shown:
        sys.exit(f"{wheel.name} needs a C++ library: {shown}")


def write_sbom(output: Path, project: dict) -> None:
    """Write what is compiled in and what is required, as CycloneDX, with the hash of each file."""
    pins = dict(line.split("==") for line in project["optional-dependencies"]["wheels"])
    inside = {"pybind11": "its headers", "ziglang": "LLVM's libc++, libc++abi and libunwind"}
    needed = [re.match(r"\w+", line)[0] for line in project["dependencies"]]
    files = sorted(output.glob(f"{project['name']}-*"))
    sums = {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in files}

    def library(name: str, version: str = "", **more: object) -> dict:
        purl = f"pkg:pypi/{name}" + (f"@{version}" if version else "")
        return {"type": "library", "name": name, "version": version, "purl": purl, **more}

    def file(name: str, sum: str) -> dict:
        return {"type": "file", "name": name, "hashes": [{"alg": "SHA-256", "content": sum}]}

    name, version = project["name"], project["version"]
    contents = [file(*item) for item in sums.items()]
    compiled = [library(part, pins[part], description=what) for part, what in inside.items()]
    document = {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "metadata": {"component": library(name, version, components=contents)},
        "components": compiled + [library(part) for part in needed],
    }
    (output / f"{name}-{version}.cdx.json").write_text(json.dumps(document, indent=1) + "\n")


def arguments(given: list[str] | None = None) -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description="Build wheels with zig.")
    parser.add_argument("--platforms", action="append", choices=PLATFORMS)
    parser.add_argument("--output", type=Path, default=ROOT / "dist")
    parser.add_argument("headers", nargs="*", type=Path)
    return parser.parse_args(given)


def main() -> None:
    """Build the wheels, the sdist and the SBOM into the output directory."""
    options = arguments()
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    output = options.output.resolve()
    output.mkdir(parents=True, exist_ok=True)
    for old in output.glob(f"{project['name']}-*"):
        if old.is_file():
            old.unlink()
    headers = [path.resolve() for path in options.headers] or headers_of_found_pythons(project)
    install_tools(project)
    source = source_of(output)
    headers = [copied(path) for path in headers]
    for platform in options.platforms or PLATFORMS:
        for directory in headers:
            wheel = build(source, platform, directory)
            check(wheel, platform)
            print(f"{wheel.name}: {wheel.stat().st_size:,} bytes", flush=True)
            shutil.move(wheel, output)
    files = sorted(output.glob(f"{project['name']}-*"))
    print(run(BIN / "twine", "check", "--strict", *files))
    write_sbom(output, project)


if __name__ == "__main__":
    main()
