"""Refusals are objects: they have parts, they pickle, and nobody edits their text."""

from __future__ import annotations

import ast
import copy
import os
import pickle
import re
from collections.abc import Callable, Iterator, Mapping
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnx_ir as ir
import openvino as ov
import pytest
from onnxruntime.capi import onnxruntime_pybind11_state as ort_state
from openvino import opset8

import onnx_philox
from onnx_philox import (
    PhiloxState,
    Pipeline,
    RefusedInputError,
    graphs,
    make_reproducible,
    reference,
    rewriting,
)
from onnx_philox._contract import sentences
from onnx_philox._contract.refusal import RefusalError, TypeRefusalError
from onnx_philox._rewriting.found import MayStayError
from onnx_philox._torch import torch_sentences as torch_says
from tests.common.cases import assert_refused, warned
from tests.common.foreign import parse
from tests.common.runtimes import compiled

UNKNOWN = parse("g (float[4] x) => (float[4] y) { y = com.microsoft.RandomThing(x) }")

# A call, and the parts of what it raises.
REFUSED = [
    (
        lambda: PhiloxState(counter=-1),
        "PhiloxState | counter | -1 | an integer from 0 to 2^128-1 | Pass an int in that range.",
    ),
    (
        lambda: PhiloxState.from_seed(1.5),
        "TypeError: PhiloxState.from_seed | seed | 1.5 | an integer from 0 to 2^64-1 | Pass "
        "an int in that range.",
    ),
    (
        lambda: PhiloxState.from_array(np.zeros(6, np.int64)),
        "TypeError: PhiloxState.from_array | the array | int64 | uint32 | Pass "
        "PhiloxState(...).to_array().",
    ),
    (
        lambda: PhiloxState().__array__(copy=False),
        "PhiloxState | copy | False | None or True, since a state holds no array to share | "
        "Leave it out.",
    ),
    (
        lambda: reference.random_uniform([2], 0, float("nan"), "f32", op_seed=1),
        "RandomUniform | input 'maxval' | nan | a finite number | Pass a finite bound.",
    ),
    (
        lambda: reference.random_bernoulli([2], [0.1, 0.2]),
        "TypeError: RandomBernoulli | input 'p' | [0.1, 0.2] | a number, or an array of f32 "
        "or f64 | Pass np.array(..., np.float32).",
    ),
    (
        lambda: graphs.random_uniform([2], 0, 1, "f8"),
        "RandomUniform | attribute 'output_type' | 'f8' | 'i32', 'i64', 'f16', 'bf16', 'f32' "
        "or 'f64' | Set it to one of these.",
    ),
    (
        lambda: onnx_philox.openvino.register(ov.Core(), backend="fortran"),
        "onnx_philox.openvino | backend | 'fortran' | one of 'auto', 'native', 'python' | "
        "Choose one of these, or install an onnx-philox that has it.",
    ),
    (
        lambda: onnx_philox._versions.check_version("openvino", "2024.6"),
        "ImportError: onnx_philox.openvino | OpenVINO | 2024.6 | 2025.4 or newer | Upgrade "
        "it: pip install --upgrade 'onnx-philox[openvino]'.",
    ),
    (
        lambda: onnx_philox.onnxruntime.InferenceSession(5),
        "TypeError: onnx_philox.onnxruntime.InferenceSession | model | int | a path, bytes "
        "or an onnx.ModelProto | Pass one of these.",
    ),
    (
        lambda: onnx_philox.rewriting.rewrite_file(b"a", "new.onnx"),
        "TypeError: onnx_philox.rewriting.rewrite_file | the model | bytes | a path | Save "
        "the model, and pass the path.",
    ),
    (
        lambda: onnx_philox.onnxruntime.register("options"),
        "TypeError: onnx_philox.onnxruntime.register | sess_options | 'options' | "
        "onnxruntime.SessionOptions | Pass the options that the session will be made with.",
    ),
    (
        lambda: onnx_philox.make_reproducible(UNKNOWN, seed=-1),
        "onnx_philox.make_reproducible | seed | -1 | an integer from 0 to 2^63-1, or left "
        "out | Choose another seed.",
    ),
]
ERRORS = {"TypeError": TypeError, "ImportError": ImportError}


def refused(call: Callable[[], Any]) -> RefusalError:
    with pytest.raises(RefusalError) as raised:
        call()
    return raised.value


