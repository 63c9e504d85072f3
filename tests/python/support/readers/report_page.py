"""The page that `Model.report` writes: its elements, its tables, and what a browser makes of it."""

from __future__ import annotations

import html
import html.parser
import json
import re
import shutil
import subprocess
from collections import Counter
from pathlib import Path
from typing import Any

import onnxmap

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
VOID = {"meta", "br", "input", "wbr"}


class Page(html.parser.HTMLParser):
    """The elements of a page with their attributes, and the text of each section."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.text = text
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []
        self.section = ""
        self.texts: dict[str, str] = {}
        self.scripts: list[str] = []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag == "section":
            self.section = str(dict(attrs)["id"])
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag
        if tag == "section":
            self.section = ""

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] == "script":
            self.scripts.append(data)
        elif self.open and self.open[-1] != "style":
            self.texts[self.section] = self.texts.get(self.section, "") + data

    def count(self) -> Counter[str]:
        return Counter(tag for tag, _ in self.elements)

    def of_class(self, name: str) -> list[dict[str, Any]]:
        return [attrs for _, attrs in self.elements if name in (attrs.get("class") or "").split()]

    @property
    def tables(self) -> list[list[list[Any]]]:
        """The rows of the tensors, and those of the nodes."""
        return [json.loads(script) for script in self.scripts[:2]]

    @property
    def rows(self) -> list[list[Any]]:
        return self.tables[0]


def page_of(model: onnxmap.Model, folder: Path, other: onnxmap.Model | None = None) -> Page:
    model.report(folder / "report.html", other)
    return Page((folder / "report.html").read_text(encoding="utf-8"))


def dom_of(page: Path) -> Page:
    assert CHROMIUM is not None
    ran = subprocess.run(
        [CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu", "--dump-dom", str(page)],
        capture_output=True, text=True, check=True, timeout=120,
    )  # fmt: skip
    return Page(ran.stdout)


def used(page: Page, folder: Path, script: str, width: int = 1280) -> Any:
    """What a script in the page returns: a copy of it without its policy, in a frame, runs it."""
    text = re.sub("<meta http-equiv.*?>", "", page.text)
    text += f"<script>const found = JSON.stringify((() => {{ {script} }})());"
    text += "document.body.textContent = found;</script>"
    frame = f'<iframe style="border:0;width:{width}px;height:900px" srcdoc="{html.escape(text)}">'
    copying = "document.body.textContent = document.querySelector('iframe').contentDocument"
    (folder / "used.html").write_text(
        f"<body>{frame}</iframe><script>onload = () => {{ {copying}.body.textContent; }};</script>",
        encoding="utf-8",
    )
    found = re.search(r"<body>(.*)</body>", dom_of(folder / "used.html").text, re.DOTALL)
    assert found is not None
    return json.loads(html.unescape(found[1]))
