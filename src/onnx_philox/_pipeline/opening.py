"""Opens what a pipeline is given in a runtime of the registry."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NoReturn

from onnx_philox._backends import AUTO
from onnx_philox._contract import checks, choices
from onnx_philox._contract.operators import DOMAIN
from onnx_philox._contract.refusal import refuse
from onnx_philox._contract.streams import (
    METADATA_KEY,
    STANDARD,
    STANDARD_STATE,
    STATE,
    Streams,
    check_one_state,
)
from onnx_philox._files.given import PATHS, TO_REWRITE, TO_SERVE, Form, Given
from onnx_philox._pipeline.engine import Engine
from onnx_philox._rewriting.asked import Asked
from onnx_philox._runtime_errors import raise_not_loaded
from onnx_philox._runtimes import RUNTIMES, Runtime, reader_of_ir, with_library
from onnx_philox._runtimes import options as of_runtimes
from onnx_philox._runtimes.models import LoadedModel, Served, ToOpen, port_of

if TYPE_CHECKING:
    # onnx-ir loads SymPy, which takes longer than all else here. What needs it is loaded when a
    # model comes that nobody has put into a runtime yet.
    from onnx_philox._rewriting.look import AnyLook, OnnxLook, OpenvinoLook

_NAME = "Pipeline"
_DEFAULT = "onnxruntime"
_SOURCE = "source"
_OWN = (
    "runtime",
    "per_row",
    "batch",
    "alignment",
    "keep_seeds",
    _SOURCE,
    "invert_bernoulli",
    "draw",
)
"""The pipeline's own arguments."""
_WHAT = {Form.SESSION: "session", Form.COMPILED: "compiled model", Form.OPENVINO: "openvino.Model"}


@dataclass(frozen=True)
class Wanted:
    """What a pipeline is to open, and how."""

    given: Given
    runtime: str
    asked: Asked
    options: of_runtimes.Options

    @property
    def again(self) -> Wanted | None:
        """The same, without what was read of it; None where another process cannot open it."""
        if self.given.form not in (*PATHS, Form.BYTES):
            return None
        return replace(self, given=self.given.by(_NAME), asked=self.asked.again)


def wanted(
    model: Any,
    runtime: str,
    asked: Asked,
    options: Mapping[str, Any],
) -> Wanted:
    """What a user asks a pipeline for, each word of it checked.

    Args:
        model: What the pipeline is given.
        runtime: The runtime's name.
        asked: For a rewrite.
        options: The pipeline's other arguments, by name.

    Raises:
        TypeError: `model` is of another type, or an option is unknown or would do nothing.
        ValueError: The runtime is unknown, or it is not that of the model.
    """
    choices.check_choice(_NAME, "runtime", runtime, with_library())
    given = Given.of(_NAME, model, TO_SERVE)
    if given.runtime is None:
        others = {name: r.name for r in RUNTIMES.values() for name in r.options.names()}
        kind = RUNTIMES[runtime].options
        read = of_runtimes.read_options(kind, options, _OWN, others)
        return Wanted(given, runtime, asked, read)
    if runtime not in (given.runtime, _DEFAULT):
        allowed = f"{given.runtime!r}, in which the {given.name} is, or left out"
        refuse(_NAME, "runtime", repr(runtime), allowed, "Leave it out.")
    words = ("per_row", "keep_seeds", "invert_bernoulli")
    named = [*options, *(word for word in words if getattr(asked, word) is not False)]
    if asked.draw:
        named.append("draw")
    if named:
        what = f"{given.name} with the options {', '.join(named)}"
        remedy = "Leave them out: they were chosen when it was made."
        refuse(_NAME, "the model", what, "given without options", remedy, TypeError)
    return Wanted(given, given.runtime, asked, of_runtimes.Options())


def opened(
    model: Any,
    runtime: str,
    asked: Asked,
    options: Mapping[str, Any],
    source: Any,
) -> Engine:
    """The engine for what a user asks a pipeline for, as `wanted` reads it."""
    return engine_of(wanted(model, runtime, asked, options), source)


