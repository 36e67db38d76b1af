"""A generator that exists in Python alone: for test_next_generator, in a process of its own.

A state of it has three words: a seed's two, and how many blocks of Philox have been drawn. It draws
what Philox draws there, but in the way of torch's generator: without streams, runs or rows.
"""

from __future__ import annotations

import json
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import parser
from onnx.reference import ReferenceEvaluator

import onnx_philox as op
from onnx_philox._contract import generators, inputs
from onnx_philox._contract.generators import Generator
from onnx_philox._numbers import call, noise
from onnx_philox._rewriting.in_onnx.passes.carry_generator import OneGenerator

WORDS = 3


@dataclass(frozen=True)
class BlockState:
    """A seed, and the blocks that are drawn."""

    seed: int
    block: int = 0

    @classmethod
    def from_array(cls, array: Any) -> BlockState:
        low, high, block = np.asarray(array).reshape(WORDS).tolist()
        return cls(low | high << 32, block)

    def to_array(self) -> np.ndarray:
        return np.array([self.seed & 0xFFFFFFFF, self.seed >> 32, self.block], np.uint32)

    def __array__(self, dtype: Any = None, copy: Any = None) -> np.ndarray:
        return self.to_array()


def _fill(
    states: np.ndarray, _seeds: Any, values: Any, distribution: Any, fill: Any, *outs: np.ndarray
) -> np.ndarray:
    each = states.reshape(-1, WORDS)
    after = np.empty_like(each)
    for i, row in enumerate(each):
        state = BlockState.from_array(row)
        parts = [out.reshape(len(each), -1)[i] for out in outs]
        begin = op.PhiloxState(state.block, state.seed).to_array()
        drawn = call.fill_from(begin, (0, 0), values, distribution, fill, *parts)
        after[i] = BlockState(state.seed, op.PhiloxState.from_array(drawn).counter).to_array()
    return after.reshape(states.shape)


class BlockGenerator(Generator):
    """Answers where it differs from Philox."""

    def of_seed(self, owner: str, seed: Any, run: int = 0) -> np.ndarray:  # noqa: ARG002
        return BlockState(self.check_seed(owner, "seed", seed)).to_array()

    def of_seeds(self, seeds: np.ndarray) -> np.ndarray:
        return np.array([self.of_seed("", int(seed)) for seed in seeds])

    def check_node(self, *_: Any) -> None:
        """All is allowed."""

    def about_input(self, name: str, *, per_row: bool) -> str:
        rows, each = ("batch, ", " for each row") if per_row else ("", "")
        is_one = "a block for each row" if per_row else "the block at first"
        return f"The input {name} (uint32[{rows}{self.words}]: {self.seeding}{each}) is {is_one}"

    def fill_from(self) -> Any:
        return _fill

    def rewriting(self) -> OneGenerator:
        return OneGenerator(self)

    def noise(self, owner: str, seed: Any, like: Any, gpu: Any) -> Any:  # noqa: ARG002
        return noise.PhiloxNoise(owner, seed) if like == "blocks" else None


BLOCKS = BlockGenerator(
    alignment="blocks",
    owner="Block",
    state=BlockState,
    words=WORDS,
    is_counter_based=False,
    least_exponent=inputs.LEAST_EXPONENT,
    seed_bits=16,
    seed_at=slice(0, 2),
    made="BlockState(seed)",
    remedy="Pass BlockState(seed).to_array().",
    seeding="BlockState(seed).to_array()",
)


def register() -> None:
    """Adds it to the generators."""
    generators.registered()[BLOCKS.alignment] = BLOCKS
    words = (*inputs.ALIGNMENT.allowed, BLOCKS.alignment)
    object.__setattr__(inputs.ALIGNMENT, "allowed", words)


def _model() -> onnx.ModelProto:
    """Two draws, for a rewrite."""
    return parser.parse_model("""<ir_version: 8, opset_import: ["": 17]>
    two (float[rows, 3] x) => (float[rows, 3] u, float[rows, 3] n) {
        u = RandomUniformLike (x)
        n = RandomNormalLike (x)
    }""")


def _philox(seed: int, block: int, draw: str) -> np.ndarray:
    """Six numbers of Philox, in the shape of the model's draws."""
    values = np.empty((2, 3), np.float32)
    numbers = {"mean": 0, "scale": 1} if draw == "n" else {}
    op.generate(op.PhiloxState(block, seed), out=values, **numbers)
    return values


