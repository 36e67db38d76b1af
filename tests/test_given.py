"""Every public function that takes a model, given everything that a user may have in hand.

Each works, or refuses in one sentence that begins with its name and says what it takes.
"""

from __future__ import annotations

import functools
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnx_ir as ir
import openvino as ov
import pytest
from cases import table
from foreign import parse
from onnxruntime.capi import onnxruntime_pybind11_state as ort_state
from openvino import opset8
from runtimes import compiled

import onnx_philox
from onnx_philox import Pipeline, RefusedInputError, make_reproducible, rewriting

MODEL = parse("g () => (float[3] noise) { noise = RandomNormal <shape = [3]> () }", opset=18)
ONNX = {"a file", "a Path", "bytes", "a proto", "an onnx-ir model"}
ANY = ONNX | {"an IR", "a model of OpenVINO"}
LOADED = {"a session", "a compiled model"}
MISSING = {"a file that is missing", "a folder"}
"""The system's own errors say what is wrong with the path."""


def _openvino_model() -> ov.Model:
    shape = opset8.constant(np.array([3], np.int64))
    low, high = (opset8.constant(np.float32(value)) for value in (0, 1))
    return ov.Model([opset8.random_uniform(shape, low, high, "f32", 7, 9).output(0)], [], "g")


@functools.cache
def _compiled() -> ov.CompiledModel:
    return compiled(make_reproducible(_openvino_model()))


KINDS: Mapping[str, Callable[[], Any]] = {
    "a file": lambda: "model.onnx",
    "a Path": lambda: Path("model.onnx"),
    "bytes": MODEL.SerializeToString,
    "a proto": lambda: MODEL,
    "an onnx-ir model": lambda: ir.from_proto(MODEL),
    "an IR": lambda: "model.xml",
    "a model of OpenVINO": _openvino_model,
    "a session": lambda: onnx_philox.onnxruntime.InferenceSession(make_reproducible(MODEL)),
    "a compiled model": _compiled,
    "nothing": lambda: None,
    "a number": lambda: 3,
    "a list": lambda: [MODEL],
    "a graph": lambda: MODEL.graph,
    "a bytearray": lambda: bytearray(MODEL.SerializeToString()),
    "no path": lambda: "",
    "a path with a zero byte": lambda: "model\0.onnx",
    "no bytes": lambda: b"",
    "bytes of no model": lambda: b"hello",
    "a file that is missing": lambda: "missing.onnx",
    "a file of no model": lambda: "bad.onnx",
    "an IR that is none": lambda: "bad.xml",
    "a folder": lambda: "folder",
}

_REWRITING = "onnx_philox.rewriting"
DOORS: Mapping[str, tuple[Callable[[Any], Any], set[str]]] = {
    "onnx_philox.make_reproducible": (make_reproducible, ANY),
    f"{_REWRITING}.find_random_nodes": (rewriting.find_random_nodes, ANY),
    f"{_REWRITING}.rewrite": (rewriting.rewrite, {"an onnx-ir model"}),
    f"{_REWRITING}.rewrite_file": (
        lambda model: rewriting.rewrite_file(model, f"new{Path(str(model)).suffix}"),
        {"a file", "a Path", "an IR"},
    ),
    "onnx_philox.to_standard_nodes": (onnx_philox.to_standard_nodes, ONNX),
    f"{_REWRITING}.to_standard_file": (
        lambda model: rewriting.to_standard_file(model, "new.onnx"),
        {"a file", "a Path"},
    ),
    "Pipeline": (lambda model: Pipeline(model, runtime="openvino"), ANY),
    "Pipeline in ONNX Runtime": (Pipeline, ONNX | {"a session"}),
    "Pipeline of a compiled model": (
        lambda model: Pipeline(_compiled(), source=_rewritten(model)),
        {"an IR", "a model of OpenVINO"},
    ),
    "openvino.make_stateful": (
        lambda model: onnx_philox.openvino.make_stateful(_rewritten(model)),
        {"a model of OpenVINO"},
    ),
}


def _rewritten(model: Any) -> Any:
    """What such a function is given after a rewrite, in the same form."""
    if isinstance(model, ov.Model):
        return make_reproducible(model)
    if model == "model.xml":
        rewriting.rewrite_file(model, "rewritten.xml")
        return "rewritten.xml"
    return model


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    onnx.save(MODEL, "model.onnx")
    ov.save_model(_openvino_model(), "model.xml", compress_to_fp16=False)
    for name in ("bad.onnx", "bad.xml"):
        Path(name).write_bytes(b"hello")
    Path("folder").mkdir()


def check(door: str, call: Callable[[Any], Any], taken: set[str], kind: str) -> None:
    """That a function takes a thing of this kind, or refuses it as this page says."""
    given = KINDS[kind]()
    if kind in taken:
        call(given)
        return
    with pytest.raises((RefusedInputError, OSError)) as raised:
        call(given)
    text = str(raised.value)
    if isinstance(raised.value, OSError):
        assert kind in MISSING
        assert raised.value.filename == given
        return
    assert text.startswith(f"{door.partition(' ')[0]}: ")
    assert " must be " in text
    assert ": got " in text
    assert text.endswith(".")


@pytest.mark.usefixtures("files")
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("door", DOORS)
def test_each_function_takes_a_model_or_says_in_its_own_name_what_it_takes(
    door: str, kind: str
) -> None:
    check(door, *DOORS[door], kind)


