"""Lets each allocation of the native libraries fail, in loads, runs and refusals.

    python -m tests.core.failing_allocations
        all; OpenVINO's take an hour or two
    python -m tests.core.failing_allocations openvino --parts 40
        a fortieth of them, another each day
    python -m tests.core.failing_allocations openvino Uniform
        cases whose names have all these words

For each case, allocation number n of our own library fails, for every n, and all from n on: what is
preloaded (failing_allocations.cpp) tells ours from the others. A call must succeed, with all bits
right, or raise. Then the same session must draw what it draws otherwise, from the state that it
had. The process may not end, nor keep memory.
"""

from __future__ import annotations

import argparse
import ctypes
import gc
import io
import itertools
import resource
import sys
import tempfile
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

import ml_dtypes
import numpy as np
import onnx

import onnx_philox
from onnx_philox import PhiloxState, TorchState, graphs, reference
from tests.common import bad_calls, child, operators
from tests.common.operators import OPERATORS
from tests.common.runtimes import array_of, tensor_of
from tests.core import test_c_interface as c
from tests.files import fuzz_files

SOURCE = Path(__file__).with_suffix(".cpp")
PAGE = 4096
STATE = PhiloxState(2**64 - 2, 2**64 - 12345).to_array()
Arrays = list[np.ndarray[Any, Any]]


class Case(NamedTuple):
    """What is done with a library while its allocations fail."""

    name: str
    load: Callable[[], Any]
    run: Callable[[Any], Arrays]
    """What it draws, of the result of `load`."""
    expected: Arrays
    """Empty: it is refused."""
    is_first: bool = False
    """Whether each number is tried in a process that has not called the library before."""


_libc = ctypes.CDLL(None)
_begin = getattr(_libc, "failing_begin", None)
if _begin is not None:
    _libc.failing_end.restype = _libc.failing_kept.restype = ctypes.c_int64
LAST = 2**62


def _fails(case: Case, first: int, last: int) -> int:
    """Loads and runs it while these fail; how many were asked for."""
    said, loaded, drawn = "", None, None
    _libc.failing_begin(ctypes.c_int64(first), ctypes.c_int64(last))
    try:
        loaded = case.load()
        drawn = case.run(loaded)
    except Exception as error:
        said = f"{type(error).__name__}: {error}"
    made = _libc.failing_end()
    assert not said.startswith("AssertionError"), said
    if drawn is not None:
        _compare(case, drawn)
    if loaded is not None and case.expected:
        _compare(case, case.run(loaded))
    del loaded, drawn
    gc.collect()
    kept = int(_libc.failing_kept())
    assert kept <= PAGE, f"{kept} bytes are kept: {said}"
    return int(made)


def _compare(case: Case, drawn: Arrays) -> None:
    assert case.expected, "it is not refused"
    for found, wanted in zip(drawn, case.expected, strict=True):
        is_same = np.asarray(found).tobytes() == np.asarray(wanted).tobytes()
        assert is_same, f"other bits: {found!r} instead of {wanted!r}"


def _everywhere(
    case: Case,
    part: int,
    parts: int,
) -> tuple[int, list[str]]:
    """Lets each allocation of a part fail; how many there were, and what is wrong."""
    total = 0 if case.is_first else max(_fails(case, LAST, LAST) for _ in range(3))
    found = []
    number = 1 + part
    while number <= max(total, 1 + part):
        for last in (number, LAST):
            try:
                made = (_apart if case.is_first else _fails)(case, number, last)
                # A text about the first failure asks for more.
                total = max(total, made) if last == number else total
            except AssertionError as error:
                what = f"allocation {number}{'' if last == number else ' and all later ones'}"
                found.append(f"{what}: {error}")
        number += parts
    return total, found


