"""The packages that URLs need: imported at the first URL; the error names a missing one."""

from __future__ import annotations

import pytest
from support.processes.subprocesses import facts_from

# A child that cannot import some packages tries to load a model, and reports the result.
CHILD = """
class Blocked:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in sys.argv[2:]:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Blocked())
import onnxmap
try:
    onnxmap.load(sys.argv[1])
except ImportError as error:
    report(message=str(error), name=error.name)
"""


@pytest.mark.parametrize(
    ("url", "package", "advice"),
    [
        ("https://127.0.0.1:9/m.onnx", "fsspec", "pip install 'onnxmap[remote]'"),
        ("memory://m.onnx", "fsspec", "pip install 'onnxmap[remote]'"),
        ("https://127.0.0.1:9/m.onnx", "aiohttp", "pip install 'onnxmap[remote]'"),
        ("s3://bucket/m.onnx", "s3fs", "pip install 'onnxmap[remote]' s3fs"),
    ],
)
def test_a_missing_package_is_named(url: str, package: str, advice: str) -> None:
    pytest.importorskip("fsspec")
    facts = facts_from(CHILD, url, package)
    assert advice in facts["message"]
    assert package in facts["message"]
    assert facts["name"] == package


def test_without_a_url_none_is_imported(tmp_path: object) -> None:
    facts = facts_from(
        """
        import onnxmap
        try:
            onnxmap.load("none.onnx")
        except FileNotFoundError:
            pass
        remote = ("fsspec", "aiohttp", "asyncio", "onnxmap._remote.")
        found = [name for name in sys.modules if name.startswith(remote)]
        report(found=found)
        """
    )
    assert facts["found"] == []
