"""How long rewriting with rows takes beside another commit, as a ratio of processor times.

    git worktree add OTHER COMMIT
    python benchmarks/rewriting_two_commits.py OTHER [--nodes 2000] [--only NAME]

Each model is rewritten by turns in two processes, one for each worktree, with the collector off.
Above 1 this worktree is slower; the times are the shortest of nine.
"""

from __future__ import annotations

import argparse
import gc
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import onnx
from onnx import TensorProto, helper

HERE = Path(__file__).parents[1]
ROUNDS = 9
ADDED = "w"
"""The name of all weights: one matrix."""


class Writer:
    """Writes the nodes of a model, one behind the other."""

    def __init__(self) -> None:
        self.nodes: list[onnx.NodeProto] = []

    def __call__(self, kind: str, *inputs: str, **attributes: object) -> str:
        """Adds a node, and returns the name of its output."""
        output = f"v{len(self.nodes)}"
        self.nodes.append(helper.make_node(kind, list(inputs), [output], **attributes))
        return output

    def ints(self, *numbers: int) -> str:
        """Adds a constant vector of int64."""
        return self("Constant", value_ints=list(numbers))


def attention(write: Writer, x: str) -> str:
    """A block of a transformer with its heads split and merged by computed shapes, and dropout."""
    sizes = write("Shape", x)
    rows = write("Gather", sizes, write.ints(0))
    places = write("Gather", sizes, write.ints(1))
    apart = write("Concat", rows, places, write.ints(4), write.ints(4), axis=0)
    joined = write("Concat", rows, places, write.ints(16), axis=0)
    heads = []
    for _ in range(3):
        product = write("MatMul", x, ADDED)
        split = write("Reshape", product, apart)
        heads.append(write("Transpose", split, perm=[0, 2, 1, 3]))
    turned = write("Transpose", heads[1], perm=[0, 1, 3, 2])
    shares = write("Softmax", write("MatMul", heads[0], turned), axis=-1)
    kept = write("Dropout", shares, "half", "training")
    mixed = write("Transpose", write("MatMul", kept, heads[2]), perm=[0, 2, 1, 3])
    merged = write("Reshape", mixed, joined)
    return write("Add", x, merged)


def noise(write: Writer, x: str) -> str:
    """A layer, a nonlinearity and noise."""
    drawn = write("RandomNormalLike", x)
    return write("Add", write("Relu", write("MatMul", x, ADDED)), drawn)


def arithmetic(write: Writer, x: str) -> str:
    """Sizes that are computed number by number, as converters of TensorFlow's models write them."""
    sizes = write("Cast", write("Shape", x), to=TensorProto.INT32)
    rows = write("Slice", sizes, write.ints(0), write.ints(1))
    places = write("Slice", sizes, write.ints(1), write.ints(2))
    count = write("Mul", rows, places)
    flat = write("Concat", write("Cast", count, to=TensorProto.INT64), write.ints(16), axis=0)
    product = write("MatMul", write("Reshape", x, flat), ADDED)
    back = write("Reshape", product, write("Cast", sizes, to=TensorProto.INT64))
    return write("Dropout", back, "half", "training")


MODELS: dict[str, Callable[[Writer, str], str]] = {
    "attention": attention,
    "noise": noise,
    "arithmetic": arithmetic,
}


def model_of(block: Callable[[Writer, str], str], nodes: int) -> bytes:
    """Blocks one behind the other."""
    write = Writer()
    last = "x"
    while len(write.nodes) < nodes:
        last = block(write, last)
    dims = ["batch", "time", 16]
    graph = helper.make_graph(
        write.nodes,
        "blocks",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, dims)],
        [helper.make_tensor_value_info(last, TensorProto.FLOAT, dims)],
        [
            helper.make_tensor(ADDED, TensorProto.FLOAT, [16, 16], [0.1] * 256),
            helper.make_tensor("half", TensorProto.FLOAT, [], [0.5]),
            helper.make_tensor("training", TensorProto.BOOL, [], [True]),
        ],
    )
    opsets = [helper.make_opsetid("", 17)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=8).SerializeToString()


def rewrite_as_asked(source: str, nodes: int) -> None:
    """What a process of one worktree does: a rewrite for each name of a model that it reads."""
    editable = [f for f in sys.meta_path if type(f).__module__.startswith("_editable")]
    for finder in editable:
        sys.meta_path.remove(finder)
    sys.path.insert(0, source)
    import onnx_philox.rewriting

    assert Path(onnx_philox.__file__).is_relative_to(source)
    models = {name: onnx.load_from_string(model_of(block, nodes)) for name, block in MODELS.items()}
    gc.disable()
    for line in sys.stdin:
        start = time.process_time()
        onnx_philox.rewriting.make_reproducible(models[line.strip()], per_row=True, batch="batch")
        print(time.process_time() - start, flush=True)
        gc.collect()


class Worktree:
    """A process that rewrites with the sources of a worktree."""

    def __init__(self, folder: Path, nodes: int) -> None:
        command = [sys.executable, __file__, "--source", str(folder / "src"), "--nodes", str(nodes)]
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def seconds(self, model: str) -> float:
        """Of processor time, of one rewrite."""
        asked, said = self._process.stdin, self._process.stdout
        assert asked is not None
        assert said is not None
        asked.write(f"{model}\n")
        asked.flush()
        return float(said.readline())

    def end(self) -> None:
        """Waits until the process has ended."""
        self._process.communicate()


def pairs(ours: Worktree, theirs: Worktree, model: str) -> Iterator[tuple[float, float]]:
    """Seconds of both, which take turns at being first."""
    for index in range(ROUNDS):
        if index % 2:
            other = theirs.seconds(model)
            own = ours.seconds(model)
        else:
            own = ours.seconds(model)
            other = theirs.seconds(model)
        yield own, other


def main() -> None:
    parser = argparse.ArgumentParser(description="Rewriting with rows, beside another commit.")
    parser.add_argument("other", type=Path, nargs="?", help="a worktree of the other commit")
    parser.add_argument("--nodes", type=int, default=2000)
    parser.add_argument("--only", choices=MODELS, help="one of the models")
    parser.add_argument("--source", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.source is not None:
        rewrite_as_asked(given.source, given.nodes)
        return
    if given.other is None:
        parser.error("the worktree of the other commit is missing")
    ours = Worktree(HERE, given.nodes)
    theirs = Worktree(given.other.resolve(), given.nodes)
    for model in [given.only] if given.only else MODELS:
        taken = list(pairs(ours, theirs, model))
        own = min(seconds for seconds, _ in taken)
        other = min(seconds for _, seconds in taken)
        print(f"{model:12} {own:6.2f} s here, {other:6.2f} s there: {own / other:.2f}")
    ours.end()
    theirs.end()


if __name__ == "__main__":
    main()
