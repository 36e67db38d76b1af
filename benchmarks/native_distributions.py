"""Rewritten models in both runtimes, beside the models with the runtimes' own random nodes."""

from __future__ import annotations

import functools
import importlib.util
from collections.abc import Iterator

import numpy as np
import onnx
from native_runtimes import STATE_WORDS, onnxruntime_call, openvino_call, openvino_ours
from onnx import TensorProto, helper, numpy_helper, parser
from paired import Call, Row, compare

import onnx_philox
from onnx_philox import _native

SIZE_LOG2 = 24
REJECTING_LOG2 = 20
RATIO = np.float32(0.1)
# It has kernels of the random nodes up to opset 21 only; this one has them all.
OPSET = 17
TARGETS = {"RandomNormal": 6.0, "Bernoulli": 1.0, "Dropout": 4.0, "Multinomial": None}
"""On one thread; the contenders' second thread is only reported."""
OPENVINO_TARGETS = {"RandomNormal": 5.0, "Bernoulli": None, "Multinomial": None}
"""Likewise. It refuses a Dropout in training mode."""
EARLIER_DROPOUT_TARGET = 1.8
EXPONENTIAL_TARGETS = {"avx512": 10.0, "avx2": 6.0}
"""By instruction set, on one thread."""
CLASSES = 1 << 10
"""Of a Multinomial, with 2^24 logits in all."""