@pytest.mark.usefixtures("files")
@pytest.mark.parametrize("backend", ["native", "python"])
@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind not in MISSING])
def test_a_session_says_in_our_words_what_it_takes(kind: str, backend: str) -> None:
    door = "onnx_philox.onnxruntime.InferenceSession"
    session = functools.partial(onnx_philox.onnxruntime.InferenceSession, backend=backend)
    check(door, session, ONNX - {"an onnx-ir model"}, kind)
    if kind in {"a file of no model", "an IR that is none", "bytes of no model"}:
        with pytest.raises(ort_state.InvalidProtobuf):
            session(KINDS[kind]())


@pytest.mark.parametrize("device", ["CPU", "GPU"])
@pytest.mark.parametrize("kind", ["nothing", "a number", "bytes", "a proto", "an onnx-ir model"])
def test_what_openvino_cannot_compile_is_refused_by_its_type(kind: str, device: str) -> None:
    given = KINDS[kind]()
    core = onnx_philox.openvino.register(ov.Core())
    with pytest.raises(TypeError) as raised:
        onnx_philox.openvino.compile_model(core, given, device)
    assert str(raised.value) == (
        "openvino.compile_model: the model must be an openvino.Model or a path: got "
        f"{type(given).__name__}. Pass what core.read_model returns; it takes bytes, too."
    )


@pytest.mark.usefixtures("files")
def test_a_refusal_of_the_source_of_a_session_says_that_it_is_the_source() -> None:
    session = KINDS["a session"]()
    for loaded, original in [
        (session, "model.onnx"),
        (session, MODEL),
        (_compiled(), "model.xml"),
        (_compiled(), _openvino_model()),
    ]:
        with pytest.raises(RefusedInputError) as raised:
            Pipeline(loaded, source=original)
        assert str(raised.value) == (
            "Pipeline: source must be one with random nodes, rewritten without a seed: got one "
            "without a state as an input and the next as an output. Pass the rewritten model, "
            "which the runtime was given, and not the original."
        )
    with pytest.raises(RefusedInputError, match=r"^Pipeline: source must be the bytes of"):
        Pipeline(session, source=b"hello")


TARGETS = table(r"""
None -> a path: got NoneType. Pass a path.
b"new.onnx" -> a path: got bytes. Pass a path.
MODEL -> a path: got ModelProto. Pass a path.
"folder" -> a file: got 'folder', a folder. Name a file in it.
"" -> the path of a file: got ''. Choose such a name.
"a\0b.onnx" -> the path of a file: got 'a\x00b.onnx'. Choose such a name.
"new\udcff.onnx" -> UTF-8, since the runtimes open no other paths: got 'new\udcff.onnx'. Choose
-> another name.
"new.xml" -> a name that does not end in .xml, since the model is written as ONNX: got 'new.xml'.
-> Choose such a name; OpenVINO reads ONNX files, too.
""")


@pytest.mark.usefixtures("files")
@pytest.mark.parametrize("door", ["rewrite_file", "to_standard_file"])
@pytest.mark.parametrize(("target", "words"), TARGETS)
def test_a_target_that_is_no_such_file_is_refused(door: str, target: str, words: str) -> None:
    with pytest.raises(RefusedInputError) as raised:
        getattr(rewriting, door)("model.onnx", eval(target))
    if ".xml" in target and door == "rewrite_file":
        words += " The command 'onnx-philox rewrite model.onnx -o model.xml' writes an IR."
    assert str(raised.value) == f"{_REWRITING}.{door}: the output must be {words}"
    assert sorted(os.listdir()) == sorted(
        ["model.onnx", "model.xml", "model.bin", "bad.onnx", "bad.xml", "folder"]
    )


def _of_a_newer_opset() -> onnx.ModelProto:
    model = onnx.ModelProto()
    model.CopyFrom(make_reproducible(MODEL))
    (ours,) = (entry for entry in model.opset_import if entry.domain)
    ours.version = 9
    return model


NAMED = table("""
Pipeline(_of_a_newer_opset()) -> Pipeline
Pipeline(_of_a_newer_opset(), runtime="openvino") -> Pipeline
Pipeline(MODEL, per_row="noise") -> Pipeline
Pipeline(MODEL, keep_seeds=True, alignment="pytorch") -> Pipeline
Pipeline(MODEL, alignment="numpy") -> Pipeline
Pipeline(MODEL, backend="fortran") -> Pipeline
Pipeline(MODEL, runtime="openvino", backend="fortran") -> Pipeline
Pipeline("model.xml", runtime="openvino", alignment="pytorch") -> Pipeline
rewriting.rewrite(ir.from_proto(MODEL), seed=-1) -> rewrite
rewriting.rewrite_file("model.onnx", "new.onnx", seed=-1) -> rewrite_file
rewriting.to_standard_file("model.onnx", "new.onnx", seed=-1) -> to_standard_file
rewriting.to_standard_file("model.onnx", "new.onnx", target="coreml") -> to_standard_file
""")


@pytest.mark.usefixtures("files")
@pytest.mark.parametrize(("call", "name"), NAMED)
def test_a_refusal_names_the_function_that_was_called(call: str, name: str) -> None:
    with pytest.raises(
        RefusedInputError, match=rf"^(onnx_philox.rewriting.)?{name}: [^:]*must be "
    ):
        eval(call)
