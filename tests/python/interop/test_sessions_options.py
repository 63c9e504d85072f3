"""`Model.session()` with session options of the user."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from onnx import numpy_helper
from support.models.sample import write
from support.saves.models import matmul_model, weight

import onnxmap

onnxruntime = pytest.importorskip("onnxruntime")  # its newest release needs Python 3.11
from support.interop.session_models import (
    CPU,
    SIDE,
    external_model,
    inline_model,
    run,
    run_file,
    weights,
)

from onnxmap.interop import ort


def entry(options: Any, key: str) -> str | None:
    try:
        return str(options.get_session_config_entry(key))
    except RuntimeError:
        return None


def test_options_are_used_and_stay_what_they_are(tmp_path: Path) -> None:
    model = onnxmap.load(inline_model(tmp_path))
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.enable_profiling = True
    options.profile_file_prefix = str(tmp_path / "profile")
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    session = model.session(CPU, options, prepack=False)
    used = session.get_session_options()
    assert used.intra_op_num_threads == 1
    assert entry(used, "session.intra_op.allow_spinning") == "0"
    assert entry(used, "session.disable_prepacking") == "1"
    assert Path(session.end_profiling()).parent == tmp_path
    for key in "session.disable_prepacking", ort._FOLDER:
        assert entry(options, key) is None
    with pytest.raises(TypeError, match="SessionOptions"):
        model.session(CPU, {"threads": 1})


@pytest.mark.parametrize("make", [inline_model, external_model])
@pytest.mark.parametrize("name", ["optimized.onnx", "optimized.ort", "optimized.ORT", "optimized"])
def test_an_optimized_model_has_no_references_to_files(
    make: Any, name: str, tmp_path: Path
) -> None:
    """It is in the format of onnxruntime, or has all values, or needs the name of a data file."""
    path, optimized = make(tmp_path), tmp_path / "optimized" / name
    optimized.parent.mkdir()
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3  # without the warning that such a model depends on the machine
    options.optimized_model_filepath = str(optimized)
    if not name.lower().endswith(".ort"):
        with pytest.raises(ValueError, match="data file"):
            onnxmap.load(path).session(CPU, options)
        options.add_session_config_entry(ort._OPTIMIZED_DATA, "optimized.data")
    onnxmap.load(path).session(CPU, options)
    expected = run_file(path)
    path.unlink()
    assert run_file(optimized) == expected


def test_an_optimized_model_of_small_tensors(tmp_path: Path) -> None:
    """Nothing of it is external, so it needs no data file."""
    path = write(matmul_model([weight("w", SIDE, 50)]), tmp_path / "model.onnx")
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    options.optimized_model_filepath = str(tmp_path / "optimized.onnx")
    onnxmap.load(path).session(CPU, options)
    assert run_file(tmp_path / "optimized.onnx") == run_file(path)


@pytest.mark.parametrize(("form", "is_ort"), [("ORT", True), ("ONNX", False)])
def test_the_format_of_an_optimized_model_wins_over_its_name(
    form: str, is_ort: bool, tmp_path: Path
) -> None:
    optimized = tmp_path / ("optimized.onnx" if is_ort else "optimized.ort")
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    options.optimized_model_filepath = str(optimized)
    options.add_session_config_entry("session.save_model_format", form)
    model = onnxmap.load(inline_model(tmp_path))
    if is_ort:
        model.session(CPU, options)
        assert optimized.read_bytes()[4:8] == b"ORTM"
    else:
        with pytest.raises(ValueError, match="data file"):
            model.session(CPU, options)


@pytest.fixture
def values() -> dict[str, Any]:
    """Values for weights, which must live as long as the options that refer to them."""
    arrays = {one.name: numpy_helper.to_array(one).copy() for one in weights()}
    made = onnxruntime.OrtValue.ortvalue_from_numpy
    return {name: made(array) for name, array in arrays.items()}


@pytest.mark.parametrize("is_buffer", [False, True])
def test_values_in_the_options_need_no_data_file(
    is_buffer: bool, tmp_path: Path, values: dict[str, Any]
) -> None:
    path = external_model(tmp_path)
    expected = run_file(path)
    (tmp_path / "sub/w.data").unlink()
    model = onnxmap.loads(path.read_bytes()) if is_buffer else onnxmap.load(path)
    options = onnxruntime.SessionOptions()
    options.add_external_initializers([*values], [*values.values()])
    assert run(onnxruntime.InferenceSession(str(path), options, providers=CPU)) == expected
    assert run(model.session(CPU, options)) == expected


def test_values_in_the_options_win_over_those_of_a_file(
    tmp_path: Path, values: dict[str, Any]
) -> None:
    path = external_model(tmp_path)
    options = onnxruntime.SessionOptions()
    options.add_external_initializers(["w0"], [values["w1"]])
    found = run(onnxmap.load(path).session(CPU, options))
    assert found == run(onnxruntime.InferenceSession(str(path), options, providers=CPU))
    assert found != run_file(path)


@pytest.mark.parametrize("is_buffer", [False, True])
@pytest.mark.parametrize("has_file", [False, True])
def test_data_files_in_the_options(has_file: bool, is_buffer: bool, tmp_path: Path) -> None:
    """They are named as the model names them, and win over those beside it."""
    path = external_model(tmp_path)
    data = tmp_path / "sub/w.data"
    expected, given = run_file(path), data.read_bytes()
    data.write_bytes(bytes(len(given)))
    if not has_file:
        data.unlink()

    def opened() -> onnxmap.Model:
        return onnxmap.loads(path.read_bytes()) if is_buffer else onnxmap.load(path)

    options = onnxruntime.SessionOptions()
    options.add_external_initializers_from_files_in_memory(["sub/w.data"], [given], [len(given)])
    assert run(onnxruntime.InferenceSession(str(path), options, providers=CPU)) == expected
    assert run(opened().session(CPU, options)) == expected
    model = opened()
    model.graph.nodes[-1].name = "renamed"
    assert run(model.session(CPU, options, outputs=["w0"]))[:1] == expected
    options = onnxruntime.SessionOptions()
    options.add_external_initializers_from_files_in_memory(["other"], [given], [len(given)])
    with pytest.raises(onnxmap.OnnxMapError):
        opened().session(CPU, options)


def test_options_in_the_place_of_providers(tmp_path: Path) -> None:
    """onnxruntime takes them first."""
    model = onnxmap.load(inline_model(tmp_path))
    with pytest.raises(TypeError, match=r"session\(sess_options=options\)"):
        model.session(onnxruntime.SessionOptions())  # type: ignore[arg-type]


def test_an_absent_file_with_other_values(tmp_path: Path, values: dict[str, Any]) -> None:
    """The error is that of reading the tensor, as without options."""
    path = external_model(tmp_path)
    (tmp_path / "sub/w.data").unlink()
    options = onnxruntime.SessionOptions()
    options.add_external_initializers(["w0"], [values["w0"]])
    for given in None, onnxruntime.SessionOptions(), options:
        with pytest.raises(onnxmap.MissingDataError, match=r"w\.data"):
            onnxmap.load(path).session(CPU, given)
        with pytest.raises(onnxmap.ExternalDataError) as caught:
            onnxmap.loads(path.read_bytes()).session(CPU, given)
        assert caught.value.code == "ext.no_root"