def own_model(op_type: str, size: int) -> tuple[onnx.ModelProto, dict[str, np.ndarray]]:
    """A model of one standard node, and what to feed it."""
    feeds: dict[str, np.ndarray] = {}
    initializers = []
    inputs, attributes, dtype = [], {"seed": 1.0}, TensorProto.FLOAT
    shape = [size]
    random = np.random.default_rng(0)
    match op_type:
        case "RandomNormal":
            attributes["shape"] = [size]
        case "Bernoulli":
            feeds["x"] = random.random(size, np.float32)
        case "Dropout":
            attributes["seed"] = 1
            feeds["x"] = random.random(size, np.float32)
            initializers = [
                numpy_helper.from_array(np.asarray(RATIO), "ratio"),
                numpy_helper.from_array(np.asarray(True), "training_mode"),
            ]
        case "Multinomial":
            feeds["x"] = random.normal(size=(size // CLASSES, CLASSES)).astype(np.float32)
            attributes["sample_size"] = 1
            dtype, shape = TensorProto.INT32, [size // CLASSES, 1]
    inputs = [*feeds, *(i.name for i in initializers)]
    node = helper.make_node(op_type, inputs, ["values"], **attributes)
    graph = helper.make_graph(
        [node],
        "own",
        [helper.make_tensor_value_info(n, TensorProto.FLOAT, a.shape) for n, a in feeds.items()],
        [helper.make_tensor_value_info("values", dtype, shape)],
        initializer=initializers,
    )
    imports = [helper.make_opsetid("", OPSET)]
    return helper.make_model(graph, opset_imports=imports, ir_version=8), feeds


def contenders(op_type: str, size: int, threads: int) -> tuple[Call, Call]:
    """The rewritten model, from a state to the next, and the model it was made of."""
    model, feeds = own_model(op_type, size)
    rewritten = onnx_philox.make_reproducible(model)
    values = model.graph.output[0].type.tensor_type
    dtype = helper.tensor_dtype_to_np_dtype(values.elem_type)
    outputs = {"values": np.full([d.dim_value for d in values.shape.dim], -1, dtype)}
    state = {"random_state": STATE_WORDS}
    next_state = {"next_random_state": np.zeros_like(STATE_WORDS)}
    calls = []
    for given, more_in, more_out in ((rewritten, state, next_state), (model, {}, {})):
        outputs["values"][...] = -1
        call = onnxruntime_call(
            given.SerializeToString(), feeds | more_in, outputs | more_out, threads
        )
        call()
        check(op_type, feeds, outputs["values"])
        calls.append(call)
    ours, own = calls
    return ours, own


def openvino_contenders(op_type: str, size: int, threads: int) -> tuple[Call, Call]:
    """The same in OpenVINO, whose own nodes draw different numbers in each run, too."""
    model, feeds = own_model(op_type, size)
    rewritten = onnx_philox.make_reproducible(model)
    calls = []
    for given, more in ((rewritten, {"random_state": STATE_WORDS}), (model, {})):
        request = openvino_ours(given, feeds | more, threads)
        calls.append(openvino_call(request))
        calls[-1]()
        check(op_type, feeds, request.get_tensor("values").data)
    ours, own = calls
    return ours, own


def check(op_type: str, feeds: dict[str, np.ndarray], values: np.ndarray) -> None:
    """Whether a call wrote what it should where it was told."""
    match op_type:
        case "RandomNormal":
            assert abs(values.mean()) < 0.01
            assert abs(values.std() - 1) < 0.01
        case "Bernoulli":
            assert set(np.unique(values)) == {0, 1}
            assert abs(values.mean() - feeds["x"].mean()) < 0.01
        case "Dropout":
            kept = values != 0
            assert abs(kept.mean() - (1 - RATIO)) < 0.01
            assert np.allclose(values[kept], feeds["x"][kept] / (1 - RATIO))
        case "Multinomial":
            assert values.min() >= 0
            assert values.max() < CLASSES


EARLIER_DROPOUT = """
    <ir_version: 8, opset_import: ["": 17, "onnx_philox": 1]>
    earlier (float[n] x, uint32[6] state) => (float[n] values, uint32[6] next_state)
        <float p = {0.1}, float scale = {1.1111112}, float zero = {0}> {
      shape = Shape (x)
      dropped, next_state = onnx_philox.RandomBernoulli (shape, p, state)
      scaled = Mul (x, scale)
      values = Where (dropped, zero, scaled)
    }"""
"""What a rewrite made of a Dropout before there was RandomDropout."""


def dropouts(pairs: int) -> Iterator[Row]:
    """A model of one RandomDropout, beside the nodes that it replaces in rewritten models."""
    size = 1 << SIZE_LOG2
    feeds = {"x": np.random.default_rng(0).random(size, np.float32), "state": STATE_WORDS}
    now = onnx_philox.graphs.random_dropout(None, RATIO, rank=1, stateful=True)
    now_feeds = {"data": feeds["x"], "state": STATE_WORDS}
    for threads in (1, 2):
        calls = []
        for model, name, given in (
            (now, "output", now_feeds),
            (parser.parse_model(EARLIER_DROPOUT), "values", feeds),
        ):
            values = np.full(size, -1, np.float32)
            outputs = {name: values, "next_state": np.zeros_like(STATE_WORDS)}
            calls.append(onnxruntime_call(model.SerializeToString(), given, outputs, threads))
            calls[-1]()
            check("Dropout", feeds, values)
        names = "distributions", "ONNX Runtime RandomDropout", "RandomBernoulli, Mul and Where"
        target = EARLIER_DROPOUT_TARGET if threads == 1 else None
        row = Row(*names, threads, f"2^{SIZE_LOG2}", target=target)
        yield compare(row, *calls, pairs, lambda s: f"{size / s / 1e6:.0f} M/s")


def exponentials(pairs: int) -> Iterator[Row]:
    """A model of one RandomExponential, beside the function of PyTorch that it replaces."""
    names = "distributions", "ONNX Runtime RandomExponential", "PyTorch's exponential_"
    if importlib.util.find_spec("torch") is None:
        yield Row(*names, note="PyTorch is not installed")
        return
    import torch

    size = 1 << SIZE_LOG2
    model = onnx_philox.graphs.random_exponential([size], 1, "f32", stateful=True)
    tensor = torch.empty(size)
    for threads in (1, 2):
        target = EXPONENTIAL_TARGETS.get(_native.isa()) if threads == 1 else None
        row = Row(*names, threads, f"2^{SIZE_LOG2}", target=target)
        values = np.full(size, -1, np.float32)
        outputs = {"values": values, "next_state": np.zeros_like(STATE_WORDS)}
        feeds = {"state": STATE_WORDS}
        ours = onnxruntime_call(model.SerializeToString(), feeds, outputs, threads)
        ours()
        assert abs(values.mean() - 1) < 0.01
        torch.set_num_threads(threads)
        yield compare(row, ours, tensor.exponential_, pairs, lambda s: f"{size / s / 1e6:.0f} M/s")


def rejecting(pairs: int) -> Iterator[Row]:
    """Models of one RandomGamma or RandomPoisson on one thread, beside NumPy's functions."""
    random = np.random.default_rng(0)
    size = 1 << REJECTING_LOG2
    shape = [size]
    for what, peer, number, dtype in (
        ("gamma", random.standard_gamma, 0.5, "f32"),
        ("gamma", random.standard_gamma, 2.5, "f32"),
        ("gamma", random.standard_gamma, 1000.0, "f32"),
        ("poisson", random.poisson, 3.0, "i32"),
        ("poisson", random.poisson, 100.0, "i32"),
        ("poisson", random.poisson, 1e6, "i32"),
    ):
        model = getattr(onnx_philox.graphs, f"random_{what}")(shape, number, dtype, stateful=True)
        values = np.full(size, -1, np.float32 if dtype == "f32" else np.int32)
        outputs = {"values": values, "next_state": np.zeros_like(STATE_WORDS)}
        ours = onnxruntime_call(model.SerializeToString(), {"state": STATE_WORDS}, outputs, 1)
        ours()
        assert abs(values.mean() / number - 1) < 0.02
        row = Row(
            "distributions",
            f"ONNX Runtime Random{what.title()} of {number:g}",
            f"NumPy's {peer.__name__}",
            1,
            f"2^{REJECTING_LOG2}",
            target=3.0,
        )
        theirs = functools.partial(peer, number, size)
        yield compare(row, ours, theirs, pairs, lambda s: f"{size / s / 1e6:.0f} M/s")


def permutations(pairs: int) -> Iterator[Row]:
    """Models of one RandomPermutation on one thread, beside NumPy's."""
    random = np.random.default_rng(0)
    for dtype, log10 in (("i64", 6), ("i64", 4), ("i32", 6)):
        size = 10**log10
        model = onnx_philox.graphs.random_permutation([size], dtype, stateful=True)
        values = np.full(size, -1, np.int64 if dtype == "i64" else np.int32)
        outputs = {"values": values, "next_state": np.zeros_like(STATE_WORDS)}
        ours = onnxruntime_call(model.SerializeToString(), {"state": STATE_WORDS}, outputs, 1)
        ours()
        assert (np.sort(values) == np.arange(size)).all()
        row = Row(
            "distributions",
            f"ONNX Runtime RandomPermutation {dtype}",
            "NumPy's permutation",
            1,
            f"10^{log10}",
            target=1.0 if (dtype, log10) == ("i64", 6) else None,
        )
        theirs = functools.partial(random.permutation, size)

        def show(seconds: float, size: int = size) -> str:
            return f"{size / seconds / 1e6:.0f} M/s"

        yield compare(row, ours, theirs, pairs, show)


TOKENS, CLASSES_OF_TOKENS = 32, 128000
TOKEN_TARGETS = {50: 2.0, 0: 5.0}
"""By top_k, beside PyTorch's operations on one thread."""


def tokens(pairs: int) -> Iterator[Row]:
    """Models of one RandomToken on one thread, beside what samplers of PyTorch compute."""
    peers = {50: "topk, softmax, cumsum, multinomial", 0: "softmax, sort, cumsum, multinomial"}
    if importlib.util.find_spec("torch") is None:
        for top_k, peer in peers.items():
            name = f"ONNX Runtime RandomToken, top_k {top_k}"
            yield Row("distributions", name, f"PyTorch's {peer}", note="PyTorch is not installed")
        return
    import torch

    torch.set_num_threads(1)
    shape = TOKENS, CLASSES_OF_TOKENS
    logits = np.random.default_rng(0).normal(0, 1, shape).astype(np.float32)
    tensor = torch.from_numpy(logits)
    share = 0.9

    def theirs(top_k: int) -> None:
        if top_k:
            values, indices = torch.topk(tensor, top_k)
            p = torch.softmax(values, -1)
        else:
            p, indices = torch.softmax(tensor, -1).sort(-1, descending=True)
        p[torch.cumsum(p, -1) - p > share] = 0
        indices.gather(-1, torch.multinomial(p, 1))

    for top_k, peer in peers.items():
        model = onnx_philox.graphs.random_token(
            top_k=top_k, top_p=share, output_type="i64", stateful=True
        )
        values = np.full((TOKENS, 1), -1, np.int64)
        outputs = {"token": values, "next_state": np.zeros_like(STATE_WORDS)}
        feeds = {"logits": logits, "state": STATE_WORDS}
        ours = onnxruntime_call(model.SerializeToString(), feeds, outputs, 1)
        ours()
        expected = onnx_philox.reference.random_token(
            logits[:1], top_k=top_k, top_p=share, state=STATE_WORDS
        )
        assert (values[:1] == expected[0]).all()
        row = Row(
            "distributions",
            f"ONNX Runtime RandomToken, top_k {top_k}",
            f"PyTorch's {peer}",
            1,
            f"{TOKENS} x {CLASSES_OF_TOKENS}",
            target=TOKEN_TARGETS[top_k],
        )
        call = functools.partial(theirs, top_k)
        yield compare(row, ours, call, pairs, lambda s: f"{s / TOKENS * 1e6:.0f} us/row")


def distributions_part(pairs: int) -> Iterator[Row]:
    yield from exponentials(pairs)
    yield from rejecting(pairs)
    yield from dropouts(pairs)
    yield from permutations(pairs)
    yield from tokens(pairs)
    size = 1 << SIZE_LOG2
    for runtime, make, targets in (
        ("ONNX Runtime", contenders, TARGETS),
        ("OpenVINO", openvino_contenders, OPENVINO_TARGETS),
    ):
        for op_type, target in targets.items():
            for threads in (1, 2):
                row = Row(
                    "distributions",
                    f"{runtime} {op_type}, rewritten",
                    f"its {op_type}",
                    threads,
                    f"2^{SIZE_LOG2}",
                    target=target if threads == 1 else None,
                )
                ours, own = make(op_type, size, threads)
                # Of what is drawn, or of what is read to draw a class of it.
                yield compare(row, ours, own, pairs, lambda s: f"{size / s / 1e6:.0f} M/s")