@pytest.mark.parametrize(("call", "said"), REFUSED)
def test_a_refusal_has_its_parts_and_its_text_is_their_sentence(
    call: Callable[[], Any], said: str
) -> None:
    kind, _, rest = said.partition(": ")
    parts = tuple((rest if kind in ERRORS else said).split(" | "))
    error = refused(call)
    assert isinstance(error, ERRORS.get(kind, ValueError))
    assert error.parts == parts
    assert (error.operator, error.what, error.given, error.allowed, error.remedy) == parts
    operator, subject, given, allowed, remedy = parts
    expected = f"{operator}: {subject} must be {allowed}: got {given}. {remedy}"
    assert str(error) == expected
    assert error.args == (str(error),)


def rewrite_of_an_unknown_node() -> None:
    make_reproducible(UNKNOWN)


@pytest.mark.parametrize("call", [rewrite_of_an_unknown_node, *(call for call, _ in REFUSED)])
def test_a_refusal_pickles_copies_and_says_its_place_first(call: Callable[[], Any]) -> None:
    error = refused(call)
    error.add_note("seen here")
    for same in (copy.copy(error), copy.deepcopy(error), pickle.loads(pickle.dumps(error))):
        assert same is not error
        assert type(same) is type(error)
        expected = (error.parts, str(error), error.args)
        assert (same.parts, str(same), same.args) == expected
        assert same.__notes__ == ["seen here"]
    within = error.within("RandomUniform 'noise' (main graph)")
    assert type(within) is type(error)
    assert str(within) == f"RandomUniform 'noise' (main graph): {error}"
    # One class catches both: RefusedInputError, which is a ValueError.
    assert isinstance(error, RefusedInputError) is not isinstance(error, ImportError)
    assert issubclass(RefusedInputError, ValueError)
    assert isinstance(error, TypeError) is (type(error) is TypeRefusalError)


def test_a_node_that_may_stay_offers_it_under_the_name_that_the_reader_knows() -> None:
    error = refused(rewrite_of_an_unknown_node)
    assert isinstance(error, MayStayError)
    assert error.remedy.endswith(", or leave the node as it is with keep_unknown.")
    command = error.offering("--keep-unknown")
    assert command.remedy.endswith(", or leave the node as it is with --keep-unknown.")
    assert command.offering("keep_unknown").parts == error.parts
    (said,) = warned(lambda: onnx_philox.make_reproducible(UNKNOWN, keep_unknown=True))
    assert said == f"left as it is: {error.offering('')}"
    assert said.endswith("Export the model with one of these.")


SOURCES = Path(onnx_philox.__file__).parent
TAKES_TEXTS_APART = {"_runtime_errors.py"}
EDITS = set(dir(str)) - {"join"}


Trees = dict[Path, ast.Module]


@pytest.fixture(scope="module")
def trees() -> Trees:
    """All sources, parsed. Kept until the end, they would slow each later collection of garbage."""
    return {f.relative_to(SOURCES): ast.parse(f.read_text()) for f in SOURCES.rglob("*.py")}


def edits(tree: ast.AST) -> Iterator[int]:
    """The lines in which a method of str is called on the text of an error, or on an edit of it."""
    errors = {h.name for h in ast.walk(tree) if isinstance(h, ast.ExceptHandler)} | {"error"}
    functions = [f for f in ast.walk(tree) if isinstance(f, ast.FunctionDef)]
    for function in functions:
        texts = {"problem"}
        nodes = list(ast.walk(function))
        for node in nodes:
            if isinstance(node, ast.Assign) and is_text(node.value, errors, texts):
                texts |= {t.id for t in node.targets if isinstance(t, ast.Name)}
        for node in nodes:
            match node:
                case ast.Call(func=ast.Attribute(attr=edit, value=it)) if edit in EDITS:
                    if is_text(it, errors, texts):
                        yield node.lineno