def _same(outputs: Any, seed: int, block: int) -> bool:
    u, n = (_philox(seed, block + 2 * i, draw) for i, draw in enumerate("un"))
    return bool((outputs["u"] == u).all() and (outputs["n"] == n).all())


def _refusal(call_: Any) -> str:
    try:
        call_()
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return "nothing refused"


def _in_python() -> dict[str, Any]:
    """Builders, `generate`, onnx.reference, rewrites and `Pipeline`."""
    said: dict[str, Any] = {}
    plain = op.graphs.random_uniform([4], 0, 1, "f32", alignment="blocks", stateful=True)
    rows = op.graphs.random_uniform([None, 4], 0, 1, "f32", alignment="blocks", per_row=True)
    said["state of the builder"], said["states of its rows"] = (
        [d.dim_value or d.dim_param for d in model.graph.input[0].type.tensor_type.shape.dim]
        for model in (plain, rows)
    )
    run = ReferenceEvaluator(plain, new_ops=op.onnx_reference.OPS).run
    drawn, after = run(None, {"state": BlockState(7, 5).to_array()})
    into = np.empty(4, np.float32)
    op.generate(op.PhiloxState(5, 7), out=into)
    said["onnx.reference draws it"] = bool((drawn == into).all()), after.tolist()
    also = np.empty(4, np.float32)
    said["generate goes on to"] = str(op.generate(BlockState(7, 5), out=also))
    said["generate draws it"] = bool((also == into).all())
    given = BlockState(7, 5).to_array()
    said["by words"] = str(op.generate(given, out=also, alignment="blocks"))
    said["six words"] = _refusal(
        lambda: op.reference.random_uniform(
            [4], 0, 1, "f32", state=op.PhiloxState().to_array(), alignment="blocks"
        )
    )
    ours, theirs = (op.diffusers.generator(7, like=like).randn(4) for like in ("philox", "blocks"))
    said["noise"] = bool((ours == theirs).all())
    said["no word of noise"] = _refusal(lambda: op.diffusers.generator(7, like="numpy"))
    said["standard nodes"] = _refusal(lambda: op.to_standard_nodes(plain))
    said["native"] = _refusal(lambda: op.onnxruntime.InferenceSession(plain))
    x = {"x": np.zeros((2, 3), np.float32)}
    with op.Pipeline(_model(), alignment="blocks", backend="python") as pipeline:
        said["pipeline"] = str(pipeline)
        request = pipeline.request(seed=9)
        results = [request(x), request(x)]
        said["runs of a request"] = [_same(r, 9, 4 * i) for i, r in enumerate(results)]
        said["states of a result"] = str(results[1].states)
        again = pipeline.request(resume=json.dumps(request.checkpoint()))
        said["resumed"] = _same(again(x), 9, 8)
        said["seed of the system"] = pipeline.request().seed < 2**BLOCKS.seed_bits
    with op.Pipeline(_model(), alignment="blocks", per_row=True, backend="python") as pipeline:
        said["one seed for rows"] = _refusal(lambda: pipeline.request(seed=9, rows=2)(x))
        result = pipeline.request(seeds=[3, 4])(x)
        said["a seed for each row"] = str(result.states)
    return said


def _in_commands(folder: Path) -> dict[str, Any]:
    """What rewrite, run and inspect say."""
    from click.testing import CliRunner

    from onnx_philox._command.app import app

    said = {}
    model, new, rows = (folder / name for name in ("m.onnx", "new.onnx", "rows.onnx"))
    onnx.save(_model(), model)
    np.save(folder / "x.npy", np.zeros((2, 3), np.float32))

    def command(*words: Any) -> str:
        done = CliRunner().invoke(app, [str(word) for word in words], env={"COLUMNS": "1000"})
        return " ".join(done.output.split())

    said["rewrite"] = command("rewrite", model, "-o", new, "--alignment", "blocks")
    said["rewrite rows"] = command(
        "rewrite", model, "-o", rows, "--alignment", "blocks", "--per-row"
    )
    given = ["--input", f"x={folder / 'x.npy'}", "--backend", "python"]
    said["run"] = command("run", new, "--seed", 9, "--runs", 2, *given)
    said["run with a first run"] = command("run", new, "--first-run", 3, *given)
    said["run rows"] = command("run", rows, "--seed", 9, *given)
    said["inspect"] = command("inspect", new)
    return said


if __name__ == "__main__":
    register()
    with tempfile.TemporaryDirectory() as folder:
        print(json.dumps(_in_python() | _in_commands(Path(folder)), indent=1))
