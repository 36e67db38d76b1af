"""`alignment="pytorch"`: nodes draw what torch draws on a CPU, in every backend that draws it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import openvino as ov
import pytest
from onnx import helper

import onnx_philox
from onnx_philox import PhiloxState, TorchState, graphs, reference
from onnx_philox.onnxruntime import InferenceSession
from tests.common import bad_calls
from tests.common.cases import DTYPES, assert_all_same, assert_refused, assert_same_bits
from tests.common.foreign import evaluate, in_onnxruntime, in_openvino
from tests.common.operators import OPERATORS
from tests.common.runtimes import OpenVino, joined, parted
from tests.torch_numbers.test_torch_numbers import (
    CPU,
    assert_as_torch,
    is_by_libm,
    probability_of_each,
)

SEED_42 = TorchState.from_seed(42).to_array()
PYTORCH: dict[str, Any] = {"alignment": "pytorch"}
STATES = np.stack([TorchState.from_seed(seed).to_array() for seed in (3, 4)])
LOGITS = np.log(np.array([[1, 2, 3, 4], [4, 3, 2, 1]], np.float32))
DATA = np.arange(40, dtype=np.float32).reshape(2, 20)
P_OF_EACH = probability_of_each(40).reshape(2, 20)

# The operator's function and its arguments.
DRAWS: dict[str, tuple[str, dict[str, Any]]] = {
    "uniform f32": (
        "uniform",
        {"minval": -3, "maxval": 7.5, "output_type": "f32"},
    ),
    "uniform f16": (
        "uniform",
        {"minval": 0, "maxval": 1, "output_type": "f16"},
    ),
    "uniform bf16": (
        "uniform",
        {"minval": 0, "maxval": 1, "output_type": "bf16"},
    ),
    "uniform f64": (
        "uniform",
        {"minval": 0, "maxval": 1, "output_type": "f64"},
    ),
    "uniform i32": (
        "uniform",
        {"minval": -5, "maxval": 1000, "output_type": "i32"},
    ),
    "uniform i64, two words": (
        "uniform",
        {"minval": 0, "maxval": 2**28, "output_type": "i64"},
    ),
    "normal f32": (
        "normal",
        {"mean": 2, "scale": 0.5, "output_type": "f32"},
    ),
    "normal f16": (
        "normal",
        {"mean": 0, "scale": 1, "output_type": "f16"},
    ),
    "normal bf16": (
        "normal",
        {"mean": 0, "scale": 1, "output_type": "bf16"},
    ),
    "normal f64": (
        "normal",
        {"mean": 0, "scale": 1, "output_type": "f64"},
    ),
    "bernoulli f32": ("bernoulli", {"p": 0.3}),
    "bernoulli of each": ("bernoulli", {"p": P_OF_EACH}),
    "bernoulli f64": ("bernoulli", {"p": np.float64(0.3)}),
    "categorical": ("categorical", {"logits": LOGITS}),
    "categorical, once": (
        "categorical",
        {"logits": LOGITS, "sample_size": 3, "replacement": False, "output_type": "i64"},
    ),
    "exponential f32": ("exponential", {"scale": 1, "output_type": "f32"}),
    "exponential bf16": ("exponential", {"scale": 1, "output_type": "bf16"}),
    "permutation": ("permutation", {"output_type": "i64"}),
    "dropout": (
        "dropout",
        {"data": DATA, "ratio": np.float64(0.5)},
    ),
    "dropout of ratio 1": ("dropout", {"data": DATA, "ratio": 1}),
}


def call(name: str) -> tuple[str, dict[str, Any]]:
    """The function, and all arguments of `reference` but the state."""
    kind, given = DRAWS[name]
    shape = {} if kind in ("categorical", "dropout") else {"shape": [2, 20]}
    return f"random_{kind}", {**shape, **given, **PYTORCH}


def drawn(name: str, **stream: Any) -> tuple[np.ndarray, ...]:
    function, arguments = call(name)
    return getattr(reference, function)(**arguments, **stream)


def model_of(name: str, **stream: Any) -> onnx.ModelProto:
    function, arguments = call(name)
    return getattr(graphs, function)(**arguments, **stream)


# A call of torch's as one of ours.
CALLS: dict[str, Any] = {
    "rand": lambda n, type_, low=0, high=1: ("uniform", [n], low, high, type_),
    "randn": lambda n, type_, mean=0, scale=1: ("normal", [n], mean, scale, type_),
    "randint": lambda low, high, n: ("uniform", [n], low, high, "i64"),
    "randperm": lambda n: ("permutation", [n], "i64"),
    "bernoulli": lambda n: ("bernoulli", [n], probability_of_each(n)),
    "bernoulli_": lambda p, n: ("bernoulli", [n], np.float64(p)),
    "dropout": lambda ratio, n: ("dropout", np.ones(n, np.float32), np.float64(ratio)),
}
CALLS |= {"uniform_": CALLS["rand"], "normal_": CALLS["randn"]}
KINDS = {case["steps"][0][0] for case in CPU if len(case["steps"]) == 1}


@pytest.mark.parametrize("kind", sorted(KINDS - {"multinomial", "exponential_"}))
def test_the_reference_draws_what_torch_drew(kind: str) -> None:
    for case in CPU:
        ((name, arguments), *more) = case["steps"]
        few = kind == "normal_" and arguments[0] < 16
        is_rounded = arguments[1:2] in (["f16"], ["bf16"]) and kind in ("uniform_", "normal_")
        if more or name != kind or is_rounded or few:
            continue  # bounds and moments are rounded to the type before the draw
        state = TorchState.from_seed(case["seed"]).to_array()
        ours, *given = CALLS[kind](*arguments)
        values = getattr(reference, f"random_{ours}")(*given, **PYTORCH, state=state)[-2]
        assert_as_torch(
            values,
            case["results"][0],
            exact=not is_by_libm(name, arguments),
        )


def test_the_example_of_the_contract() -> None:
    values, after = reference.random_normal([4], 0.0, 1.0, "f32", **PYTORCH, state=SEED_42)
    expected = pytest.approx([0.3367, 0.1288, 0.2345, 0.2303], abs=1e-6)
    assert values.round(4).tolist() == expected
    again, last = reference.random_normal([4], 0.0, 1.0, "f32", **PYTORCH, state=after)
    assert after.shape == last.shape == (632,)
    assert not np.array_equal(values, again)
    by_seed, _ = reference.random_normal([4], 0.0, 1.0, "f32", **PYTORCH, global_seed=42)
    assert_same_bits(by_seed, values)
    both = reference.random_normal([8], 0.0, 1.0, "f32", **PYTORCH, state=SEED_42)
    assert_same_bits(np.concatenate([values, again]), both[0])
    assert_same_bits(last, both[1])


@pytest.mark.parametrize("name", DRAWS)
def test_rows_are_drawn_as_if_alone(name: str) -> None:
    function, arguments = call(name)
    *values, after = getattr(reference, function)(**arguments, state=STATES)
    assert after.shape == (2, 632)
    for row, state in enumerate(STATES):
        alone = dict(arguments)
        if "shape" in alone:
            alone["shape"] = [1, 20]
        for key in ("logits", "data", "p"):
            if isinstance(alone.get(key), np.ndarray) and alone[key].ndim:
                alone[key] = alone[key][row : row + 1]
        *expected, last = getattr(reference, function)(**alone, state=state)
        for ours, theirs in zip(values, expected, strict=True):
            assert_same_bits(ours[row : row + 1], theirs)
        assert_same_bits(after[row], last)


RUNTIMES = {
    "onnx.reference": evaluate,
    "onnxruntime": in_onnxruntime("native"),
    "onnxruntime, python": in_onnxruntime("python"),
    "openvino": in_openvino(OpenVino("native"), "f32"),
    "openvino, python": in_openvino(OpenVino("python"), "f32"),
}


def runs_in(runtime: str, name: str) -> bool:
    """Whether a backend carries the type, and Python what it draws."""
    kind = DRAWS[name][1].get("output_type", "f32")
    if runtime == "onnxruntime":
        return kind != "bf16"
    return runtime != "onnxruntime, python" or kind not in ("f16", "bf16")


@pytest.mark.parametrize("runtime", RUNTIMES)
def test_backends_draw_the_reference(runtime: str) -> None:
    names = [name for name in DRAWS if runs_in(runtime, name)]
    streams: tuple[dict[str, Any], ...] = (
        {"stateful": True},
        {"global_seed": 42},
        {"per_row": True},
    )
    fed = ({"state": SEED_42}, {}, {"state": STATES})
    draws = [(model_of(n, **s), f) for n in names for s, f in zip(streams, fed, strict=True)]
    whole, feeds = joined(draws)
    for _ in range(2):
        outputs = iter(parted(RUNTIMES[runtime](whole, feeds), draws))
        for i, name in enumerate(names):
            state = feeds[f"{3 * i}/state"]
            expected = drawn(name, state=state)
            assert_all_same(next(outputs), expected)
            feeds[f"{3 * i}/state"] = expected[-1]
            assert_same_bits(next(outputs)[0], drawn(name, state=SEED_42)[0])
            assert_all_same(next(outputs), drawn(name, state=STATES))


def test_shapes_are_inferred() -> None:
    onnx_philox.register_schemas()
    for stream, expected in (({"stateful": True}, [632]), ({"per_row": True}, [2, 632])):
        model = graphs.random_normal([2, 3], 0, 1, "f32", **PYTORCH, **stream)
        del model.graph.output[1].type.tensor_type.shape.dim[:]
        model.graph.output[1].type.tensor_type.ClearField("shape")
        inferred = onnx.shape_inference.infer_shapes(model, strict_mode=True, check_type=True)
        dims = inferred.graph.output[1].type.tensor_type.shape.dim
        assert [d.dim_value for d in dims] == expected


@pytest.mark.parametrize("backend", ["native", "python"])
@pytest.mark.parametrize("name", ["uniform f32", "normal f32", "dropout"])
def test_factories_make_nodes_that_stay_in_ir(name: str, backend: str, tmp_path: Path) -> None:
    kind, given = DRAWS[name]
    shape = {} if kind == "dropout" else {"shape": [2, 20]}
    state = ov.opset13.parameter([632], ov.Type.u32, name="state")
    factory = getattr(onnx_philox.openvino, f"random_{kind}")
    node = factory(**shape, **given, state=state, **PYTORCH)
    model = ov.Model([*node.outputs()], [state])
    ov.serialize(model, tmp_path / "model.xml")
    text = (tmp_path / "model.xml").read_text()
    assert 'alignment="pytorch"' in text
    expected = drawn(name, state=SEED_42)
    openvino = OpenVino(backend)
    for given_model in (model, tmp_path / "model.xml"):
        assert_all_same(openvino(given_model, {"state": SEED_42}, "f32"), expected)


@pytest.mark.parametrize("backend", ["native", "python"])
def test_files_do_not_say_the_default(backend: str, tmp_path: Path) -> None:
    plain = graphs.random_uniform([3], 0, 1, "f32", global_seed=3)
    said = graphs.random_uniform([3], 0, 1, "f32", global_seed=3, alignment="tensorflow")
    assert plain == said
    assert "alignment" not in {a.name for a in plain.graph.node[0].attribute}
    ov.serialize(OpenVino(backend).read(plain), tmp_path / "model.xml")
    assert "alignment" not in (tmp_path / "model.xml").read_text()


@pytest.mark.parametrize("runtime", ["onnxruntime", "native", "python"])
def test_an_operator_without_the_attribute_refuses_it(runtime: str) -> None:
    model = graphs.random_gamma([3], 1, "f32", global_seed=3)
    model.graph.node[0].attribute.append(helper.make_attribute("alignment", "pytorch"))
    load = InferenceSession if runtime == "onnxruntime" else OpenVino(runtime).read
    with pytest.raises(Exception, match=r"RandomGamma: each attribute .*: got 'alignment'"):
        load(model)


def bad_state(place: Any, word: Any) -> np.ndarray:
    state = SEED_42.copy()
    state[place] = word
    return state


def changed(rows: int = 2) -> np.ndarray:
    states = np.stack([SEED_42] * rows)
    states[1, 4] = 625
    return states


AGAIN = "The state is damaged, or another generator's: take it from its source again."
TORCH_RULE = (
    "[632], or [1, ..., 1, 632] up to rank 8, or [B, 632], a state for each row of the output"
)
WEIGHTS = np.array([[0, -1, -104]], np.float32)
BAD: list[tuple[dict[str, Any], str]] = [
    (
        {"state": PhiloxState(1, 2).to_array()},
        f"input 'state' must be {TORCH_RULE}: got shape [6]. 6 words are a PhiloxState, of "
        "alignment 'tensorflow': pass TorchState.from_seed(seed).to_array() (in C,",
    ),
    (
        {"state": SEED_42, "alignment": "tensorflow"},
        "a state for each row of the output: got shape [632]. 632 words are a TorchState: "
        "set alignment to 'pytorch', or pass PhiloxState(...).to_array() (in C,",
    ),
    (
        {"state": SEED_42[:631]},
        "got shape [631]. Pass TorchState.from_seed(seed).to_array() (in C,",
    ),
    (
        {"state": np.stack([SEED_42] * 3)},
        "got 3 states (shape [3, 632]) for 2 rows (output shape [2, 3]).",
    ),
    (
        {"state": bad_state(4, 625)},
        f"the state's next must be from 0 to 624: got 625. {AGAIN}",
    ),
    (
        {"state": changed()},
        f"the state's next must be from 0 to 624: got 625 in row 1. {AGAIN}",
    ),
    (
        {"state": bad_state(2, 9)},
        f"the state's left must be 1, or 625 less its next of 0: got 9. {AGAIN}",
    ),
    (
        {"state": bad_state(3, 0)},
        f"the state's seeded must be 1: got 0. {AGAIN}",
    ),
    (
        {"state": bad_state([630, 631], [0x7FF00000, 1])},
        "cached normal must be a finite number: got inf.",
    ),
    (
        {"state": bad_state(631, 2)},
        f"the state's is_cached must be 0 or 1: got 2. {AGAIN}",
    ),
    (
        {"state": SEED_42, "op_seed": 3},
        "attribute 'op_seed' must be 0 with alignment 'pytorch': got 3. torch's generator "
        "has one seed: set global_seed, or connect a state.",
    ),
    (
        {"state": SEED_42, "global_seed": 42},
        "attribute 'global_seed' must be 0 where a state is connected, with alignment "
        "'pytorch': got 42. Remove one of the two.",
    ),
    (
        {"global_seed": 0},
        "input 'state' must be connected where global_seed is 0, with alignment 'pytorch': "
        "got nothing. Without one every run would draw the same numbers, so nothing is "
        "unseeded: set global_seed, which is torch's seed, or connect a state, such as "
        "TorchState.from_seed(0) in Python.",
    ),
    (
        {"state": SEED_42, "alignment": "torch"},
        "attribute 'alignment' must be 'tensorflow' or 'pytorch': got 'torch'. Set it to one of",
    ),
    (
        {"state": np.zeros(16, np.uint8)},
        "input 'state' must be u32: got uint8. Bytes of get_state() become words by "
        "TorchState.from_torch(state).to_array() in Python.",
    ),
    (
        {"state": SEED_42, "logits": LOGITS, "sample_size": 2},
        "attribute 'sample_size' must be 1 where replacement is 1, with alignment 'pytorch': "
        "got 2. Set replacement to 0, or draw one sample at a time.",
    ),
    (
        {"state": SEED_42, "logits": WEIGHTS, "sample_size": 3, "replacement": 0},
        "'sample_size' must be at most the number of classes of a weight above 0, with "
        "replacement 0: got 3, more than the 2 in row 0.",
    ),
]


@pytest.mark.parametrize(("given", "said"), BAD)
def test_bad_input_is_refused_in_the_same_words_everywhere(
    given: dict[str, Any], said: str
) -> None:
    operator = "RandomCategorical" if "logits" in given else "RandomNormal"
    good = {name: x for name, x in bad_calls.GOOD[operator].items() if name != "global_seed"}
    call = good | PYTORCH | given
    model = bad_calls.model_of(operator, call, constant=True)
    for load in (
        lambda: getattr(reference, OPERATORS[operator].function)(**call),
        lambda: InferenceSession(model, backend="python"),
        lambda: InferenceSession(model),
        lambda: OpenVino("python")(model),
        lambda: OpenVino("native")(model),
        lambda: evaluate(model, {}),
    ):
        with pytest.raises(Exception) as raised:  # noqa: PT011
            load()
        assert said in str(raised.value).replace("\n", " ")


@pytest.mark.parametrize("runtime", RUNTIMES)
def test_a_bad_state_of_torch_s_is_refused_at_run(runtime: str) -> None:
    model = graphs.random_normal([2, 3], 0, 1, "f32", **PYTORCH, stateful=True)
    with pytest.raises(Exception, match="the state's next must be from 0 to 624: got 700"):
        RUNTIMES[runtime](model, {"state": bad_state(4, 700)})


def test_standard_nodes_refuse_it_by_name() -> None:
    model = graphs.random_normal([2, 3], 0, 1, "f32", **PYTORCH, stateful=True)
    said = "RandomNormal... attribute 'alignment' must be 'tensorflow' for standard nodes"
    assert_refused(lambda: onnx_philox.to_standard_nodes(model), said)


def test_each_operator_of_this_alignment_has_a_call_of_torch_s() -> None:
    aligned = [o for o in OPERATORS.values() if "alignment" in {a.name for a in o.attributes}]
    expected = {operator.function for operator in aligned}
    assert {call(name)[0] for name in DRAWS} == expected


def test_more_integers_than_torch_shuffles_so_are_refused() -> None:
    least = (2**32 - 1) // 20
    said = f"input 'shape' must be fewer than {least} integers, with alignment 'pytorch'"
    for shape in ([least], [2, least]):
        with pytest.raises(ValueError, match=said):
            graphs.random_permutation(shape, **PYTORCH, global_seed=1)
        with pytest.raises(ValueError, match=said):
            reference.random_permutation(shape, **PYTORCH, global_seed=1)
    graphs.random_permutation([least - 1], **PYTORCH, global_seed=1)


@pytest.mark.parametrize(
    "name", [n for n in DRAWS if n.startswith(("uniform", "normal", "bernoulli"))]
)
def test_generate_draws_what_a_node_draws(name: str) -> None:
    _, given = DRAWS[name]
    arguments = {k: v for k, v in given.items() if k != "output_type"}
    expected, after = drawn(name, state=SEED_42)
    dtype = expected.dtype if "bernoulli" in name else DTYPES[given.get("output_type", "f32")]
    out = np.empty((2, 20), dtype)
    state = onnx_philox.generate(TorchState.from_seed(42), out=out, **arguments)
    assert_same_bits(out, expected)
    assert isinstance(state, TorchState)
    assert_same_bits(state.to_array(), after)
    rows = onnx_philox.generate(STATES, out=out, **arguments, **PYTORCH)
    assert_all_same((out, rows), drawn(name, state=STATES))


@pytest.mark.parametrize(
    ("state", "dtype", "said"),
    [
        (PhiloxState.from_seed(1), np.float32, "6 words are a PhiloxState, of alignment 'tens"),
        (
            np.zeros((2, 6), np.uint32),
            np.float32,
            "6 words are a PhiloxState, of alignment",
        ),
        (
            np.zeros(7, np.uint32),
            np.float32,
            "Pass TorchState.from_seed(seed).to_array()",
        ),
        (bad_state(4, 625), np.float32, "the state's next must be from 0 to 624: got 625"),
        (SEED_42, np.uint32, "TypeError: out must be of floats, int32, int64 or bool: got uint32"),
    ],
)
def test_generate_refuses_what_torch_s_generator_is_not(state: Any, dtype: Any, said: str) -> None:
    out = np.zeros(4, dtype)
    assert_refused(lambda: onnx_philox.generate(state, out=out, **PYTORCH), said)
    assert not out.any()
    said = "alignment must be 'tensorflow' or 'pytorch': got 'jax'"
    assert_refused(lambda: onnx_philox.generate(state, out=out, alignment="jax"), said)
