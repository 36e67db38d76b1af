"""Runs a module in torch and its exported model in the runtimes, and compares what they draw."""

from __future__ import annotations

import platform
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import onnx_ir as ir
from numpy.typing import NDArray

from onnx_philox._contract.inputs import TENSORFLOW
from onnx_philox._contract.operators import DOMAIN
from onnx_philox._contract.refusal import refuse
from onnx_philox._contract.state import PhiloxState
from onnx_philox._contract.streams import STATE
from onnx_philox._models.ours import seed_of
from onnx_philox._numbers.states import row_states
from onnx_philox._rewriting.asked import Asked
from onnx_philox._rewriting.in_onnx import earlier
from onnx_philox._rewriting.in_onnx.rewrite_onnx import rewrite
from onnx_philox._rewriting.in_onnx.rows.stand import is_put_back
from onnx_philox._runtimes import RUNTIMES
from onnx_philox._runtimes.models import LoadedModel, RunError
from onnx_philox._runtimes.port import ArgumentError
from onnx_philox._torch.calls.programs import DECOMPOSED
from onnx_philox._torch.checks import against, carried, seen_draws
from onnx_philox._torch.checks.check import read_exported
from onnx_philox._torch.checks.eager import FEWER, Eager, Then
from onnx_philox._torch.checks.pair import Pair
from onnx_philox._torch.checks.verdict import Ran, Verdict
from onnx_philox._torch.exporter.program import check_program, require_torch
from onnx_philox._torch.generator import GENERATOR
from onnx_philox._torch.numbers.torch_state import TorchState, torch_seed

OWNER = "onnx_philox.torch.verify_export"


def verify_export(
    model: Any,
    args: Sequence[Any],
    f: Any,
    *,
    kwargs: Mapping[str, Any] | None = None,
    seed: int = 42,
    rtol: float = against.RTOL,
    atol: float = against.ATOL,
) -> Verdict:
    """Runs a module in torch and its model in each runtime, from one seed: are the draws equal?

    The module runs after `torch.manual_seed(seed)`, in the mode that it is in. The model runs in
    ONNX Runtime and in OpenVINO, those that are installed, from the same state. The module's
    buffers and torch's generator are afterwards as before.

    - With alignment "pytorch" the outputs are compared with torch's, within tolerances, and the
      model's next state with torch's generator, to the bit. With a state for each row, row b runs
      in torch alone, after `torch.manual_seed(seed + b)`.
    - A model that draws Philox numbers must have every draw of the program, and draw to the bit
      what `onnx_philox.reference` draws by the state and the node's stream. Its draws are then put
      into torch in the place of torch's own, and the outputs are compared; but not where it draws
      in an If or a Loop.
    - A module that changes a buffer or an attribute on which its noise depends is another one than
      its model, which begins each run as the first. With alignment "pytorch" a second run of both
      is compared, too, but not where each row has a state.

    Args:
        model: The `torch.nn.Module`, or a `torch.export.ExportedProgram`.
        args: Its inputs.
        f: What was exported of it: a file, an `onnx.ModelProto`, an `onnx_ir.Model` or a
            `torch.onnx.ONNXProgram`. It is rewritten with alignment "pytorch" unless it was
            rewritten before.
        kwargs: Its inputs by name.
        seed: For `torch.manual_seed`. A model with a seed inside is run with that one.
        rtol: How far an output may be from torch's, relative to that.
        atol: How far it may be in any case. Outputs of 16 bits, or computed in them
            as by torch.autocast, may be a few roundings away.

    Returns:
        The verdict: `is_ok`, and as a text the sentence that says what differs first, and the
        causes that are known: draws that the model lacks, `torch.manual_seed` in the module, a
        BatchNorm in training, torch's fast path, strides, a program that is decomposed already, a
        runtime that does not load the model.

    Raises:
        ImportError: PyTorch is not installed, or no runtime.
        TypeError: The model or the seed is of a wrong type.
        ValueError: The model draws what no rule of torch's makes; it has other inputs than the
            module; or each row has a generator, and the module does not run with one row.
    """
    require_torch()
    seed = torch_seed(OWNER, "seed", seed)
    for name, number in (("rtol", rtol), ("atol", atol)):
        # A NaN is not either: every output would be within it, or none.
        is_number = isinstance(number, int | float)
        if not is_number or not number >= 0:
            refuse(OWNER, name, repr(number), "a number, 0 or more", "Pass such a number.")
    check_program(OWNER, model, args)
    made = read_exported(OWNER, f)
    recorded = earlier.read(made)
    # Torch's, if it was not rewritten yet.
    generator = GENERATOR if recorded.state is None else recorded.generator
    # A Bernoulli draws torch's share.
    asked = Asked(alignment=generator.alignment, invert_bernoulli=())
    report = rewrite(made, asked)
    if report.seed is not None:
        seed = report.seed
    pair = Pair(OWNER, made, model, args, kwargs or {})
    tolerances = against.OutputTolerances(rtol, atol, pair.narrow())
    if generator is GENERATOR:
        return _torch_s(pair, seed, tolerances)
    is_inside = report.seed is not None
    return _philox(pair, seed, tolerances, is_inside=is_inside)


