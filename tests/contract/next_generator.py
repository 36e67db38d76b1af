"""A generator of Python alone, for test_next_generator: Philox's numbers, but as torch has its own,
without streams, runs or rows. A state is a seed's two words, and how many blocks are drawn."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import onnx
from click.testing import CliRunner
from onnx.reference import ReferenceEvaluator

import onnx_philox as op
from onnx_philox._command.app import app
from onnx_philox._contract import generators, inputs
from onnx_philox._contract.generators import Generator
from onnx_philox._numbers import call, sequential_normals
from onnx_philox._rewriting.in_onnx.passes.carry_generator import OneGenerator
from tests.common.cases import parse

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
    states: np.ndarray,
    _seeds: Any,
    values: Any,
    distribution: Any,
    fill: Any,
    *outs: np.ndarray,
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
        return sequential_normals.PhiloxNoise(owner, seed) if like == "blocks" else None


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
    op.generate(
        op.PhiloxState(block + 2, seed),
        out=n,
        mean=0,
        scale=1,
    )
    return bool((outputs["u"] == u).all() and (outputs["n"] == n).all())


def command(words: str) -> str:
    """What a command says of `m.onnx` and `x.npy`, and of what the commands before it made."""
    done = CliRunner().invoke(
        app,
        words.split(),
        env={"COLUMNS": "1000"},
    )
    return " ".join(done.output.split())


class Given:
    """What the rows call, and what they call it with."""

    def __init__(self) -> None:
        model = parse("""two (float[rows, 3] x) => (float[rows, 3] u, float[rows, 3] n) {
            u = RandomUniformLike (x)  n = RandomNormalLike (x) }""")
        self.plain = op.graphs.random_uniform([4], 0, 1, "f32", alignment="blocks", stateful=True)
        self.rows = op.graphs.random_uniform(
            [None, 4], 0, 1, "f32", alignment="blocks", per_row=True
        )
        run = ReferenceEvaluator(self.plain, new_ops=op.onnx_reference.OPS).run
        self.evaluated, self.after = run(None, {"state": BlockState(7, 5).to_array()})
        self.expected = np.empty(4, np.float32)
        self.out = np.empty(4, np.float32)
        op.generate(op.PhiloxState(5, 7), out=self.expected)
        self.x = {"x": np.zeros((2, 3), np.float32)}
        onnx.save(model, "m.onnx")
        np.save("x.npy", self.x["x"])
        self.pipeline = op.Pipeline(model, alignment="blocks", backend="python")
        self.by_rows = op.Pipeline(model, alignment="blocks", per_row=True, backend="python")
        self.request = self.pipeline.request(seed=9)
        self.results = [self.request(self.x), self.request(self.x)]


def dims(model: onnx.ModelProto) -> list[int | str]:
    found = model.graph.input[0].type.tensor_type.shape.dim
    return [d.dim_value or d.dim_param for d in found]


def noise_of(like: str) -> list[float]:
    return op.diffusers.generator(7, like=like).randn(4).tolist()


Row = tuple[Callable[["Given"], Any], str]
# What is called, and what is said: `...` stands for any words.
ROWS: dict[str, Row] = {
    "a state is an input": (
        lambda of: dims(of.plain),
        "[3]",
    ),
    "the states of rows are an input": (
        lambda of: dims(of.rows),
        "['batch', 3]",
    ),
    "onnx.reference draws": (
        lambda of: (np.array_equal(of.evaluated, of.expected), of.after.tolist()),
        "(True, [7, 0, 6])",
    ),
    "generate fills and goes on": (
        lambda of: (op.generate(BlockState(7, 5), out=of.out), np.array_equal(of.out, of.expected)),
        "(BlockState(seed=7, block=6), True)",
    ),
    "generate goes on by words": (
        lambda of: op.generate(
            BlockState(7, 5).to_array(),
            out=of.out,
            alignment="blocks",
        ),
        "BlockState(seed=7, block=6)",
    ),
    "the words of another generator": (
        lambda _: op.reference.random_uniform(
            [4], 0, 1, "f32", state=np.zeros(6, "u4"), alignment="blocks"
        ),
        "ValueRefusalError: RandomUniform: input 'state' must be [3], or [1, ..., 1, 3] "
        "up to rank 8, or [B, 3], a state for each row of the output: got shape [6]. "
        "Pass BlockState(seed).to_array().",
    ),
    "noise of it": (
        lambda _: noise_of("blocks") == noise_of("philox"),
        "True",
    ),
    "noise of none": (
        lambda _: noise_of("numpy"),
        "...like must be 'philox', 'torch' or 'torch_cuda': got 'numpy'...",
    ),
    "runs draw in turn": (
        lambda of: [is_philox_s(result, 9, 4 * i) for i, result in enumerate(of.results)],
        "[True, True]",
    ),
    "a result has its state": (
        lambda of: of.results[1].states,
        "[BlockState(seed=9, block=4)]",
    ),
    "a request is resumed": (
        lambda of: is_philox_s(
            of.pipeline.request(resume=json.dumps(of.request.checkpoint()))(of.x), 9, 8
        ),
        "True",
    ),
    "a seed is small": (
        lambda of: of.pipeline.request().seed < 2**BLOCKS.seed_bits,
        "True",
    ),
    "a pipeline prints it": (
        lambda of: of.pipeline,
        "...2 random nodes with Block's numbers, one state...",
    ),
    "a request of several seeds": (
        lambda of: of.by_rows.request(seeds=[3, 4])(of.x).states,
        "[BlockState(seed=3, block=0), BlockState(seed=4, block=0)]",
    ),
    "rows have no rule": (
        lambda of: of.by_rows.request(seed=9, rows=2)(of.x),
        "...must be given for each row, since Block has no rule...",
    ),
    "rewrite": (
        lambda _: command("rewrite m.onnx -o new.onnx --alignment blocks"),
        "...one generator of Block's goes through them in the order of the file...The "
        "input random_state (uint32[3]: BlockState(seed).to_array()) is the block at "
        "first; the output next_random_state is the input of the next run....",
    ),
    "rewrite for rows": (
        lambda _: command("rewrite m.onnx -o rows.onnx --alignment blocks --per-row"),
        "...The input random_state (uint32[batch, 3]: BlockState(seed).to_array() for "
        "each row) is a block for each row; the output next_random_state is the input of "
        "the next run....",
    ),
    "inspect": (
        lambda _: command("inspect new.onnx"),
        "...random_state, Block's generator (BlockState(seed).to_array());...",
    ),
    "run": (
        lambda _: command("run new.onnx --seed 9 --runs 2 --input x=x.npy --backend python"),
        "...seed 9...Each run gave different numbers...",
    ),
    "run from a later run": (
        lambda _: command("run new.onnx --first-run 3 --input x=x.npy --backend python"),
        "...that draws Block's numbers, whose generator counts no runs...",
    ),
    "run of rows": (
        lambda _: command("run rows.onnx --seed 9 --input x=x.npy --backend python"),
        "...since Block has no rule that numbers rows: got the seed 9...",
    ),
    "standard nodes": (
        lambda of: op.to_standard_nodes(of.plain),
        "...must be 'tensorflow'...got 'blocks'...",
    ),
    "a session": (
        lambda of: op.onnxruntime.InferenceSession(of.plain),
        "...must be 'tensorflow'...got 'blocks'...",
    ),
}


def said(call_: Callable[[Given], Any], given: Given) -> str:
    try:
        return str(call_(given))
    except Exception as error:
        return f"{type(error).__name__}: {error}"


if __name__ == "__main__":
    register()
    given = Given()
    print(json.dumps({name: said(call_, given) for name, (call_, _) in ROWS.items()}))