def is_text(
    node: ast.AST,
    errors: set[str | None],
    texts: set[str],
) -> bool:
    """Whether it is `str(error)`, `str(it.error)`, or a variable that holds such a text."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "str":
        return any(name_of(argument) in errors for argument in node.args)
    return isinstance(node, ast.Name) and node.id in texts


def name_of(node: ast.AST) -> str:
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else ""


def test_nobody_edits_the_text_of_an_error_and_an_edit_would_be_found(trees: Trees) -> None:
    found = [
        f"{file}:{line}"
        for file, tree in trees.items()
        if file.name not in TAKES_TEXTS_APART
        for line in edits(tree)
    ]
    assert not found, found
    for edit in (
        "str(error).removeprefix('x: ')",
        "str(site.error).replace('a', 'b')",
        "text.partition(': ')",
        "problem.replace('a', 'b')",
    ):
        code = f"def f(site, error, problem):\n    text = str(error)\n    {edit}\n"
        assert list(edits(ast.parse(code))) == [3], edit


FORM = "{what} must be {allowed}: got {given}. {remedy}"
NATIVE = Path(__file__).parents[2] / "custom_ops"
RAISES_A_SENTENCE = {"ArgumentError", "SelectionError", "BadParameter", "NotImplemented", "fail"}
# What cannot follow "must be" or "got".
NO_RULE = re.compile(r"(is|are|be|must|may|has|have|allowed|required|missing|unknown|no)\b")
NO_FINDING = re.compile(r"(is|are|be|must|may|has|have|got|of|in|at|given|missing|unknown|not)\b")


def literal(
    node: ast.AST,
    names: dict[str, ast.AST],
) -> str:
    """The beginning of a text in a program; empty where it begins with a value."""
    match node:
        case ast.Name(id=name):
            return literal(names[name], {}) if name in names else ""
        case ast.Attribute(attr=name):
            return str(getattr(torch_says, name, getattr(sentences, name, "")))
        case ast.JoinedStr(values=[first, *_]) | ast.BinOp(left=first):
            return literal(first, names)
        case ast.Constant(value=str(text)):
            return text
    return ""


def written(node: ast.AST) -> str:
    """A text in a program, with {} for each value."""
    parts = node.values if isinstance(node, ast.JoinedStr) else [node]
    return "".join(str(p.value) if isinstance(p, ast.Constant) else "{}" for p in parts)


def assigned(function: ast.AST) -> dict[str, ast.AST]:
    """What the last assignments in a function give to its names."""
    names: dict[str, ast.AST] = {}
    for node in ast.walk(function):
        if isinstance(node, ast.Assign):
            (target,), value = node.targets[:1], node.value
            both = isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple)
            pairs = zip(target.elts, value.elts, strict=False) if both else [(target, value)]
            names |= {t.id: v for t, v in pairs if isinstance(t, ast.Name)}
    return names


def parts_of_refusals(tree: ast.Module) -> Iterator[tuple[int, str, str]]:
    """The line of each refusal in a program, and how its `given` and `allowed` begin."""
    for function in ast.walk(tree):
        if not isinstance(function, ast.FunctionDef):
            continue
        names = assigned(function)
        for call in ast.walk(function):
            if not isinstance(call, ast.Call) or any(isinstance(a, ast.Starred) for a in call.args):
                continue
            name = name_of(call.func).lstrip("_")
            # A method of a site knows who refuses.
            first = 2 - (
                isinstance(call.func, ast.Attribute) and ast.unparse(call.func.value) == "site"
            )
            if (name == "refuse" or name.endswith("Error")) and len(call.args) >= first + 3:
                given, allowed = call.args[first : first + 2]
                yield call.lineno, literal(given, names), literal(allowed, names)


def test_every_refusal_says_first_what_must_be_and_then_what_it_got(trees: Trees) -> None:
    assert FORM == sentences.FORM
    parts = [(file, *found) for file, tree in trees.items() for found in parts_of_refusals(tree)]
    assert len(parts) > 150
    wrong = [each for each in parts if NO_FINDING.match(each[2]) or NO_RULE.match(each[3])]
    assert wrong == []
    for call in (
        'refuse(op, "it", "of type x", "u32", "Cast it.")',
        'refuse(op, "it", x, "is a number", "Pass one.")',
        'site.refuse("it", "missing", "a tensor", "Connect it.")',
    ):
        ((_, given, allowed),) = parts_of_refusals(ast.parse(f"def f(op, x, site):\n    {call}\n"))
        assert NO_FINDING.match(given) or NO_RULE.match(allowed), "it would not be found"


def test_every_sentence_that_is_written_out_says_first_what_must_be(trees: Trees) -> None:
    found = 0
    for file, tree in trees.items():
        calls = (call for call in ast.walk(tree) if isinstance(call, ast.Call))
        for call in (call for call in calls if name_of(call.func) in RAISES_A_SENTENCE):
            for text in map(written, call.args):
                place = f"{file}:{call.lineno}: {text}"
                assert "allowed" not in text, place
                assert (": got " in text) <= (" must " in f" {text.partition(': got ')[0]}"), place
                found += ": got " in text
    assert found > 25


def test_the_native_code_has_the_same_form_and_words_of_refusals() -> None:
    """Its other refusals name their words by the names of sentences.h, which is made of these."""
    assert 'kForm[] = "{0} must be {2}: got {1}. {3}";' in (NATIVE / "core/sentences.h").read_text()
    for file in (*NATIVE.rglob("*.cpp"), *NATIVE.rglob("*.h")):
        for text in re.findall(r'"((?:[^"\\\n]|\\.)*)"', file.read_text()):
            assert not re.search(r"; allowed|\bis \{\d\}|^(of (shape|type)|missing$)", text), (
                file,
                text,
            )


# Every public function that takes a model, given everything that a user may have in hand: each
# works, or refuses in one sentence that begins with its name and says what it takes.

MODEL = parse("g () => (float[3] noise) { noise = RandomNormal <shape = [3]> () }", opset=18)
FILES = {"a file", "a Path"}
ONNX = FILES | {"bytes", "a proto", "an onnx-ir model"}
ANY = ONNX | {"an IR", "a model of OpenVINO"}
LOADED = {"a session", "a compiled model"}
MISSING = {"a file that is missing", "a folder"}
"""The system's own errors say what is wrong with the path."""