def _installed() -> list[type[LoadedModel]]:
    found = []
    errors = []
    for runtime in RUNTIMES.values():
        if runtime.package is None or runtime.is_only_asked_for:
            continue
        try:
            found.append(runtime.models())
        except ImportError as error:
            errors.append(error)
    if not found:
        raise errors[0]
    return found


def _torch_s(pair: Pair, seed: int, tolerances: against.OutputTolerances) -> Verdict:
    """The verdict on a model that draws torch's numbers; with rows of states, row by row."""
    if pair.rows is None:
        rows: list[int | None] = [None]
        seeds = [seed]
        state = TorchState.from_seed(seed).to_array()
        then = Then.AGAIN
    else:
        rows = list(range(pair.rows))
        seeds = [seed + row for row in range(pair.rows)]
        states = [TorchState.from_seed(own).to_array() for own in seeds]
        state = np.array(states, np.uint32)
        then = Then.NOTHING
    feeds = pair.feeds() | {STATE: state}
    eager = []
    for own, row in zip(seeds, rows, strict=True):
        eager.append(pair.eager(own, row, then=then))
    kept = pair.carried(eager[0])

    def problem(result: seen_draws.Seen) -> str | None:
        for row, torchs in zip(rows, eager, strict=True):
            found = _ends(result, row, torchs)
            if found is None:
                computed = _outputs_of(result, row, len(rows), torchs)
                found = against.outputs(computed, torchs.outputs, tolerances)
            if found is not None:
                return found if row is None else f"Row {row}: {found}"
        if kept:
            return f"Its second run differs from the module's: {carried.said(kept)}"
        return _again(result, eager[0], pair, seed, tolerances)

    def run(runtime: type[LoadedModel]) -> seen_draws.Seen:
        return seen_draws.run_twice(runtime, pair.proto, feeds)

    ran, notes = _in_each(run, problem)
    if any(each.problem is not None for each in ran):
        program = pair.of_program()
        lost = "" if program is None else program.lost()
        if lost:
            notes.append(f"The model does not draw what the module draws: {lost}.")
        passed_over = _passed_over(pair)
        if passed_over:
            notes.append(passed_over)
    notes += _notes(pair, eager)
    return Verdict(seed, pair.draws, tuple(ran), tuple(notes))


def _outputs_of(
    result: seen_draws.Seen,
    row: int | None,
    rows: int,
    torchs: Eager,
) -> Mapping[str, NDArray[Any]]:
    """The outputs of a run, or of one of its rows."""
    if row is None:
        return result.outputs
    computed = dict(result.outputs)
    named = zip(result.outputs.items(), torchs.outputs, strict=False)
    for (name, array), like in named:
        computed[name] = _row_of(array, row, rows, like)
    return computed


def _again(
    result: seen_draws.Seen,
    torchs: Eager,
    pair: Pair,
    seed: int,
    tolerances: against.OutputTolerances,
) -> str | None:
    """What differs in a second run, in words, where noise does."""
    second = result.again
    if second is None:
        return None

    def differs(eager: Eager) -> str | None:
        if eager.again is None:
            return None
        found = _ends(second, None, eager.again)
        if found is not None:
            return found
        return against.outputs(second.outputs, eager.again.outputs, tolerances)

    found = differs(torchs)
    # What is left of buffers and attributes touches no draw, such as a counter that is an output.
    if found is None or differs(pair.eager(seed, then=Then.AFRESH)) is None:
        return None
    return (
        f"In a second run, from the state after the first: {found} The module keeps something from "
        "call to call that a model does not. Make it an input of forward, and what forward makes "
        "of it an output."
    )


def _in_each(
    run: Callable[[type[LoadedModel]], seen_draws.Seen],
    problem: Callable[[seen_draws.Seen], str | None],
) -> tuple[list[Ran], list[str]]:
    """What came of each runtime; and of those that lack something, what they lack."""
    ran = []
    lacks = []
    for runtime in _installed():
        title = f"{runtime.runtime} {runtime.version}"
        try:
            problem_of_it = problem(run(runtime))
            ran.append(Ran(title, problem_of_it))
        except seen_draws.NotLoadedError as error:
            lacks.append(_of_nothing_compared(str(error)))
        except runtime.not_carried_error as error:
            said = RunError.of(title, "run the model", error)
            lacks.append(_of_nothing_compared(str(said)))
        except (ArgumentError, RunError) as error:
            ran.append(Ran(title, f"It was not run: {error}"))
    return ran, lacks


def _of_nothing_compared(why: str) -> str:
    return f"{why.rstrip('.')}. So nothing was compared there; this says nothing of the draws."


def _ends(result: seen_draws.Seen, row: int | None, eager: Eager) -> str | None:
    """Whether a run ends elsewhere than torch, in words."""
    if result.after is None or eager.sets_generator:
        return None
    words = result.after
    if row is not None:
        words = words[row]
    if TorchState.from_array(words) == eager.after:
        return None
    return "After the run its generator is in another state than torch's."


