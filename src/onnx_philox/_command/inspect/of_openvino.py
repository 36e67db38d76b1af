"""What `onnx-philox inspect` finds in an OpenVINO IR."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from onnx_philox._command import inside_model, refusals
from onnx_philox._command.inspect import noise_inputs, openvino_probes, search, trials
from onnx_philox._command.inspect.inspection_printed import Inspection
from onnx_philox._command.inspect.known import known_in_ir
from onnx_philox._command.inspect.known.merged_in_ir import MergedZeros
from onnx_philox._command.inspect.known.row import Said
from onnx_philox._command.inspect.probes import behind
from onnx_philox._command.inspect.today import InspectedNode
from onnx_philox._contract.operators import RANDOM_BERNOULLI, RANDOM_NORMAL
from onnx_philox._openvino_models import arrays
from onnx_philox._openvino_models.ports import input_names
from onnx_philox._progress import Progress
from onnx_philox._rewriting.drawn_inputs import DrawnInput
from onnx_philox._rewriting.found import Irreplaceable
from onnx_philox._rewriting.in_openvino import openvino_earlier
from onnx_philox._rewriting.in_openvino.draw_openvino_inputs import draw_inputs
from onnx_philox._rewriting.in_openvino.find_openvino import Found as InModel
from onnx_philox._rewriting.in_openvino.find_openvino import find_nodes
from onnx_philox._rewriting.in_openvino.replacements import NewDraw
from onnx_philox._rewriting.in_openvino.rewrite_openvino import FORMAT
from onnx_philox._rewriting.kept_seeds import seeds_in_words
from onnx_philox._rewriting.look import OpenvinoLook
from onnx_philox._rewriting.report import RandomNode
from onnx_philox._rewriting.survey import survey

if TYPE_CHECKING:
    import openvino as ov


def inspect(seen: OpenvinoLook, *, shows_all: bool, progress: Progress) -> Inspection:
    """Finds the random nodes of an IR, and tries each in OpenVINO.

    Raises:
        ValueError: It is no whole IR.
        OSError: It cannot be read.
    """
    model = seen.model
    # A survey gives the inputs symbols.
    unchanged = model.clone()
    surveyed = survey(FORMAT, model)
    kept = {each.site.node.get_name(): each for each in find_nodes(model, keep_seeds=True)}
    subtracted = [known_in_ir.subtracted(each.node) for each in surveyed.nodes]
    factors = [known_in_ir.negative_factor(each.node) for each in surveyed.nodes]
    tried = []
    for each, place, factor in zip(surveyed.nodes, subtracted, factors, strict=True):
        follower = behind(is_subtracted=place.is_so, factor=factor)
        tried.append(openvino_probes.build(each.node, followed_by=follower))
    runtimes = trials.run(tried, progress, of_ir=True) if tried else []
    among = MergedZeros(each.node for each in surveyed.nodes)
    found = [
        InspectedNode.of(
            each,
            probe.key,
            _of_seeds(each.found, each.record, kept),
            _known(each.node, each.record, among, probe.key, runtimes, place),
        )
        for each, probe, place in zip(surveyed.nodes, tried, subtracted, strict=True)
    ]
    recorded = seen.recorded
    name = recorded.state_name if recorded.is_input else None
    run = state = ""
    states = seen.states
    several = search.several_in_words(states)
    if recorded.rewritten and not several:
        run = inside_model.command_to_run(seen.given.path, seen.inputs, name)
    if recorded.state is not None:
        state = search.state_in_words(name, recorded.seed, seen.generator, seen.streams)
    return Inspection(
        seen.given,
        None,
        found,
        [_rewritten(ours) for ours in recorded.rewritten],
        several or state + search.also_in_words(states),
        search.problem(surveyed.obstacle),
        runtimes,
        batch=surveyed.batch,
        row_obstacle=search.problem(surveyed.row_obstacle),
        run=run,
        next_state=None if several else recorded.next_state,
        shows_all=shows_all,
        noise=_noise(unchanged),
    )


def _noise(model: ov.Model) -> noise_inputs.NoiseInputs:
    """The inputs of an IR that may be noise; those that may become draws."""

    def try_to_draw(drawn: DrawnInput) -> None:
        draw_inputs(model, [drawn])

    names = input_names(model.inputs, None)
    ports = zip(names, model.inputs, strict=True)
    return noise_inputs.find([_input(name, port) for name, port in ports], try_to_draw)


def _input(name: str, port: ov.Output) -> noise_inputs.ModelInput:
    type_ = port.get_element_type()
    known = arrays.known_dimensions(port.get_partial_shape())
    is_read = bool(port.get_target_inputs())
    return noise_inputs.ModelInput(name, arrays.name(type_), type_.is_real(), known, is_read)


def _known(
    node: ov.Node,
    record: RandomNode,
    among: MergedZeros,
    key: str,
    runtimes: Sequence[trials.Trials],
    place: known_in_ir.Subtracted,
) -> dict[str, tuple[Said, ...]]:
    """What each runtime is known to do with a node, by its name."""
    known = {}
    for runtime in runtimes:
        trial = runtime.trials[key]
        found = list(trial.known)
        found += trials.frozen(runtime.name, trial, place.is_so, place.is_read_elsewhere)
        if trial.behaviour not in trials.UNDRAWN:
            found += known_in_ir.said(node, record, among)
        if trial.behaviour is trials.Behaviour.NOT_LOADED:
            found += known_in_ir.said_of_unloaded(node)
        known[runtime.name] = tuple(found)
    return known


def _of_seeds(
    found: InModel,
    record: RandomNode,
    kept: Mapping[str, InModel],
) -> str | None:
    """What each way to rewrite a node makes of its seeds; None where it has none."""
    if record.seeds is None or isinstance(found, Irreplaceable):
        return None
    seeds = seeds_in_words(*record.seeds)
    if record.keeps_seeds:
        return f"keeps {seeds}, reads the state, and has no stream."
    stream = "" if record.stream is None else f" {record.stream}"
    now = f"{seeds}: a rewrite draws from stream{stream} instead"
    name = found.site.node.get_name()
    then = _kept(found, kept[name])
    return f"{now}; {refusals.KEEP_SEEDS} {then}."


def _kept(found: NewDraw, kept: InModel) -> str:
    if isinstance(kept, Irreplaceable):
        return f"is refused: {refusals.text(kept.error).rstrip('.')}"
    if kept.kept is None:
        return f"does too, since no numbers of {found.site.node.get_type_name()} are documented"
    if not kept.kept.generator.is_counter_based:
        return f"draws {kept.kept.generator.whose} of this global_seed, the same in every run"
    if found.operator is RANDOM_NORMAL:
        return "keeps both uniforms of the normal, whose seeds may be the converter's own"
    if kept.operator is RANDOM_BERNOULLI:
        return "draws the booleans of these seeds"
    return "draws the numbers that are documented for these seeds, where the state is zeros"


def _rewritten(ours: openvino_earlier.Ours) -> search.Rewritten:
    name = ours.node.get_friendly_name()
    path = tuple(owner.label for owner in ours.owners)
    return search.Rewritten(name, path, ours.stream.op_type, *ours.seeds, ours.is_kept)
