"""Whether a model is rewritten, how to run one that is, and what to say of one that is not."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

from onnx_philox._command import paths
from onnx_philox._contract import generators
from onnx_philox._contract.generators import Generator
from onnx_philox._files.model_file import opened
from onnx_philox._files.openvino_ir import is_ir
from onnx_philox._models.streams import generator_of, next_of, read_input
from onnx_philox._models.untouched import Originals
from onnx_philox._rewriting import earlier_rewrite
from onnx_philox._rewriting.api import find_random_nodes
from onnx_philox._rewriting.asked import OWNER
from onnx_philox._runtimes.port import STATES, ArgumentError


@dataclass(frozen=True)
class Inside:
    """What decides the numbers of a model."""

    own_nodes: int = 0
    """The random nodes that each runtime draws in its own way."""
    has_seed: bool = False
    """Whether a rewrite put a seed into the model."""
    has_state: bool | None = None
    """Whether it takes a state, so that the others do not matter; None where that is unknown."""
    state: str = ""
    """The input that its random nodes read as their state, if it takes one."""
    next_state: str | None = None
    """The output with the next state, if it has one."""
    generator: Generator = generators.PHILOX
    """The generator by which it draws."""
    variable: str = ""
    """The variable that holds its state, if one does."""

    @property
    def takes_seed(self) -> bool:
        """Whether a seed can set its numbers, as far as is known."""
        return self.has_state is not False

    @property
    def states(self) -> Mapping[str, str | None]:
        """The inputs that may be its state, best first, and the outputs with the next one."""
        if self.has_state is None:
            return STATES
        return {self.state: self.next_state} if self.has_state else {}

    def refuse_seed(self, seed: int, model: Path) -> NoReturn:
        """Refuses a seed for a model that takes no state.

        Raises:
            ArgumentError: Always.
        """
        fact, remedy = "takes no state", "Leave it out."
        if self.own_nodes:
            fact, remedy = f"has {self.counted} and no state", rewrite_first(model)
        elif self.variable:
            fact = f"keeps its state in the variable {self.variable!r}"
            remedy = "Leave it out, or run the model that make_stateful was given."
        elif self.has_seed:
            fact = "has its seed inside"
            remedy = "Leave it out, or rewrite the original without a seed."
        elif self.state:
            fact = f"reads several states from {self.state!r}"
            remedy = "Pass that input, with --input."
        raise ArgumentError(
            f"--seed must be left out, since the model {fact}: got {seed}. {remedy}"
        )

    @property
    def counted(self) -> str:
        """The random nodes of its own, in words."""
        return f"{self.own_nodes} random node{'s'[: self.own_nodes > 1]} of its own"


def rewrite_first(model: Path) -> str:
    """What to do with a model whose random nodes each runtime draws in its own way."""
    return f"Rewrite it first: onnx-philox rewrite {shlex.quote(str(model))} -o FILE"


def inside(model: Path) -> Inside:
    """Looks into a file; finds nothing in what it cannot read."""
    if is_ir(model):
        return _inside_ir(model)
    try:
        with opened(model, "run") as file:
            read = Originals(file.proto, file.path.parent, owner=OWNER).model
            state, drawn_by = read_input(read), generator_of(read)
            if state is not None:
                name, after = state.name or "", next_of(read, state)
                return Inside(has_state=True, state=name, next_state=after, generator=drawn_by)
            seed = earlier_rewrite.read(read, None).seed
            own = _count_own(read)
            return Inside(own, seed is not None, has_state=False, generator=drawn_by)
    except (OSError, TypeError, ValueError):
        return Inside()


def _count_own(model: Any) -> int:
    """How many random nodes each runtime draws in its own way."""
    return len([node for node in find_random_nodes(model) if not node.is_reproducible])


def _inside_ir(path: Path) -> Inside:
    try:
        from onnx_philox._rewriting.in_openvino import earlier, files

        model = files.read(path, "run")
        recorded = earlier.read(model)
        own = _count_own(model)
    except (OSError, TypeError, ValueError, ImportError):
        return Inside()
    drawn_by = recorded.generator
    if recorded.is_input:
        name, after = recorded.state_name, recorded.next_state
        return Inside(has_state=True, state=name, next_state=after, generator=drawn_by)
    if recorded.variable:
        return Inside(own, has_state=False, generator=drawn_by, variable=recorded.variable)
    has_seed = recorded.seed is not None
    # Standard nodes draw too, and nothing here knows them.
    if not (own or has_seed):
        return Inside(generator=drawn_by)
    return Inside(own, has_seed, has_state=False, generator=drawn_by)


def inputs_of_ir(path: Path) -> list[str]:
    """The names of an IR's inputs."""
    from onnx_philox._openvino_models.ports import input_names
    from onnx_philox._rewriting.in_openvino import files

    return input_names(files.read(path, "rewrite").inputs, None)


def command_to_run(
    model: Path, *, has_state: bool, has_inputs: bool, target: str | None = None
) -> str:
    """The command line that runs a rewritten model.

    `target` is the runtime that its standard nodes are made for; None for nodes of this package.
    """
    words = ["onnx-philox", "run", str(model)]
    if target == "openvino":
        # In another precision these nodes would draw other floats.
        words += ["--runtime", target, "--precision", "f32"]
    if has_state:
        words += ["--seed", "42", "--runs", "3"]
    if has_inputs:
        words.append("--fill")
    return shlex.join(words)


def check(model: Path) -> None:
    """Refuses a file that is not there, or whose random nodes each runtime draws in its own way.

    Raises:
        ArgumentError: It is such a file.
    """
    paths.check_model(model)
    try:
        nodes = find_random_nodes(model)
    except (OSError, TypeError, ValueError, ImportError):
        # The runtimes report what is wrong with it.
        return
    nodes = [node for node in nodes if not node.is_reproducible]
    if nodes:
        raise ArgumentError(
            f"the model must be a rewritten one: got one with {len(nodes)} random "
            f"node{'s'[: len(nodes) > 1]} of its own, such as {nodes[0].op_type}, which "
            f"each runtime draws in its own way. {rewrite_first(model)}"
        )