def engine_of(wanted: Wanted, source: Any = None) -> Engine:
    """The engine for what a `Pipeline` is given, see there."""
    given = wanted.given
    runtime = RUNTIMES[wanted.runtime]
    if given.runtime is not None:
        loaded, streams = _adopted(given, runtime, source)
        return _engine(wanted, loaded, streams)
    if source is not None:
        allowed = (
            "left out, unless the model is a session or a compiled model: any other model says "
            "itself what it draws"
        )
        refuse(_NAME, _SOURCE, type(source).__name__, allowed, "Leave it out.", TypeError)
    if given.of_openvino and not runtime.takes_ir:
        what = given.name if given.is_file else f"an {_WHAT[given.form]}"
        remedy = f"Pass runtime={reader_of_ir().name!r}."
        refuse(_NAME, "the model", what, f"an ONNX file for {runtime.name}", remedy)
    try:
        runtime.models()
    except FileNotFoundError as error:
        raise FileNotFoundError(f"{_NAME}: {error}") from error
    return engine_serving(wanted, served_by(wanted))


def engine_serving(wanted: Wanted, served: Served, *, shows_drawn: bool = False) -> Engine:
    """The engine for what is served of a model; what that draws may be outputs, too."""
    if wanted.asked.named is not None and served.streams.batch is None:
        what = "one rewritten for a single state"
        allowed = "one with a state for each row"
        remedy = "Rewrite the original with make_reproducible(..., per_row=True)."
        refuse(_NAME, "the model", what, allowed, remedy)
    runtime = RUNTIMES[wanted.runtime]
    try:
        to_open = ToOpen(wanted.given, wanted.options, served, shows_drawn)
        loaded = runtime.models().open(to_open)
    except Exception as error:
        raise_not_loaded(_NAME, runtime.name, error)
        raise
    return _engine(wanted, loaded, served.streams, served.stamp)


def _engine(
    wanted: Wanted,
    loaded: LoadedModel,
    streams: Streams,
    stamp: object = (),
) -> Engine:
    asked = wanted.asked.generator
    drawn = streams.generator
    if asked.is_named and asked is not drawn:
        what = f"one that draws numbers of {drawn.owner}"
        allowed = f"one of alignment {asked.alignment!r}"
        call = f"make_reproducible(..., alignment={asked.alignment!r})"
        refuse(_NAME, "the model", what, allowed, f"Rewrite the original with {call}.")
    kind = Engine
    if loaded.takes_bindings:
        from onnx_philox._pipeline.bindings import BindingEngine

        kind = BindingEngine
    engine = kind(loaded, streams, stamp)
    engine.opened_from = wanted.again
    engine.device = wanted.options.where
    return engine


def served_by(wanted: Wanted) -> Served:
    """The model itself, or what a rewrite makes of it; and what it says."""
    from onnx_philox._rewriting.look import look

    given = wanted.given
    asked = wanted.asked
    if given.of_openvino:
        asked.check_openvino()
        what = f"the {'file' if given.is_file else _WHAT[given.form]}"
    else:
        asked.check_onnx()
        what = given.what
    options = wanted.options
    backend = options.backend if isinstance(options, of_runtimes.OpenVinoOptions) else AUTO
    # Once, from one open file: another may take its place meanwhile.
    with given.kept_open():
        seen = look(given, backend)
        new = seen
        if seen.must_be_rewritten(asked):
            new = seen.rewritten(asked, keeps_external=options.finds_weights)
        served = _said_by(new, what)
        is_itself = new.model is seen.model
        model = served.model
        if given.form is Form.FILE and new is seen:
            # The runtime reads the file itself.
            model = None
        return replace(served, model=model, stamp=given.stamp, is_itself=is_itself)


def _said_by(seen: AnyLook, what: str) -> Served:
    """What a model says that a pipeline can serve; a refusal calls it so."""
    from onnx_philox._rewriting.look import OpenvinoLook

    if isinstance(seen, OpenvinoLook):
        return _said_by_openvino(seen, what)
    return _said_by_onnx(seen, what)


def _said_by_onnx(seen: OnnxLook, what: str) -> Served:
    from onnx_philox._models.onnx_graphs import label
    from onnx_philox._models.ours import draws_by_seed, generator_of, of_model

    graph = seen.graph
    checks.check_opset(graph.opset_imports.get(DOMAIN, 1), _NAME)
    check_one_state(_NAME, seen.states)
    streams = seen.streams
    if streams is None:
        for node in filter(draws_by_seed, of_model(graph)):
            by = generator_of(node)
            given = f"one whose {label(node)} draws {by.whose} of its global_seed in every run"
            remedy = f"Remove global_seed from that node, and pass alignment={by.alignment!r}."
            refuse(_NAME, what, given, "one whose draws wait for a state", remedy)
        _refuse_stateless(what)
    model = seen.model
    return Served(streams, model.graph, graph.metadata_props.get(STANDARD), model)