def _openvino_model() -> ov.Model:
    shape = opset8.constant(np.array([3], np.int64))
    low, high = (opset8.constant(np.float32(value)) for value in (0, 1))
    return ov.Model([opset8.random_uniform(shape, low, high, "f32", 7, 9).output(0)], [], "g")


@cache
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
_SESSION = "onnx_philox.onnxruntime.InferenceSession"
# The name of a function, which its refusals begin with, a call of it, and what it takes.
DOORS: list[tuple[str, Callable[[Any], Any], set[str]]] = [
    (
        "onnx_philox.make_reproducible",
        lambda model: make_reproducible(model),
        ANY,
    ),
    (
        f"{_REWRITING}.find_random_nodes",
        lambda model: rewriting.find_random_nodes(model),
        ANY,
    ),
    (
        f"{_REWRITING}.rewrite",
        lambda model: rewriting.rewrite(model),
        {"an onnx-ir model"},
    ),
    (
        f"{_REWRITING}.rewrite_file",
        lambda model: rewriting.rewrite_file(model, f"new{Path(str(model)).suffix}"),
        FILES | {"an IR"},
    ),
    (
        "onnx_philox.to_standard_nodes",
        lambda model: onnx_philox.to_standard_nodes(model),
        ONNX,
    ),
    (
        f"{_REWRITING}.to_standard_file",
        lambda model: rewriting.to_standard_file(model, "new.onnx"),
        FILES,
    ),
    (
        "Pipeline",
        lambda model: Pipeline(model, runtime="openvino"),
        ANY,
    ),
    (
        "Pipeline",
        lambda model: Pipeline(model),
        ONNX | {"a session"},
    ),
    (
        "Pipeline",
        lambda model: Pipeline(_compiled(), source=_rewritten(model)),
        {"an IR", "a model of OpenVINO"},
    ),
    (
        "openvino.make_stateful",
        lambda model: onnx_philox.openvino.make_stateful(_rewritten(model)),
        {"a model of OpenVINO"},
    ),
    (
        _SESSION,
        lambda model: onnx_philox.onnxruntime.InferenceSession(model, backend="native"),
        FILES | {"bytes", "a proto"},
    ),
    (
        _SESSION,
        lambda model: onnx_philox.onnxruntime.InferenceSession(model, backend="python"),
        FILES | {"bytes", "a proto"},
    ),
]


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


@pytest.mark.usefixtures("files")
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("name", "call", "taken"), DOORS)
def test_each_function_takes_a_model_or_says_in_its_own_name_what_it_takes(
    name: str,
    call: Callable[[Any], Any],
    taken: set[str],
    kind: str,
) -> None:
    given = KINDS[kind]()
    if kind in taken:
        call(given)
        return
    is_session = name == _SESSION
    missing = (ort_state.NoSuchFile, ort_state.InvalidProtobuf) if is_session else (OSError,)
    with pytest.raises((RefusedInputError, *missing)) as raised:
        call(given)
    if not isinstance(raised.value, RefusedInputError):
        assert kind in MISSING
        assert is_session or raised.value.filename == given
        return
    if is_session and kind in {"a file of no model", "an IR that is none", "bytes of no model"}:
        assert isinstance(raised.value, ort_state.InvalidProtobuf)
    form = rf"(?s){name}: .* must be .*: got .*\."
    assert re.fullmatch(form, str(raised.value))


@pytest.mark.parametrize("device", ["CPU", "GPU"])
@pytest.mark.parametrize("kind", ["nothing", "a number", "bytes", "a proto", "an onnx-ir model"])
def test_what_openvino_cannot_compile_is_refused_by_its_type(kind: str, device: str) -> None:
    given = KINDS[kind]()
    core = onnx_philox.openvino.register(ov.Core())
    words = (
        "openvino.compile_model: the model must be an openvino.Model or a path: got "
        f"{type(given).__name__}. Pass what core.read_model returns; it takes bytes, too."
    )
    call = partial(onnx_philox.openvino.compile_model, core, given, device)
    assert_refused(call, f"TypeError: {words}")


