"""How fast the native extension draws float32, beside OpenVINO's own RandomUniform on the CPU.

    python bench_openvino.py LIBRARY [--rounds N] [--threads 1 2]

The shape is a model input on both sides: a node of constants is computed when the model is
compiled. In every round each model runs in turn, many times if it is short; a ratio is the median
over the rounds of their time by ours.
"""

from __future__ import annotations

import argparse
import statistics
import time

import numpy as np
import openvino as ov
from openvino import opset8

SIZES = {2**10: 200, 2**12: 100, 2**16: 40, 2**20: 4, 2**24: 1}
"""Elements, and how often a round runs each model."""
TARGETS = {2**10: 1 / 1.3, 2**16: 1.2, 2**20: 1.5, 2**24: 1.5}
TARGETS_STATE = {2**10: 1 / 1.7}


def models(core: ov.Core) -> dict[str, ov.Model]:
    import onnx
    from onnx import TensorProto, helper

    def ours(stateful: bool) -> ov.Model:
        inputs = [helper.make_tensor_value_info("shape", TensorProto.INT64, [1])]
        bounds = [
            helper.make_tensor(n, TensorProto.FLOAT, [], [v]) for n, v in (("low", 0), ("high", 1))
        ]
        if stateful:
            inputs.append(helper.make_tensor_value_info("state", TensorProto.UINT32, [6]))
        names = ["values", "next_state"][: 1 + stateful]
        types = [TensorProto.FLOAT, TensorProto.UINT32]
        node = helper.make_node(
            "RandomUniform",
            ["shape", "low", "high", *["state"] * stateful],
            names,
            domain="onnx_philox",
            output_type="f32",
            global_seed=7,
        )
        outputs = [
            helper.make_tensor_value_info(n, t, [None]) for n, t in zip(names, types, strict=False)
        ]
        graph = helper.make_graph([node], "g", inputs, outputs, initializer=bounds)
        imports = [helper.make_opsetid("", 17), helper.make_opsetid("onnx_philox", 1)]
        model = helper.make_model(graph, opset_imports=imports, ir_version=8)
        onnx.checker.check_model(model)
        return core.read_model(model.SerializeToString())

    shape = opset8.parameter([1], np.int64, "shape")
    theirs = opset8.random_uniform(shape, np.float32(0), np.float32(1), "f32", 7, 0)
    return {
        "OpenVINO": ov.Model([theirs.output(0)], [shape]),
        "ours, seeds": ours(stateful=False),
        "ours, state": ours(stateful=True),
    }


def requests(core: ov.Core, threads: int, size: int) -> dict[str, ov.InferRequest]:
    made = {}
    for name, model in models(core).items():
        config = {"INFERENCE_NUM_THREADS": threads, "NUM_STREAMS": 1}
        request = core.compile_model(model, "CPU", config).create_infer_request()
        request.set_input_tensor(0, ov.Tensor(np.array([size], np.int64)))
        if name.endswith("state"):
            request.set_input_tensor(1, ov.Tensor(np.array([0, 0, 0, 0, 7, 0], np.uint32)))
        for _ in range(5):
            request.infer(share_outputs=True)
        made[name] = request
    return made


def measure(made: dict[str, ov.InferRequest], repeats: int, rounds: int) -> dict[str, list[float]]:
    """Seconds a run, by model and round."""
    times: dict[str, list[float]] = {name: [] for name in made}
    for round_ in range(rounds):
        # Each model comes first as often as last.
        names = list(made) if round_ % 2 == 0 else list(made)[::-1]
        for name in names:
            infer = made[name].infer
            begin = time.perf_counter()
            for _ in range(repeats):
                infer(share_outputs=True)  # without it, Python copies the output
            times[name].append((time.perf_counter() - begin) / repeats)
    return times


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("library")
    parser.add_argument("--rounds", type=int, default=101)
    parser.add_argument("--threads", type=int, nargs="*", default=[1, 2])
    arguments = parser.parse_args()
    core = ov.Core()
    core.add_extension(arguments.library)
    print(f"OpenVINO {ov.__version__}; float32 in [0, 1); medians of {arguments.rounds} rounds")
    print(
        f"{'threads':>7} {'elements':>9} {'model':<12} {'us':>10} {'GB/s':>7} {'ratio':>6} {'target':>7}"
    )
    for threads in arguments.threads:
        for size, repeats in SIZES.items():
            times = measure(requests(core, threads, size), repeats, arguments.rounds)
            for name, seconds in times.items():
                median = statistics.median(seconds)
                pairs = zip(times["OpenVINO"], seconds, strict=True)
                ratio = statistics.median(theirs / ours for theirs, ours in pairs)
                targets = {**TARGETS, **(TARGETS_STATE if name.endswith("state") else {})}
                target = targets.get(size) if name != "OpenVINO" else None
                print(
                    f"{threads:>7} {size:>9} {name:<12} {median * 1e6:>10.1f} "
                    f"{4 * size / median / 1e9:>7.2f} {ratio:>6.2f} {'' if target is None else f'{target:.2f}':>7}",
                    flush=True,
                )


if __name__ == "__main__":
    main()