def _said_by_openvino(seen: OpenvinoLook, what: str) -> Served:
    from onnx_philox._runtimes.openvino_variables import check_state

    check_one_state(_NAME, seen.states)
    streams = seen.served_streams
    check_state(seen.model, what, streams)
    if streams is None:
        _refuse_stateless(what)
    _check_record(streams, seen.metadata(STANDARD_STATE))
    return Served(streams, standard=seen.metadata(STANDARD), model=seen.model)


def _adopted(given: Given, runtime: Runtime, source: Any) -> tuple[LoadedModel, Streams]:
    """A user's session or compiled model, which its metadata describe, or its source."""
    models = runtime.models()
    what = _WHAT[given.form]
    own = Streams.from_json(models.metadata(given.model, METADATA_KEY) or "")
    standard_state = models.metadata(given.model, STANDARD_STATE)
    if source is not None:
        from onnx_philox._rewriting.look import look

        given_source = Given.of(_NAME, source, TO_REWRITE, _SOURCE)
        served = _said_by(look(given_source), given_source.what)
        if not given_source.of_openvino:
            # What the first values of variables are made of is OpenVINO's own model.
            served = replace(served, model=None)
    elif own is not None:
        _check_record(own, standard_state)
        served = Served(own)
    else:
        allowed = "made of a model that make_reproducible rewrote, with its metadata"
        remedy = f"Pass as source=... the model that the {what} was made from."
        refuse(_NAME, f"the {what}", "one that says nothing of its random nodes", allowed, remedy)
    streams = served.streams
    is_another = own not in (None, streams) and _is_right(own, standard_state)
    if not is_another and streams.state in models.names_of_inputs(given.model):
        loaded = models.open(ToOpen(given, runtime.options(), served))
        if source is None or _is_of(served, loaded):
            return loaded, streams
    allowed = f"the model that the {what} was made from"
    return refuse(_NAME, _SOURCE, "another model", allowed, "Pass that one.")


def _is_of(source: Served, loaded: LoadedModel) -> bool:
    """Whether a loaded model has no input but its source's, and the state in the same rank."""
    ranks: dict[str, int | None] = {}
    if source.graph is not None:
        for value in source.graph.input:
            ranks[value.name] = _rank(port_of(value, True).shape)
    else:
        for port in source.model.inputs:
            shape = port.partial_shape
            rank = len(shape) if shape.rank.is_static else None
            ranks |= dict.fromkeys(port.get_names(), rank)
    here = {port.name: _rank(port.shape) for port in loaded.inputs}
    if not here.keys() <= ranks.keys():
        return False
    state = source.streams.state
    own = ranks.get(state)
    loaded_s = here.get(state)
    return own is None or loaded_s is None or own == loaded_s


def _rank(shape: Sequence[object] | None) -> int | None:
    return None if shape is None else len(shape)


def _is_right(streams: Streams, standard_state: str | None) -> bool:
    """Whether a record alone says which state is read.

    Earlier versions recorded any input with the type of a state, and an output of its name.
    """
    return streams.state in (STATE, standard_state)


def _check_record(streams: Streams, standard_state: str | None) -> None:
    if not _is_right(streams, standard_state):
        given = f"{streams.state!r}, which no random node is known to read"
        allowed = "the input that random nodes draw from"
        remedy = (
            "Open the ONNX model itself, or pass it as source=...: its nodes say which that is."
        )
        refuse(_NAME, "the model's state", given, allowed, remedy)


def _refuse_stateless(what: str) -> NoReturn:
    given = "one without a state as an input and the next as an output"
    remedy = (
        "Rewrite it with make_reproducible(model). If that finds no random nodes, an export or a "
        "conversion may have lost them: onnx-philox inspect says how."
    )
    if what == _SOURCE:
        remedy = "Pass the rewritten model, which the runtime was given, and not the original."
    refuse(_NAME, what, given, "one with random nodes, rewritten without a seed", remedy)