def _row_of(
    array: NDArray[Any],
    row: int,
    rows: int,
    like: NDArray[Any],
) -> NDArray[Any]:
    """A row of an output, wherever the batch stands in it, given the output for that row alone."""
    for axis, size in enumerate(like.shape):
        before = like.shape[:axis]
        behind = like.shape[axis + 1 :]
        if array.shape == (*before, rows * size, *behind):
            by_row = array.reshape(*before, rows, size, *behind)
            of_row: NDArray[Any] = by_row.take(row, axis)
            return of_row
    return array


def _in_place(model: ir.Model, stream: int, drawn: NDArray[Any]) -> NDArray[Any]:
    """What a node drew with the batch where it stands in the model."""
    for node in model.graph:
        if node.domain != DOMAIN or seed_of(node, "op_seed") != stream:
            continue
        for output in node.outputs:
            for use in output.uses():
                if is_put_back(use.node):
                    order = use.node.attributes.get_ints("perm")
                    return drawn.transpose(order)
    return drawn


def _philox(
    pair: Pair,
    seed: int,
    tolerances: against.OutputTolerances,
    *,
    is_inside: bool,
) -> Verdict:
    """The verdict on a model that draws Philox numbers, which are put in the place of torch's."""
    if pair.rows is None:
        state = PhiloxState.for_run(seed).to_array()
    else:
        state = row_states(seed, np.arange(pair.rows))
    feeds = pair.feeds() | {STATE: state}
    uncompared: list[str] = []
    program = pair.of_program()
    lost = "" if program is None else program.lost()
    own = pair.eager(seed)
    passed_over = _passed_over(pair)
    kept = pair.carried(own)
    if passed_over and program is not None:
        if program.eager(seed).after == own.after:
            passed_over = None

    def problem(result: seen_draws.Seen) -> str | None:
        if lost:
            return f"The model does not draw what the module draws: {lost}."
        if result.problem:
            return result.problem
        if kept:
            return f"Its second run differs from the module's: {carried.said(kept)}"
        if pair.draws > len(result.drawn):
            unplaced = "the order of draws in a loop or branch is not known"
        elif program is None:
            unplaced = "torch.export does not export the module"
        else:
            # Runtimes choose the order, and the streams are numbered in the program's.
            drawn = sorted(result.drawn.items())
            given = [_in_place(pair.model, stream, values) for stream, values in drawn]
            eager = program.eager(seed, given=given)
            unplaced = eager.unplaced
            if unplaced == FEWER:
                return passed_over or f"The model does not draw what the module draws: {FEWER}."
            if not unplaced:
                found = against.outputs(result.outputs, eager.outputs, tolerances)
                return found or passed_over
        uncompared.append(f"The outputs were not compared with torch's: {unplaced}.")
        return passed_over

    begun = None if is_inside else state

    def run(runtime: type[LoadedModel]) -> seen_draws.Seen:
        return seen_draws.run_beside_reference(runtime, pair.proto, feeds, begun)

    ran, lacks = _in_each(run, problem)
    # Each note once, in their order.
    notes = dict.fromkeys([*lacks, *uncompared, *_notes(pair, [own])])
    return Verdict(
        seed,
        pair.draws,
        tuple(ran),
        tuple(notes),
        TENSORFLOW,
        not uncompared,
    )


def _passed_over(pair: Pair) -> str | None:
    """Why torch may drop nothing where the model does, in words."""
    names = pair.evaluated_encoders()
    if not names:
        return None
    return (
        f"{names} is an encoder layer in evaluation whose dropouts are in training: without "
        "gradients torch takes a fast path there that drops nothing, and the model drops. Call "
        "train() on the layer before the export, and in torch."
    )


def _notes(pair: Pair, eager: Sequence[Eager]) -> list[str]:
    """What this module does, or this torch draws, that a model does not repeat."""
    import torch

    notes = [DECOMPOSED] if pair.is_decomposed else []
    if any(each.sets_generator for each in eager):
        notes.append(
            "The module sets torch's generator itself, as torch.manual_seed does: a model cannot, "
            "and draws on from where it is. Take the call out of forward."
        )
    names = pair.training_norms()
    if names:
        notes.append(
            f"{names} is a BatchNorm in training: it normalises by this batch, and changes its "
            "statistics in each run. Call eval() on it before the export."
        )
    if platform.machine().lower() not in ("x86_64", "amd64"):
        notes.append(
            f"This torch runs on {platform.machine()}: its normals differ in the last bits from "
            "those of x86-64 with AVX2, which the model draws."
        )
    elif torch.backends.cpu.get_cpu_capability() == "DEFAULT":
        notes.append(
            "This torch runs without AVX2 (its CPU capability is DEFAULT): its normals differ in "
            "the last bits from those with AVX2, which the model draws."
        )
    devices = pair.devices()
    if devices:
        notes.append(
            f"The module runs on {' and '.join(devices)}, with another generator than the CPU's."
        )
    return notes
