"""A generator of Python alone, for test_next_generator: Philox's numbers, but as torch has its own,
without streams, runs or rows. A state is a seed's two words, and how many blocks are drawn."""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass
from typing import Any

import numpy as np
import onnx
from cases import parse
from click.testing import CliRunner
from onnx.reference import ReferenceEvaluator

import onnx_philox as op
from onnx_philox._command.app import app
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
    generators.registered()[BLOCKS.alignment] = BLOCKS
    words = (*inputs.ALIGNMENT.allowed, BLOCKS.alignment)
    object.__setattr__(inputs.ALIGNMENT, "allowed", words)


def is_philox_s(outputs: Any, seed: int, block: int) -> bool:
    """Whether a run has the six numbers that Philox draws at a block, and at the one after two."""
    u, n = np.empty((2, 2, 3), np.float32)
    op.generate(op.PhiloxState(block, seed), out=u)
    op.generate(op.PhiloxState(block + 2, seed), out=n, mean=0, scale=1)
    return bool((outputs["u"] == u).all() and (outputs["n"] == n).all())


def command(words: str) -> str:
    """What a command says of `m.onnx` and `x.npy`, and of what the commands before it made."""
    done = CliRunner().invoke(app, words.split(), env={"COLUMNS": "1000"})
    return " ".join(done.output.split())


def names() -> dict[str, Any]:
    """What the calls name."""
    model = parse("""two (float[rows, 3] x) => (float[rows, 3] u, float[rows, 3] n) {
        u = RandomUniformLike (x)  n = RandomNormalLike (x) }""")
    plain = op.graphs.random_uniform([4], 0, 1, "f32", alignment="blocks", stateful=True)
    rows = op.graphs.random_uniform([None, 4], 0, 1, "f32", alignment="blocks", per_row=True)
    run = ReferenceEvaluator(plain, new_ops=op.onnx_reference.OPS).run
    evaluated, after = run(None, {"state": BlockState(7, 5).to_array()})
    expected, out = np.empty((2, 4), np.float32)
    op.generate(op.PhiloxState(5, 7), out=expected)
    x = {"x": np.zeros((2, 3), np.float32)}
    onnx.save(model, "m.onnx")
    np.save("x.npy", x["x"])
    pipeline = op.Pipeline(model, alignment="blocks", backend="python")
    by_rows = op.Pipeline(model, alignment="blocks", per_row=True, backend="python")
    request = pipeline.request(seed=9)
    results = [request(x), request(x)]
    return globals() | locals()


def dims(model: onnx.ModelProto) -> list[int | str]:
    found = model.graph.input[0].type.tensor_type.shape.dim
    return [d.dim_value or d.dim_param for d in found]


def noise_of(like: str) -> list[float]:
    return op.diffusers.generator(7, like=like).randn(4).tolist()


def said(call_: str, of: dict[str, Any]) -> str:
    try:
        return str(eval(call_, of))
    except Exception as error:
        return f"{type(error).__name__}: {error}"


if __name__ == "__main__":
    register()
    known = names()
    print(json.dumps([said(call_, known) for call_ in sys.argv[1:]]))
