"""What a package index gets: the long description, and the licences of what is linked."""

from __future__ import annotations

import re
import runpy
import tomllib
from importlib.metadata import PackageNotFoundError, files
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[3]
SETTINGS: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text())
PROJECT: dict[str, Any] = SETTINGS["project"]


def test_links_of_the_long_description_lead_to_files_of_the_release() -> None:
    make = runpy.run_path(str(ROOT / "tools/long_description.py"))["dynamic_metadata"]
    made = make({}, PROJECT)["readme"]
    assert made["content-type"] == "text/markdown"
    links = re.findall(r"(!?)\[[^\]]*\]\((.*?)(#.*?)?\)", made["text"])
    assert len(links) > 20
    for picture, address, _ in links:
        kind = "raw" if picture else "blob"
        start = f"{PROJECT['urls']['Repository']}/{kind}/v{PROJECT['version']}/"
        assert address.startswith(start)
        assert (ROOT / address.removeprefix(start)).is_file()


def test_the_rest_of_the_long_description_is_readme() -> None:
    make = runpy.run_path(str(ROOT / "tools/long_description.py"))["dynamic_metadata"]
    urls = {"Repository": "https://example.invalid/x"}
    text = make({}, {"urls": urls, "version": "1"})["readme"]["text"]
    text = re.sub(r"https://example.invalid/x/(raw|blob)/v1/", "", text)
    assert text == (ROOT / "README.md").read_text()


def test_all_addresses_are_below_that_of_the_repository() -> None:
    repository = PROJECT["urls"]["Repository"]
    for address in PROJECT["urls"].values():
        assert address.startswith(repository)
        _, _, path = address.partition("/blob/main/")
        assert (ROOT / path).exists()


def test_the_sdist_has_what_its_pages_link_to() -> None:
    left_out = [
        ROOT / name.strip("/") for name in SETTINGS["tool"]["scikit-build"]["sdist"]["exclude"]
    ]
    for page in [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]:
        for link in re.findall(r"\]\(([^):#]+)[)#]", page.read_text()):
            target = (page.parent / link).resolve()
            assert not any(target.is_relative_to(folder) for folder in left_out), page


def test_the_licence_of_pybind11_is_its_own() -> None:
    try:
        (own,) = [file for file in files("pybind11") or () if file.name == "LICENSE"]
    except PackageNotFoundError:
        pytest.skip("needs pybind11")
    assert (ROOT / "LICENSES/pybind11.txt").read_text() == own.read_text()
    assert "LICENSES/*" in PROJECT["license-files"]


@pytest.mark.parametrize("platforms", [["musllinux_1_2_x86_64"], ["macosx_13_0_arm64"] * 2])
def test_headers_may_follow_the_platforms_of_wheels(platforms: list[str]) -> None:
    arguments = runpy.run_path(str(ROOT / "tools/build_wheels.py"))["arguments"]
    given = [word for platform in platforms for word in ("--platforms", platform)]
    options = arguments([*given, "/usr/include/python3.14"])
    assert options.platforms == platforms
    assert options.headers == [Path("/usr/include/python3.14")]