@pytest.mark.usefixtures("files")
def test_a_refusal_of_the_source_of_a_session_says_that_it_is_the_source() -> None:
    session = KINDS["a session"]()
    words = """Pipeline: source must be one with random nodes, rewritten without a seed: got one
        without a state as an input and the next as an output. Pass the rewritten model, which the
        runtime was given, and not the original."""
    for original in ("model.onnx", MODEL):
        assert_refused(partial(Pipeline, session, source=original), " ".join(words.split()))
    for original in ("model.xml", _openvino_model()):
        assert_refused(partial(Pipeline, _compiled(), source=original), " ".join(words.split()))
    said = "Pipeline: source must be the bytes of"
    assert_refused(lambda: Pipeline(session, source=b"hello"), said)


TARGETS = [
    (lambda: None, "a path: got NoneType. Pass a path."),
    (lambda: b"new.onnx", "a path: got bytes. Pass a path."),
    (lambda: MODEL, "a path: got ModelProto. Pass a path."),
    (lambda: "folder", "a file: got 'folder', a folder. Name a file in it."),
    (lambda: "", "the path of a file: got ''. Choose such a name."),
    (lambda: "a\0b.onnx", "the path of a file: got 'a\\x00b.onnx'. Choose such a name."),
    (
        lambda: "new\udcff.onnx",
        "UTF-8, since the runtimes open no other paths: got 'new\\udcff.onnx'. Choose another "
        "name.",
    ),
    (
        lambda: "new.xml",
        "a name that does not end in .xml, since the model is written as ONNX: got "
        "'new.xml'. Choose such a name; OpenVINO reads ONNX files, too.",
    ),
]


@pytest.mark.usefixtures("files")
@pytest.mark.parametrize("door", ["rewrite_file", "to_standard_file"])
@pytest.mark.parametrize(("target", "words"), TARGETS)
def test_a_target_that_is_no_such_file_is_refused(
    door: str, target: Callable[[], Any], words: str
) -> None:
    with pytest.raises(RefusedInputError) as raised:
        getattr(rewriting, door)("model.onnx", target())
    if "got 'new.xml'" in words and door == "rewrite_file":
        words += " The command 'onnx-philox rewrite model.onnx -o model.xml' writes an IR."
    expected = f"{_REWRITING}.{door}: the output must be {words}"
    assert str(raised.value) == expected
    assert sorted(os.listdir()) == sorted(
        ["model.onnx", "model.xml", "model.bin", "bad.onnx", "bad.xml", "folder"]
    )


def _of_a_newer_opset() -> onnx.ModelProto:
    model = make_reproducible(MODEL)
    (ours,) = (entry for entry in model.opset_import if entry.domain)
    ours.version = 9
    return model


NAMED = [
    (lambda: Pipeline(_of_a_newer_opset()), "Pipeline"),
    (
        lambda: Pipeline(_of_a_newer_opset(), runtime="openvino"),
        "Pipeline",
    ),
    (
        lambda: Pipeline(MODEL, per_row="noise"),
        "Pipeline",
    ),
    (
        lambda: Pipeline(MODEL, keep_seeds=True, alignment="pytorch"),
        "Pipeline",
    ),
    (
        lambda: Pipeline(MODEL, alignment="numpy"),
        "Pipeline",
    ),
    (
        lambda: Pipeline(MODEL, backend="fortran"),
        "Pipeline",
    ),
    (
        lambda: Pipeline(MODEL, runtime="openvino", backend="fortran"),
        "Pipeline",
    ),
    (
        lambda: Pipeline("model.xml", runtime="openvino", alignment="pytorch"),
        "Pipeline",
    ),
    (
        lambda: rewriting.rewrite(ir.from_proto(MODEL), seed=-1),
        "rewrite",
    ),
    (
        lambda: rewriting.rewrite_file("model.onnx", "new.onnx", seed=-1),
        "rewrite_file",
    ),
    (
        lambda: rewriting.to_standard_file("model.onnx", "new.onnx", seed=-1),
        "to_standard_file",
    ),
    (
        lambda: rewriting.to_standard_file("model.onnx", "new.onnx", target="coreml"),
        "to_standard_file",
    ),
]


@pytest.mark.usefixtures("files")
@pytest.mark.parametrize(("call", "name"), NAMED)
def test_a_refusal_names_the_function_that_was_called(call: Callable[[], Any], name: str) -> None:
    with pytest.raises(
        RefusedInputError, match=rf"^(onnx_philox.rewriting.)?{name}: [^:]*must be "
    ):
        call()