def _apart(case: Case, number: int, last: int) -> int:
    """Tries it in a process of its own, which has not called the library yet."""
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder) / "log"

        def action() -> None:
            print(_fails(case, number, last))

        code = fuzz_files.run_apart(action, log, 600, resource.RLIM_INFINITY)
        said = log.read_text(errors="replace")
    assert code == 0, f"the process ended by {code}: {said}"
    return int(said.splitlines()[-1])


def _plain() -> Iterator[tuple[str, onnx.ModelProto, dict[str, Any], Arrays]]:
    """Models: each operator in two types, with rows, seeds, and torch's numbers."""
    for operator in OPERATORS:
        given = operators.cases(operator)
        others = [g for g in given if g.edge == 0][1:2]
        chosen = [
            given[0],
            *others,
            *[g for g in given if g.edge][:1],
        ]
        for case, kind in [*itertools.product(chosen, ("", ", constants")), (given[0], ", rows")]:
            shape = case.shape()
            inputs = case.inputs(shape)
            is_rows = kind == ", rows"
            of_kind = {"constant": kind == ", constants" and not case.has_data, "per_row": is_rows}
            model = case.model(shape, inputs, **of_kind)
            state = operators.some_states(3) if is_rows else STATE
            feeds = case.feeds(shape, state, inputs)
            feeds = {i.name: feeds[i.name] for i in model.graph.input}
            drawn = (case.alone if is_rows else case.oracle)(shape, state, inputs)
            yield f"{case.name}{kind}", model, feeds, [*drawn][: len(model.graph.output)]
    large = graphs.random_permutation([3, 70_000], stateful=True)
    expected = reference.random_permutation([3, 70_000], state=STATE)
    yield "RandomPermutation, large", large, {"state": STATE}, [*expected]
    torch = TorchState.from_seed(3).to_array()
    for function in ("random_normal", "random_uniform"):
        for size in (5, 100_000):
            given = {"output_type": "f32", "alignment": "pytorch"}
            model = getattr(graphs, function)([size], 0, 1, stateful=True, **given)
            drawn = getattr(reference, function)([size], 0, 1, state=torch, **given)
            yield f"{function} of torch, {size}", model, {"state": torch}, [*drawn]


def _refused() -> Iterator[tuple[str, onnx.ModelProto, dict[str, Any]]]:
    """Models and feeds that are refused: the texts need memory, too."""
    normal = graphs.random_normal([4], 0, 1, "f32", stateful=True)
    del normal.graph.node[0].attribute[:]
    normal.graph.node[0].attribute.append(onnx.helper.make_attribute("output_type", "f33"))
    yield "a wrong attribute", normal, {"state": STATE}
    unknown = graphs.random_normal([4], 0, 1, "f32", stateful=True)
    unknown.graph.node[0].attribute.append(onnx.helper.make_attribute("sample_size", 7))
    yield "an unknown attribute", unknown, {"state": STATE}
    shaped = graphs.random_normal(None, 0, 1, "f32", rank=2, stateful=True)
    yield "a negative size", shaped, {"shape": np.array([-1, 3]), "state": STATE}
    yield "a size of petabytes", shaped, {"shape": np.array([2**40, 2**10]), "state": STATE}
    ranged = graphs.random_uniform([4], None, None, "f32", stateful=True)
    bounds = {"minval": np.float32(2), "maxval": np.float32(1)}
    feeds = {k: np.array(v) for k, v in bounds.items()}
    yield "a range from above", ranged, {**feeds, "state": STATE}


