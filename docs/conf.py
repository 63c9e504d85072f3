"""The documentation site: `make docs` builds it into build/docs.

The source directory is the whole repository, so a link in a page leads to the same file here and on
a forge. Pages are plain Markdown; links to anything that is not a page become downloads.
"""

from __future__ import annotations

import re
import sys
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sphinx.application import Sphinx

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "docs"))

with (ROOT / "pyproject.toml").open("rb") as file:
    _project = tomllib.load(file)["project"]

project = "onnxmap"
author = copyright = "The onnxmap developers"
version = release = _project["version"]
language = "en"

extensions = [
    "myst_parser",
    "sphinx_copybutton",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "api_reference",
]
root_doc = "docs/index"
include_patterns = [
    "docs/**", "README.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md",
    "bench/README.md", "tests/README.md",
]  # fmt: skip
exclude_patterns = ["build", ".venv", ".git", "tests/corpus"]  # not even walked through

myst_enable_extensions = ["attrs_block"]
myst_heading_anchors = 4
myst_links_external_new_tab = False
highlight_language = "text"

default_role = "code"  # docstrings have single backticks
autodoc_member_order = "bysource"
autodoc_default_options = {"undoc-members": True}
autodoc_typehints_format = "short"
autodoc_type_aliases = {"ElementType": "ElementType"}  # docs/reference/index.md says what it is
maximum_signature_line_length = 88
python_use_unqualified_type_names = True
toc_object_entries_show_parents = "hide"
napoleon_numpy_docstring = False
nitpick_ignore_regex = [
    (r"py:.*", r"(?!onnxmap\b).*"),  # names of other packages: the site is built without a network
    (r"py:.*", r"onnxmap\.(_.*|ExternalFile)"),  # private names in annotations
]

html_theme = "furo"
pygments_dark_style = "github-dark"
html_css_files = ["wide.css"]
html_js_files = [("tables.js", {"defer": "defer"})]
html_favicon = "_static/icon.svg"
html_title = f"onnxmap {version}"
html_static_path = ["_static"]
html_extra_path = ["_root"]  # the first page of the site leads to docs/index.html
html_copy_source = False
html_show_sphinx = False
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True
copybutton_exclude = ".linenos, .gp, .go"


def setup(app: Sphinx) -> None:
    """Take out the empty line that ends a block of doctest, which pages show as space."""
    app.connect("source-read", lambda _, name, lines: lines.insert(0, _tight(lines.pop())))


def _tight(text: str) -> str:
    return re.sub(r"(?ms)^(```pycon\n.*?)\n\n```$", r"\1\n```", text)
