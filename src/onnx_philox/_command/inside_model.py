"""Whether a model is rewritten, how to run one that is, and what to say of one that is not."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NoReturn

from onnx_philox._command.wanted import Seed, option_of
from onnx_philox._contract import generators
from onnx_philox._contract.streams import Streams
from onnx_philox._rewriting.drawn_inputs import Sizes
from onnx_philox._rewriting.look import ModelLook
from onnx_philox._rewriting.report import RandomNode
from onnx_philox._runtimes.port import STATES, ArgumentError


@dataclass(frozen=True)
class Inside:
    """What decides the numbers of a model."""

    inputs: Mapping[str, bool] = field(default_factory=dict)
    """What a run must be given, the state too, and whether it is text."""
    own: Sequence[RandomNode] = ()
    """The random nodes that each runtime draws in its own way."""
    has_seed: bool = False
    """Whether a rewrite put a seed into the model."""
    has_state: bool | None = None
    """Whether it takes a state, so that the others do not matter; None where that is unknown."""
    state: str = ""
    """The input that its random nodes read as their state, if it takes one."""
    next_state: str | None = None
    """The output with the next state, if it has one."""
    generator: generators.Generator = generators.PHILOX
    """The generator by which it draws."""
    streams: Streams | None = None
    """What the model itself says of its draws, if it takes a state."""
    asked_shapes: Mapping[str, Sizes] = field(default_factory=dict)
    """The inputs that say the shapes of draws, and the sizes that those must have."""
    variable: str = ""
    """The variable that holds its state, if one does."""
    several: Sequence[str] = ()
    """Its states, of which only one can be run."""
    of_no_runtime: Sequence[str] = ()
    """The operators that no runtime has."""
    missing_functions: Sequence[str] = ()
    """What nodes call that is no function of the model, and no known operator."""

    @property
    def takes_seed(self) -> bool:
        """Whether a seed can set its numbers, as far as is known."""
        return self.has_state is not False

    @property
    def is_undecided(self) -> bool:
        """Whether each runtime draws in its own way."""
        return bool(self.own) and not self.has_state

    @property
    def states(self) -> Mapping[str, str | None]:
        """The inputs that may be its state, best first, and the outputs with the next one."""
        if self.has_state is None:
            return STATES
        if not self.has_state:
            return {}
        return {self.state: self.next_state}

    def check_rewritten(self, model: Path, seed: Seed | None) -> None:
        """Refuses a model whose random nodes each runtime draws in its own way, or a seed in vain.

        Raises:
            ArgumentError: It is such a model, or takes no seed.
        """
        if self.own:
            example = self._left or self.own[0]
            raise ArgumentError(
                f"the model must be a rewritten one: got one with {self.counted}, such as "
                f"{example.op_type}, which each runtime draws in its own way. "
                f"{self.remedy_of_own(model)}"
            )
        if seed is not None and not self.takes_seed:
            self.refuse_seed(seed, model)

    def refuse_seed(self, seed: Seed, model: Path) -> NoReturn:
        """Refuses a seed for a model that takes no state.

        Raises:
            ArgumentError: Always.
        """
        fact = "takes no state"
        remedy = "Leave it out."
        if self.is_undecided:
            fact = f"has {self.counted} and no state"
            remedy = self.remedy_of_own(model)
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
            f"{option_of(seed)} must be left out, since the model {fact}: got {seed}. {remedy}"
        )

    def remedy_of_own(self, model: Path) -> str:
        """What to do with a model whose random nodes each runtime draws in its own way.

        A rewrite, unless one leaves such a node as it is: then why.
        """
        from onnx_philox._rewriting.found import LEAVE_IT

        if self._left is None:
            return f"Rewrite it first: onnx-philox rewrite {shlex.quote(str(model))} -o FILE"
        # What the user may have done already is no remedy.
        problem = str(self._left.problem).replace(LEAVE_IT.format("keep_unknown"), "")
        return f"No rewrite replaces it: {problem}"

    @property
    def _left(self) -> RandomNode | None:
        """The first that no rewrite replaces."""
        return next((node for node in self.own if node.problem is not None), None)

    @property
    def counted(self) -> str:
        """The random nodes of its own, in words."""
        nodes = "random node" if len(self.own) == 1 else "random nodes"
        return f"{len(self.own)} {nodes} of its own"


def inside(seen: ModelLook) -> Inside:
    """What a look at a model says; nothing of what cannot be read."""
    try:
        return Inside(
            seen.inputs,
            seen.own,
            has_seed=seen.has_seed and not seen.has_state,
            has_state=seen.has_state,
            state=seen.state,
            next_state=seen.next_state if seen.has_state else None,
            generator=seen.generator,
            streams=seen.streams if seen.has_state else None,
            asked_shapes=seen.asked_shapes,
            variable=seen.variable,
            several=seen.states if seen.has_state else (),
            of_no_runtime=seen.of_no_runtime,
            missing_functions=seen.missing_functions,
        )
    except (OSError, TypeError, ValueError, ImportError):
        # The runtimes report what is wrong with it.
        return Inside()


def command_to_run(
    model: Path,
    inputs: Mapping[str, bool],
    state: str | None,
    target: str | None = None,
) -> str:
    """The command line that runs a rewritten model of these inputs, among them its state.

    `target` is the runtime that its standard nodes are made for; None for nodes of this package.
    """
    words = ["onnx-philox", "run", str(model)]
    if target == "openvino":
        # In another precision these nodes would draw other floats.
        words += ["--runtime", target, "--precision", "f32"]
    if state:
        words += ["--seed", "42", "--runs", "3"]
    for name in (name for name, is_text in inputs.items() if is_text):
        words += ["--input", f"{name}=FILE.npy"]
    if not all(is_text or name == state for name, is_text in inputs.items()):
        words.append("--fill")
    return shlex.join(words)