def of_onnxruntime() -> Iterator[Case]:
    import onnxruntime as ort

    library = onnx_philox.onnxruntime.library_path()

    def case(
        name: str,
        model: onnx.ModelProto,
        feeds: dict[str, Any],
        expected: Arrays,
    ) -> Case:
        data = model.SerializeToString()
        kinds = {i.name: i.type.tensor_type.elem_type for i in model.graph.input}
        made = {
            n: ort.OrtValue.ortvalue_from_numpy_with_onnx_type(
                a.view(np.uint16) if a.dtype == ml_dtypes.bfloat16 else a, kinds[n]
            )
            for n, a in feeds.items()
        }

        def load() -> Any:
            options = ort.SessionOptions()
            options.intra_op_num_threads = 2 if "large" in name or "torch" in name else 1
            options.log_severity_level = 4
            options.register_custom_ops_library(library)
            return ort.InferenceSession(data, options)

        def run(session: Any) -> Arrays:
            names = [o.name for o in session.get_outputs()]
            found = session.run_with_ort_values(names, made)
            return [_of_value(value) for value in found]

        return Case(f"onnxruntime: {name}", load, run, expected)

    for name, model, feeds, expected in _plain():
        yield case(name, model, feeds, expected)
    for name, model, feeds in _refused():
        yield case(name, model, feeds, [])
    first = graphs.random_normal([5], 0, 1, "f32", stateful=True)
    drawn = reference.random_normal([5], 0, 1, "f32", state=STATE)
    yield case(
        "first",
        first,
        {"state": STATE},
        [*drawn],
    )._replace(is_first=True)


def _of_value(value: Any) -> np.ndarray[Any, Any]:
    if value.data_type() != "tensor(bfloat16)":
        return np.asarray(value.numpy())
    count = int(np.prod(value.shape()))
    words = (ctypes.c_uint16 * count).from_address(value.data_ptr())
    return np.array(words, np.uint16).view(ml_dtypes.bfloat16).reshape(value.shape())


def of_c() -> Iterator[Case]:
    """The functions for programs without a session."""

    def case(
        operator: str,
        call: dict[str, Any],
        expected: Arrays,
    ) -> Case:
        names = bad_calls.INPUTS[operator]
        arrays = {n: np.asarray(call[n], order="C") for n in names if call.get(n) is not None}
        attributes = {n: v for n, v in call.items() if n not in names and v is not None}
        attributes = {n: int(v) if isinstance(v, bool) else v for n, v in attributes.items()}

        def run(_: Any) -> Arrays:
            outputs = [np.full_like(array, 1) for array in expected]
            untouched = [array.copy() for array in outputs]
            status, text = c.run(c.call_of(operator, arrays, attributes, outputs))
            if status == 0:
                return outputs
            for one, two in zip(outputs, untouched, strict=True):
                assert one.tobytes() == two.tobytes(), f"it is refused, and has written: {text}"
            raise (MemoryError if status == 3 else ValueError)(text)

        return Case(f"c: {operator}", lambda: None, run, expected)

    for operator, call in bad_calls.GOOD.items():
        arguments = {n: v for n, v in call.items() if v is not None}
        drawn = getattr(reference, OPERATORS[operator].function)(**arguments)
        made = case(operator, call, [*drawn])
        yield made
        yield made._replace(name=f"{made.name}, first", is_first=True)
    for operator, what in c.BAD[::3]:
        call, _ = bad_calls.call_of(operator, what)
        made = case(operator, call, [])
        try:
            made.run(None)
        except ValueError:
            name = f"c: {operator}, {what}"
            yield made._replace(name=name)


def of_openvino() -> Iterator[Case]:
    import openvino as ov

    core = onnx_philox.openvino.register(ov.Core())
    config = {"INFERENCE_NUM_THREADS": "1", "INFERENCE_PRECISION_HINT": "f32"}

    def case(
        name: str,
        model: onnx.ModelProto,
        feeds: dict[str, Any],
        expected: Arrays,
    ) -> Case:
        data = model.SerializeToString()

        def load() -> Any:
            read = core.read_model(io.BytesIO(data))
            return core.compile_model(read, "CPU", config).create_infer_request()

        def run(request: Any) -> Arrays:
            for key, array in feeds.items():
                request.set_tensor(key, tensor_of(np.array(array)))
            request.start_async()
            request.wait()
            return [array_of(request.get_tensor(o)) for o in request.model_outputs]

        return Case(f"openvino: {name}", load, run, expected)

    yield _stateful(core, config)
    for name, model, feeds, expected in _plain():
        made = case(name, model, feeds, expected)
        try:
            drawn = made.run(made.load())
        except RuntimeError as error:  # its plugin would alter these
            if "onnx_philox" not in str(error) and "Random" not in str(error):
                raise
            continue
        # Types as its plugin has them; that these are right is for other tests.
        for found, wanted in zip(drawn, expected, strict=True):
            assert np.array_equal(
                found.astype(np.float64), np.asarray(wanted, np.float64), equal_nan=True
            ), name
        yield made._replace(expected=drawn)
    for name, model, feeds in _refused():
        yield case(name, model, feeds, [])


