"""What a model is given in its first run, made up or not, and in the next ones."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from onnx_philox import generate
from onnx_philox._command.inside_model import Inside
from onnx_philox._command.run.given_inputs import StatePorts, check_all_given, read_inputs
from onnx_philox._command.wanted import Seed, WantedRuns, option_of
from onnx_philox._contract import feeds
from onnx_philox._contract.shown import dims
from onnx_philox._contract.state import RUNS, PhiloxState
from onnx_philox._contract.streams import STATE, check_one_state, next_name
from onnx_philox._rewriting.drawn_inputs import Sizes, may_be
from onnx_philox._runtimes.models import LoadedModel, RunError, by_name
from onnx_philox._runtimes.port import ArgumentError, Arrays, Port, refusing_as_argument
from onnx_philox._runtimes.stated_model import NotAStateError, StatedModel


class StatedRuns:
    """Runs of a model in a runtime, with the same inputs, each from the state that the last left.

    Args:
        loaded: The model.
        state: Which of its inputs is the state; None where it takes none.
        inputs: All that the next run is given, by name.
    """

    def __init__(self, loaded: LoadedModel, state: StatePorts | None, inputs: Arrays) -> None:
        self.loaded = loaded
        self.state = state
        self.inputs = inputs
        port = following = None
        if state is not None:
            port = state.port
            following = state.next
        self._stated = StatedModel(loaded, port, following)

    def go_on_from(self, words: Any) -> None:
        """Lets the next run begin at the words of a state, or of one for each row."""
        assert self.state is not None
        state = np.array(words, np.uint32)
        self.inputs[self.state.name] = self.state.port.holding(state)

    def run(self) -> Arrays:
        """Runs the model, and takes over the state that it left.

        Raises:
            RunError: The runtime refuses an input, or fails.
            ArgumentError: The model gives no state where the next one should be.
        """
        feeds = self.feeds()
        words = None if self.state is None else feeds.get(self.state.name)
        try:
            ran = self._stated.run(feeds, words)
            outputs = by_name(self.loaded.outputs, ran.values)
        except NotAStateError as error:
            raise ArgumentError(str(error)) from error
        except Exception as error:
            raise RunError.of(self.loaded.runtime, "run the model", error) from error
        if self.state is not None and ran.after is not None:
            self.inputs[self.state.name] = self.state.port.holding(ran.after)
        return outputs

    def feeds(self) -> Arrays:
        """What the next run is given."""
        return self.inputs


class Serving(StatedRuns):
    """A model in a runtime, and what its next run is given.

    Args:
        loaded: The model.
        wanted: The runs that a user asks for.
        inside: What decides its numbers.
        like: Another runtime's, whose inputs that are made up it takes.
        ports: The inputs that are given; without them, all of the model.

    Raises:
        ArgumentError: An argument is wrong, or does not suit the model; or an input cannot be made
            up.
    """

    def __init__(
        self,
        loaded: LoadedModel,
        wanted: WantedRuns,
        inside: Inside,
        like: Serving | None = None,
        ports: Sequence[Port] | None = None,
    ) -> None:
        if ports is None:
            ports = loaded.inputs
        state = _state(loaded, inside)
        name = None if state is None else state.name
        given = read_inputs(wanted.inputs, ports, name)
        _check_shapes(given, inside.asked_shapes)
        self.filled: Arrays = {}
        """The inputs that are made up."""
        if like is not None:
            # OpenVINO forgets the names of dimensions.
            self.filled = like.filled
        elif wanted.fills:
            others = [port for port in ports if port.name != name]
            self.filled = made_up(others, given, inside.asked_shapes)
        super().__init__(loaded, state, {**self.filled, **given})
        _check_numbers(wanted, loaded, state)
        self.seed: Seed | None = None
        """What the first state is made of; None where there is none, or it is given."""
        if state is not None and state.name in self.inputs:
            _refuse_beside(state, wanted)
        elif state is not None:
            self.seed = 0 if wanted.seed is None else wanted.seed
            # The number of rows of a state may depend on the other inputs.
            check_all_given(ports, {**self.inputs, state.name: None}, name)
            first_state = state.first(self.seed, wanted.first_run, ports, self.inputs)
            self.inputs[state.name] = first_state
        check_all_given(ports, self.inputs, name)


def _state(loaded: LoadedModel, inside: Inside) -> StatePorts | None:
    by_name = {port.name: port for port in loaded.inputs}
    with refusing_as_argument():
        check_one_state("run", inside.several)
    states = dict(inside.states)
    if inside.has_state is None:
        ends = [name for name in by_name if name.endswith(STATE)]
        states |= {name: next_name(name, loaded.outputs) for name in ends}
    for name, following in states.items():
        if name in by_name and by_name[name].is_state:
            if following not in loaded.outputs:
                following = None
            # A tool may have put a prefix before the names of a rewritten model.
            is_rewritten = name.endswith(STATE)
            return StatePorts(by_name[name], following, is_rewritten, inside.streams)
    return None


def _check_numbers(wanted: WantedRuns, loaded: LoadedModel, state: StatePorts | None) -> None:
    """Refuses numbers of runs that the model does not count."""
    if wanted.first_run and loaded.variables:
        names = ", ".join(loaded.variables)
        raise ArgumentError(
            f"--first-run must be 0 for a model with variables of its own ({names}), which go "
            f"on from run to run: got {wanted.first_run}. Leave it out, and raise --runs."
        )
    if state is None or not state.counts_runs:
        _refuse_first_run(wanted.first_run, state)
    elif wanted.numbers.stop > RUNS:
        raise ArgumentError(
            f"the last run must be from 0 to 2^32-1: got {wanted.numbers[-1]}. Choose another "
            "seed for more runs: after the last one, the numbers of the first would come again."
        )


def _refuse_first_run(first_run: int, state: StatePorts | None) -> None:
    if first_run == 0:
        return
    remedy = "Leave it out."
    which = "without the input random_state, which counts the runs"
    if state is not None and not state.generator.is_counter_based:
        which = f"that draws {state.generator.whose}, whose generator counts no runs"
    if state is not None:
        remedy = f"Save {state.next}, and pass it as --input {state.name}=FILE.npy."
    raise ArgumentError(f"--first-run must be 0 for a model {which}: got {first_run}. {remedy}")


def _check_shapes(given: Mapping[str, Any], asked: Mapping[str, Sizes]) -> None:
    """Refuses an input that says another shape of a draw than the model declares."""
    for name, sizes in asked.items():
        shape = given[name].tolist() if name in given else None
        if shape is not None and not may_be(shape, sizes):
            raise ArgumentError(
                f"{feeds.title(name)} must say a shape of {dims(sizes)}, as the model "
                f"declares the input that it draws: got {shape}. Pass such a shape."
            )


def _refuse_beside(state: StatePorts, wanted: WantedRuns) -> None:
    """Refuses what would say nothing beside a state that the inputs have."""
    named = option_of(wanted.seed)
    for option, value in ((named, wanted.seed), ("--first-run", wanted.first_run or None)):
        if value is not None:
            raise ArgumentError(
                f"{option} must be left out beside --input {state.name}, which says where to draw: "
                f"got {value}. Leave one of them out."
            )


# No model's stream: rewritten models draw from the streams below 2^32 of their seed.
_KEY = 2**63


def made_up(
    ports: Sequence[Port],
    given: Mapping[str, Any],
    asked: Mapping[str, Sizes] | None = None,
) -> Arrays:
    """Makes up an array for each required input that is not given.

    Floats are uniform in [0, 1), always the same ones; all other numbers are 1, which most models
    take for an index, a size and a mask alike. An open dimension has the size that a given input of
    the same dimension has, else 1. The shape of a draw has the sizes that are known of it, `asked`.

    Raises:
        ArgumentError: An input is no tensor of numbers.
    """
    sizes = {
        name: size
        for port in ports
        if port.shape is not None and port.name in given
        for name, size in zip(port.shape, given[port.name].shape, strict=True)
        if isinstance(name, str)
    }
    missing = [port for port in ports if port.is_required and port.name not in given]
    arrays = {port.name: made(port, i, sizes) for i, port in enumerate(missing)}
    for name, of_draw in (asked or {}).items():
        if name in arrays and arrays[name].shape == (len(of_draw),):
            known = [1 if size is None else size for size in of_draw]
            arrays[name] = np.array(known, arrays[name].dtype)
    return arrays


def made(
    port: Port,
    number: int,
    sizes: Mapping[Any, int] | None = None,
) -> NDArray[Any]:
    """The array with this number among those that are made up; open dimensions have these sizes.

    Raises:
        ArgumentError: The input is no tensor of numbers.
    """
    port.check_array()
    assert port.dtype is not None
    if port.is_text:
        raise ArgumentError(
            f"{feeds.title(port.name)} must be numbers for --fill: got {port.type_name}. Pass it "
            f"with --input {port.name}=FILE.npy."
        )
    shape = []
    for size in port.shape or ():
        shape.append(size if isinstance(size, int) else (sizes or {}).get(size, 1))
    try:
        if port.dtype.kind in "biu":
            return np.ones(shape, port.dtype)
        values = np.empty(shape, np.float32)
        generate(PhiloxState(number << 64, _KEY), out=values)
        return values.astype(port.dtype)
    except (MemoryError, ValueError) as error:
        raise ArgumentError(
            f"{feeds.title(port.name)} must be small enough for memory for --fill: got {port}. "
            f"Pass a smaller one with --input {port.name}=FILE.npy."
        ) from error
