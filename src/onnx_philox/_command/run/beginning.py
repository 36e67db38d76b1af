"""What a model is given in its first run, made up or not, and in the next ones."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from onnx_philox import generate
from onnx_philox._command.rewritten import Inside
from onnx_philox._command.run import ports
from onnx_philox._command.run.ports import StatePorts
from onnx_philox._command.wanted import RowSeeds, Seed, WantedRuns, option_of
from onnx_philox._contract import feeds
from onnx_philox._contract.state import RUNS, PhiloxState
from onnx_philox._contract.streams import STATE, check_one_state, next_name
from onnx_philox._runtimes.models import LoadedModel
from onnx_philox._runtimes.port import ArgumentError, Arrays, Port, refusing_as_argument


def begin(
    loaded: LoadedModel, wanted: WantedRuns, filled: Arrays, inside: Inside
) -> tuple[Arrays, StatePorts | None, Seed | None]:
    """Reads the inputs of the first run, and makes its state.

    Returns:
        All inputs; which of them is the state, None where the model takes none; and the seed that
        it was made of, if it was.

    Raises:
        ArgumentError: An argument is wrong, or does not suit the model.
    """
    state = _state(loaded, inside)
    name = None if state is None else state.name
    feeds = {**filled, **ports.read_inputs(wanted.inputs, loaded.inputs, name)}
    if wanted.first_run and loaded.variables:
        names = ", ".join(loaded.variables)
        raise ArgumentError(
            f"--first-run must be 0 for a model with variables of its own ({names}), which go on "
            f"from run to run: got {wanted.first_run}. Leave it out, and raise --runs."
        )
    if state is None or not state.counts_runs:
        _refuse_first_run(wanted.first_run, state)
    elif wanted.numbers.stop > RUNS:
        raise ArgumentError(
            f"the last run must be from 0 to 2^32-1: got {wanted.numbers[-1]}. Choose another "
            "seed for more runs: after the last one, the numbers of the first would come again."
        )
    used = None
    if state is not None and state.name in feeds:
        _refuse_beside(state, wanted)
    elif state is not None:
        used = wanted.seed if wanted.seed is not None else 0
        # The number of rows of a state may depend on the other inputs.
        ports.check_all_given(loaded.inputs, {**feeds, state.name: None}, name)
        feeds[state.name] = _first_state(state, used, wanted.first_run, loaded, feeds)
    ports.check_all_given(loaded.inputs, feeds, name)
    return feeds, state, used


def fill_inputs(loaded: LoadedModel, wanted: WantedRuns, inside: Inside) -> Arrays:
    """Makes up the inputs that a user wants made up, but for the state.

    Raises:
        ArgumentError: An argument is wrong, or an input cannot be made up.
    """
    if not wanted.fills:
        return {}
    state = _state(loaded, inside)
    name = None if state is None else state.name
    given = ports.read_inputs(wanted.inputs, loaded.inputs, name)
    others = [port for port in loaded.inputs if port.name != name]
    return made_up(others, given)


def go_on(feeds: Arrays, state: StatePorts | None, outputs: Arrays) -> Arrays:
    """The inputs of the next run: the same, from the state that this one left."""
    if state is None or state.next is None:
        return feeds
    return {**feeds, state.name: state.shaped(outputs[state.next])}


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
            is_given = following in loaded.outputs
            # A tool may have put a prefix before the names of a rewritten model.
            is_rewritten = name.endswith(STATE)
            return StatePorts(by_name[name], following if is_given else None, is_rewritten)
    return None


def _refuse_first_run(first_run: int, state: StatePorts | None) -> None:
    if first_run == 0:
        return
    remedy, which = "Leave it out.", "without the input random_state, which counts the runs"
    if state is not None and not state.generator.is_counter_based:
        which = f"that draws {state.generator.whose}, whose generator counts no runs"
    if state is not None:
        remedy = f"Save {state.next}, and pass it as --input {state.name}=FILE.npy."
    raise ArgumentError(f"--first-run must be 0 for a model {which}: got {first_run}. {remedy}")


def _refuse_beside(state: StatePorts, wanted: WantedRuns) -> None:
    """Refuses what would say nothing beside a state that the inputs have."""
    named = option_of(wanted.seed or 0)
    for option, value in ((named, wanted.seed), ("--first-run", wanted.first_run or None)):
        if value is not None:
            raise ArgumentError(
                f"{option} must be left out beside --input {state.name}, which says where to draw: "
                f"got {value}. Leave one of them out."
            )


def _first_state(
    state: StatePorts, seed: Seed, run: int, loaded: LoadedModel, feeds: Arrays
) -> NDArray[Any]:
    try:
        if isinstance(seed, RowSeeds):
            return state.of_seeds(seed, run, loaded.inputs, feeds)
        if state.is_per_row:
            return state.of_rows(seed, run, loaded.inputs, feeds)
        return state.of_seed(seed, run)
    except ValueError as error:
        raise ArgumentError(str(error)) from error


# No model's stream: rewritten models draw from the streams below 2^32 of their seed.
_KEY = 2**63


def made_up(ports: Sequence[Port], given: Mapping[str, Any]) -> Arrays:
    """Makes up an array for each required input that is not given.

    Floats are uniform in [0, 1), always the same ones; all other numbers are 1, which most models
    take for an index, a size and a mask alike. An open dimension has the size that a given input of
    the same dimension has, else 1.

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
    return {port.name: made(port, i, sizes) for i, port in enumerate(missing)}


def made(port: Port, number: int, sizes: Mapping[Any, int] | None = None) -> NDArray[Any]:
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
    shape = [
        size if isinstance(size, int) else (sizes or {}).get(size, 1) for size in port.shape or ()
    ]
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
