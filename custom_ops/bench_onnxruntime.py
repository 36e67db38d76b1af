"""float32 in [0, 1): the library's RandomUniform against ONNX Runtime's own, as ratios of one run.

    python bench_onnxruntime.py build/onnxruntime/libonnx_philox_onnxruntime.so [--rounds 40]

Both write into bound memory (I/O binding), each in a session of its own with equally many threads.
One pair is timed after the other, alternating which goes first; a ratio is the median over pairs
of ONNX Runtime's time divided by ours. Needs NumPy, onnx and onnxruntime. Standard random nodes
have kernels at opset 21 and older only, so the models are of opset 17.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable

import numpy as np
import onnx
import onnxruntime as ort
from onnx import TensorProto, helper, numpy_helper

SEED_WORDS = np.array([0, 0, 0, 0, 42, 0], np.uint32)


def model_of(
    node: onnx.NodeProto,
    size: int,
    inputs: dict[str, tuple[int, list[int]]],
    initializers: dict[str, np.ndarray],
) -> bytes:
    outputs = [helper.make_tensor_value_info("values", TensorProto.FLOAT, [size])]
    if "next_state" in node.output:
        outputs.append(helper.make_tensor_value_info("next_state", TensorProto.UINT32, [6]))
    graph = helper.make_graph(
        [node],
        "bench",
        [helper.make_tensor_value_info(name, *info) for name, info in inputs.items()],
        outputs,
        [numpy_helper.from_array(value, name) for name, value in initializers.items()],
    )
    imports = [helper.make_opsetid("", 17), helper.make_opsetid("onnx_philox", 1)]
    return helper.make_model(graph, opset_imports=imports, ir_version=8).SerializeToString()


def own(size: int) -> tuple[bytes, dict[str, np.ndarray]]:
    node = helper.make_node("RandomUniform", [], ["values"], dtype=1, shape=[size], seed=1.0)
    return model_of(node, size, {}, {}), {}


def own_like(size: int) -> tuple[bytes, dict[str, np.ndarray]]:
    node = helper.make_node("RandomUniformLike", ["x"], ["values"], dtype=1, seed=1.0)
    return model_of(node, size, {"x": (TensorProto.FLOAT, [size])}, {}), {
        "x": np.zeros(size, np.float32)
    }


def ours_seeded(size: int) -> tuple[bytes, dict[str, np.ndarray]]:
    return ours(size, ["shape", "minval", "maxval"], ["values"], {}, global_seed=42)


def ours_stateful(size: int) -> tuple[bytes, dict[str, np.ndarray]]:
    names = ["shape", "minval", "maxval", "state"]
    return ours(size, names, ["values", "next_state"], {"state": SEED_WORDS})


def ours(
    size: int, names: list[str], outputs: list[str], feeds: dict[str, np.ndarray], **seeds: int
) -> tuple[bytes, dict[str, np.ndarray]]:
    node = helper.make_node(
        "RandomUniform", names, outputs, domain="onnx_philox", output_type="f32", **seeds
    )
    initializers = {
        "shape": np.array([size]),
        "minval": np.array(0, np.float32),
        "maxval": np.array(1, np.float32),
    }
    inputs = {"state": (TensorProto.UINT32, [6])} if feeds else {}
    return model_of(node, size, inputs, initializers), feeds


def runner(
    model: bytes, feeds: dict[str, np.ndarray], size: int, threads: int, library: str | None
) -> Callable[[], None]:
    options = ort.SessionOptions()
    options.intra_op_num_threads = threads
    options.log_severity_level = 3
    if library is not None:
        options.register_custom_ops_library(library)
    session = ort.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    binding = session.io_binding()
    for name, value in feeds.items():
        binding.bind_ortvalue_input(name, ort.OrtValue.ortvalue_from_numpy(value))
    memory = {"values": np.zeros(size, np.float32), "next_state": np.zeros(6, np.uint32)}
    for output in session.get_outputs():
        binding.bind_ortvalue_output(
            output.name, ort.OrtValue.ortvalue_from_numpy(memory[output.name])
        )

    def run() -> None:
        session.run_with_iobinding(binding)

    run()
    values = memory["values"]
    assert 0 <= values.min() <= values.max() < 1
    assert abs(values.mean() - 0.5) < 0.1
    return run


def seconds(run: Callable[[], None], calls: int) -> float:
    start = time.perf_counter()
    for _ in range(calls):
        run()
    return (time.perf_counter() - start) / calls


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("library")
    parser.add_argument("--rounds", type=int, default=40)
    parser.add_argument("--log2", type=int, nargs="*", default=[10, 16, 20, 24])
    parser.add_argument("--threads", type=int, nargs="*", default=[1, 2])
    arguments = parser.parse_args()
    print(f"ONNX Runtime {ort.__version__}; median of {arguments.rounds} pairs")
    columns = ("node", "against", "size", "threads", "ours", "GB/s", "ratio")
    print("{:10} {:18} {:>5} {:>7} {:>10} {:>6} {:>6}".format(*columns))
    for log2 in arguments.log2:
        size = 1 << log2
        calls = max(1, (1 << 18) // size)
        for threads in arguments.threads:
            for name, mine, peer_name, peer in (
                ("seeds", ours_seeded, "RandomUniform", own),
                ("state", ours_stateful, "RandomUniform", own),
                ("state", ours_stateful, "RandomUniformLike", own_like),
            ):
                one = runner(*mine(size), size, threads, arguments.library)
                other = runner(*peer(size), size, threads, None)
                pairs = []
                for i in range(arguments.rounds):
                    if i % 2:
                        b = seconds(other, calls)
                        a = seconds(one, calls)
                    else:
                        a = seconds(one, calls)
                        b = seconds(other, calls)
                    pairs.append((a, b / a))
                best = statistics.median(a for a, _ in pairs)
                ratio = statistics.median(r for _, r in pairs)
                print(
                    f"{name:10} {peer_name:18} {f'2^{log2}':>5} {threads:7} {best * 1e6:8.1f}us "
                    f"{4 * size / best / 1e9:6.2f} {ratio:6.2f}",
                    flush=True,
                )


if __name__ == "__main__":
    main()