def _stateful(core: Any, config: dict[str, str]) -> Case:
    """A model whose state is a variable: it may not move on where nothing was drawn."""
    data = graphs.random_normal([5], 0, 1, "f32", stateful=True).SerializeToString()
    first, after = reference.random_normal([5], 0, 1, "f32", state=STATE)
    second, _ = reference.random_normal([5], 0, 1, "f32", state=after)

    def load() -> Any:
        model = core.read_model(io.BytesIO(data))
        model = onnx_philox.openvino.make_stateful(model)
        return core.compile_model(model, "CPU", config).create_infer_request()

    def run(request: Any) -> Arrays:
        import openvino as ov

        variable = request.query_state()[0]
        variable.state = ov.Tensor(STATE.view(np.int32))
        drawn = []
        while len(drawn) < 2:
            try:
                request.start_async()
                request.wait()
                drawn.append(request.get_output_tensor(0).data.copy())
            except Exception:
                was = [STATE, after][len(drawn)]
                assert variable.state.data.tobytes() == was.tobytes(), "the state has moved on"
                if _libc.failing_end() == 0:
                    raise
        return drawn

    return Case("openvino: a variable", load, run, [first, second])


GROUPS: dict[str, Callable[[], Iterator[Case]]] = {
    "c": of_c,
    "onnxruntime": of_onnxruntime,
    "openvino": of_openvino,
}


def _tried(group: str, words: list[str], parts: int) -> int:
    """Tries all cases of a group; 1 if something is wrong."""
    runtime = "openvino" if group == "openvino" else "onnxruntime"
    library = getattr(onnx_philox, runtime).library_path()
    ctypes.CDLL(library)
    gc.collect()
    gc.freeze()  # what is imported is looked at no more
    _libc.failing_of((ctypes.c_char_p * 2)(str(library).encode(), None))
    part = datetime.now(UTC).toordinal() % parts
    cases = allocations = 0
    is_wrong = False
    for case in GROUPS[group]():
        if any(word not in case.name for word in words):
            continue
        print(f"{case.name}: ", end="", flush=True)
        total, found = _everywhere(case, part, parts)
        print(total, *(f"FOUND {line}" for line in found), sep="\n  ", flush=True)
        cases = cases + 1
        allocations = allocations + total
        is_wrong = is_wrong or bool(found)
    which = "" if parts == 1 else f", of which part {part} of {parts}"
    print(f"{group}: {cases} cases, {allocations} allocations{which}: alone, and with all later")
    return int(is_wrong or cases == 0)


def main() -> int:
    """Tries all; 1 if something is wrong."""
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument(
        "group",
        nargs="?",
        choices=[*GROUPS, "all"],
        default="all",
    )
    arguments.add_argument("words", nargs="*")
    arguments.add_argument("--parts", type=int, default=1)
    given = arguments.parse_intermixed_args()
    groups = [*GROUPS] if given.group == "all" else [given.group]
    if _begin is not None:
        return max(_tried(group, given.words, given.parts) for group in groups)
    codes = [child.again(SOURCE, g, *given.words, "--parts", given.parts) for g in groups]
    print("exit codes:", *zip(groups, codes, strict=True))
    return int(any(codes))


if __name__ == "__main__":
    sys.exit(main())
