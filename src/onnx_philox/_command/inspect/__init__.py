"""`onnx-philox inspect`: the random nodes of a model, and what the runtimes do with them today.

`search` finds the nodes and what a rewrite would make of them; `standard` finds those that are
standard nodes already. `probes` makes a small model of each node, and `rest` one of everything
else. `trials` runs these models in the installed runtimes, each in processes of its own (`worker`):
first all in one model (`together`), and where a runtime does not run that, one after the other.
`inspection_printed` prints the result, and `inspection_page` writes it as a page. `inspect` calls
them in this order. `of_openvino` and `openvino_probes` do the same for an OpenVINO IR.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Any

import onnx_ir as ir

from onnx_philox._command import paths
from onnx_philox._command.inspect import noise_inputs, probes, rest, search, standard, trials
from onnx_philox._command.inspect.inspection_page import write_page
from onnx_philox._command.inspect.inspection_printed import Inspection
from onnx_philox._command.inspect.known import known_in_onnx, met_nodes
from onnx_philox._command.inspect.known.row import Said
from onnx_philox._command.inspect.today import InspectedNode
from onnx_philox._contract.types import BY_ONNX
from onnx_philox._progress import Progress, ignore
from onnx_philox._rewriting.drawn_inputs import DrawnInput
from onnx_philox._rewriting.in_onnx.inferred_types import Types
from onnx_philox._rewriting.in_onnx.passes.draw_inputs import draw_inputs
from onnx_philox._rewriting.in_onnx.random_nodes.site import DeclaredTypeError
from onnx_philox._rewriting.in_onnx.unrun import missing_weights, random_nodes_for_training
from onnx_philox._rewriting.kept_seeds import seeds_in_words
from onnx_philox._rewriting.look import AnyLook, OpenvinoLook, look
from onnx_philox._rewriting.report import RandomNode
from onnx_philox._rewriting.survey import Survey, Unrewritten
from onnx_philox._runtimes import RUNTIMES

__all__ = ["Inspection", "inspect", "write_page"]


def inspect(path: Path, *, shows_all: bool = False, progress: Progress = ignore) -> Inspection:
    """Finds the random nodes of a model, and tries each in the installed runtimes.

    It does not read large weights. `shows_all` makes the report's text show each node, however many
    there are.

    Raises:
        ValueError: The file does not exist, or is neither an ONNX model nor an OpenVINO IR.
        ImportError: It is an IR, and OpenVINO is not installed.
        OSError: The file cannot be read.
    """
    given = paths.given(search.OWNER, path)
    if given.of_openvino:
        # Loads OpenVINO, or says what to install.
        RUNTIMES["openvino"].models()
    with given.kept_open():
        return inspect_model(look(given), shows_all=shows_all, progress=progress)


def inspect_model(
    seen: AnyLook,
    *,
    shows_all: bool = False,
    progress: Progress = ignore,
) -> Inspection:
    """The same of a file at which somebody looks already; nothing else may be asked of it then."""
    given = seen.given
    path = given.path
    if isinstance(seen, OpenvinoLook):
        from onnx_philox._command.inspect import of_openvino

        return of_openvino.inspect(seen, shows_all=shows_all, progress=progress)
    model = seen.graph
    surveyed = search.search(model)
    type_of = Types(model)
    rewritten = search.rewritten_in(model, surveyed)
    drawn = [met_nodes.Met(each.node, each.record, type_of) for each in surveyed.nodes]
    among = met_nodes.MetNodes(drawn)
    subtracted = [known_in_onnx.takes_noise_from_a_subtract(met.node, type_of) for met in drawn]
    factors = [known_in_onnx.negative_factor(met.node, type_of) for met in drawn]
    tried = []
    for met, (is_subtracted, _), factor in zip(drawn, subtracted, factors, strict=True):
        follower = probes.behind(is_subtracted=is_subtracted, factor=factor)
        tried.append(probes.build(met.node, model, type_of, followed_by=follower))
    runtimes = trials.run(tried, progress, _rest(model, surveyed, type_of)) if tried else []
    keys = []
    for node, probe in zip(surveyed.nodes, tried, strict=True):
        keys.append(_key(node, probe, runtimes))
    found = [
        InspectedNode.of(node, key, _seeds(node.record), _known(met, among, key, runtimes, places))
        for node, met, key, places in zip(surveyed.nodes, drawn, keys, subtracted, strict=True)
    ]
    opset = model.opset_imports.get("")
    streams = seen.streams
    states = seen.states
    several = search.several_in_words(states)
    in_standard = standard.find(seen)
    run = standard.command_to_run(seen) if rewritten and not several else ""
    if in_standard is not None:
        run = in_standard.run
    return Inspection(
        given,
        opset,
        found,
        rewritten,
        several or search.state_of(seen, surveyed.recorded) + search.also_in_words(states),
        None if surveyed.obstacle is None else str(surveyed.obstacle),
        runtimes,
        search.idle_dropouts(model, surveyed),
        surveyed.batch,
        search.problem(surveyed.row_obstacle),
        in_standard,
        run,
        None if streams is None or several else streams.next_state,
        shows_all,
        seen.of_no_runtime,
        random_nodes_for_training(given.proto),
        seen.missing_functions,
        missing_weights(given.proto, path.parent),
        # The last, since it makes draws of the inputs.
        noise_inputs.NONE if in_standard is not None else _noise(model),
    )


def _noise(model: ir.Model) -> noise_inputs.NoiseInputs:
    """The inputs of a model that may be noise; those that may become draws."""

    def try_to_draw(drawn: DrawnInput) -> None:
        draw_inputs(model, [drawn])

    inputs = [_input(value) for value in model.graph.inputs if not value.is_initializer()]
    return noise_inputs.find(inputs, try_to_draw)


def _input(value: ir.Value) -> noise_inputs.ModelInput:
    dtype = value.dtype
    shape = None
    if value.shape is not None:
        shape = []
        for size in value.shape:
            shape.append(size if isinstance(size, int) else size.value)
    known = None if dtype is None else BY_ONNX.get(dtype.value)
    type_ = "no known type" if known is None else known.name
    is_float = known is not None and known.is_float
    is_read = value.is_graph_output() or bool(value.uses())
    return noise_inputs.ModelInput(value.name or "", type_, is_float, shape, is_read)


def _rest(
    model: ir.Model,
    surveyed: Survey[Any],
    type_of: Types,
) -> rest.Rest | None:
    """What runtimes must load beside the random nodes; None where no rewrite replaces them all."""
    if surveyed.obstacle is not None or any(node.error for node in surveyed.nodes):
        return None
    return rest.build(model, [node.node for node in surveyed.nodes], type_of)


def _known(
    met: met_nodes.Met,
    among: met_nodes.MetNodes,
    key: str,
    runtimes: Sequence[trials.Trials],
    subtracted: tuple[bool, bool],
) -> dict[str, tuple[Said, ...]]:
    """What each runtime is known to do with a node, by its name."""
    known = {}
    for runtime in runtimes:
        trial = runtime.trials[key]
        is_drawn = trial.behaviour not in trials.UNDRAWN
        found = list(trial.known)
        found += trials.frozen(runtime.name, trial, *subtracted)
        if is_drawn or trial.behaviour is trials.Behaviour.NOT_LOADED:
            found += known_in_onnx.said(met, among, runtime.name, is_drawn=is_drawn)
        known[runtime.name] = tuple(found)
    return known


def _seeds(node: RandomNode) -> str | None:
    """What becomes of the seeds of a node, which is one of this package."""
    if node.seeds is None:
        return None
    return f"keeps {seeds_in_words(*node.seeds)}, reads the state, and has no stream."


def _key(
    node: Unrewritten[Any],
    probe: probes.Probe,
    runtimes: list[trials.Trials],
) -> str:
    """The key of what the runtimes do with a node: of its probe, unless they load no such model.

    A probe has the node alone, without what the model declares of its output, and in the graph.
    """
    if isinstance(node.error, DeclaredTypeError):
        reason = "the output is declared as another type than the node draws"
        return _not_loaded(f"{probe.key} declared", probe, reason, runtimes)
    if node.record.function is not None:
        function = node.record.function
        reason = f"the node is in the function {function} of the model"
        key = f"{probe.key} in {function}"
        return _not_loaded(key, probe, reason, runtimes, by=known_in_onnx.IN_FUNCTION.seen_in)
    return probe.key


def _not_loaded(
    key: str,
    probe: probes.Probe,
    reason: str,
    runtimes: Sequence[trials.Trials],
    by: Collection[str] | None = None,
) -> str:
    """Says by a key that runtimes of these names, or all, do not load a node; others do as before.

    Returns:
        The key.
    """
    for runtime in runtimes:
        trial = runtime.trials[probe.key]
        is_here = trial.behaviour is not trials.Behaviour.NOT_INSTALLED
        if is_here and (by is None or runtime.name in by):
            trial = trials.Trial(trials.Behaviour.NOT_LOADED, reason)
        runtime.trials[key] = trial
    return key
