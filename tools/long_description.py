"""The long description of a package index: README.md, whose links work outside of the repository.

scikit-build-core calls this for each sdist and wheel. The address is `project.urls.Repository` of
pyproject.toml, and the links lead to the files of the release's tag.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
# A picture or a link to a file of the repository.
RELATIVE = re.compile(r"(!?\[[^\]]*\]\()(?!https?:|#)")


def dynamic_metadata(settings: Mapping[str, Any], project: Mapping[str, Any]) -> dict[str, Any]:
    """Return the field `readme`."""
    repository, tag = project["urls"]["Repository"], f"v{project['version']}"

    def absolute(start: re.Match[str]) -> str:
        kind = "raw" if start[1].startswith("!") else "blob"
        return f"{start[1]}{repository}/{kind}/{tag}/"

    text = RELATIVE.sub(absolute, (ROOT / "README.md").read_text(encoding="utf-8"))
    return {"readme": {"content-type": "text/markdown", "text": text}}
