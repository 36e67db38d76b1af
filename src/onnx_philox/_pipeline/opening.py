"""Opens what a pipeline is given in a runtime."""

from __future__ import annotations

import os
import sys
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import onnx
from google.protobuf.message import DecodeError  # type: ignore[import-untyped]

from onnx_philox._contract import choices
from onnx_philox._contract.refusal import refuse, refusing_as, shown
from onnx_philox._contract.streams import METADATA_KEY, STANDARD, STANDARD_STATE, STATE, Streams
from onnx_philox._files import openvino_ir, ort_format
from onnx_philox._files.given import Given
from onnx_philox._files.openvino_ir import is_ir
from onnx_philox._files.text import check_path
from onnx_philox._pipeline import variables
from onnx_philox._pipeline.engine import Engine
from onnx_philox._rewriting.asked import OWNER, Asked
from onnx_philox._runtimes import RUNTIMES, with_library

if TYPE_CHECKING:
    # onnx-ir loads SymPy, which takes longer than all else here. What needs it is loaded when a
    # model comes that nobody has put into a runtime yet.
    import onnx_ir as ir

_NAME = "Pipeline"
_DEFAULT = "onnxruntime"


@dataclass(frozen=True)
class _Model:
    """What a model says of itself."""

    streams: Streams
    graph: onnx.GraphProto | None = None
    """Of a model of ONNX; large weights may be missing."""
    standard: str | None = None
    """For which runtime its standard nodes are made; see `onnx_philox._standard.made`."""
    model: Any = None
    """Itself, if it is OpenVINO's."""


def engine_of(
    model: Any, runtime: str, asked: Asked, source: Any, options: dict[str, Any]
) -> Engine:
    """The engine for what a `Pipeline` is given; see there."""
    engine = _engine_of(model, runtime, asked, source, options)
    wanted, drawn = asked.generator, engine.streams.generator
    if wanted.is_named and wanted is not drawn:
        given = f"one that draws numbers of {drawn.owner}"
        allowed = f"one of alignment {wanted.alignment!r}"
        call = f"make_reproducible(..., alignment={wanted.alignment!r})"
        remedy = f"Rewrite the original with {call}."
        refuse(_NAME, "the model", given, allowed, remedy)
    return engine


def _engine_of(
    model: Any, runtime: str, asked: Asked, source: Any, options: dict[str, Any]
) -> Engine:
    choices.check(_NAME, "runtime", runtime, with_library())
    loaded = _runtime_of(model)
    if loaded is None and source is not None:
        allowed = (
            "left out for a model that is not in a runtime yet, which says itself what it draws"
        )
        refuse(_NAME, "source", type(source).__name__, allowed, "Leave it out.", TypeError)
    if loaded not in (None, runtime) and runtime != _DEFAULT:
        allowed = f"{loaded!r}, in which the {type(model).__name__} is, or left out"
        refuse(_NAME, "runtime", repr(runtime), allowed, "Leave it out.")
    if isinstance(model, str | os.PathLike | bytes | onnx.ModelProto):
        _check_options(options, RUNTIMES[runtime].options)
        if runtime == "openvino":
            _check_directory()
        if names_ir(model):
            return _open_ir(str(model), runtime, asked, options)
        # A user's own options stay as they are; with new ones ONNX Runtime finds the weights.
        keeps_external = options.get("sess_options") is None
        path = model
        model, said = rewritten(model, asked, keeps_external=keeps_external)
        if isinstance(model, str | os.PathLike):
            check_path(_NAME, model)
        elif keeps_external and runtime != "openvino" and isinstance(path, str | os.PathLike):
            from onnx_philox._runtimes import in_onnxruntime

            options["sess_options"] = in_onnxruntime.with_weights_beside(path)
        _check_rows(said.streams, asked)
        if runtime == "openvino":
            return _compile(model, said, path, **options)
        return _load(model, said.streams, options)
    if _is_of(model, "openvino", "Model"):
        _check_options(options, RUNTIMES[runtime].options)
        return _open_openvino_s(model, runtime, asked, options)
    given = [*options, *["per_row"] * (asked.named is not None), *["keep_seeds"] * asked.keep_seeds]
    if given:
        what = f"{type(model).__name__} with the options {', '.join(given)}"
        remedy = "Leave them out: they were chosen when it was made."
        refuse(_NAME, "the model", what, "given without options", remedy, TypeError)
    if loaded is not None:
        return _take_session(model, source) if loaded == _DEFAULT else _take_compiled(model, source)
    return refuse(
        _NAME,
        "the model",
        type(model).__name__,
        "a path, bytes, an onnx.ModelProto, an openvino.Model, an onnxruntime.InferenceSession or "
        "an openvino.CompiledModel",
        "Pass one of these.",
        TypeError,
    )


def _runtime_of(model: Any) -> str | None:
    """The runtime in which a model is that a user has loaded; None for any other."""
    if _is_of(model, "onnxruntime", "InferenceSession"):
        return "onnxruntime"
    return "openvino" if _is_of(model, "openvino", "CompiledModel") else None


def _is_of(given: Any, package: str, name: str) -> bool:
    """Whether an object is of a runtime's class, by name: no other runtime need be installed."""
    bases = ((base.__module__.partition(".")[0], base.__name__) for base in type(given).__mro__)
    return (package, name) in bases


def _check_directory() -> None:
    """Raises an error that says what to do where OpenVINO cannot be imported."""
    try:
        os.getcwd()
    except FileNotFoundError as error:
        if "openvino" not in sys.modules:
            why = (
                "Pipeline: the working directory has been deleted, and OpenVINO cannot be imported "
                "there. Change to another with os.chdir."
            )
            raise FileNotFoundError(why) from error


def _check_options(options: dict[str, Any], allowed: Collection[str]) -> None:
    """Refuses options that the runtime does not have."""
    unknown = [name for name in options if name not in allowed]
    if unknown:
        remedy = "Leave it out, or correct its name."
        refuse(
            _NAME,
            "each option",
            repr(unknown[0]),
            f"one of {', '.join(allowed)}",
            remedy,
            TypeError,
        )
    config = options.get("config")
    if config is not None and not isinstance(config, Mapping):
        allowed = "a mapping of OpenVINO's properties to their values"
        remedy = "Pass {'INFERENCE_PRECISION_HINT': 'f32'}, for instance."
        refuse(_NAME, "config", shown(config), allowed, remedy, TypeError)


def rewritten(model: Any, asked: Asked, *, keeps_external: bool = False) -> tuple[Any, _Model]:
    """The model itself, or what a rewrite makes of it; and what it says."""
    if isinstance(model, bytes):
        model = _parsed(model)
    import onnx_ir as ir

    from onnx_philox._files.model_file import opened
    from onnx_philox._models.untouched import Originals
    from onnx_philox._rewriting import api

    with refusing_as(_NAME):
        asked.check_onnx()
    if isinstance(model, onnx.ModelProto):
        graph = Originals(model, owner=_NAME).model
        if not _wants_rewrite(graph):
            return model, _said_by(model, graph)
        rewritten = api.rewritten(Given.of(OWNER, model), asked)
    else:
        # Once, from one open file: another may take its place meanwhile.
        with opened(model, _NAME) as file:
            graph = Originals(file.proto, file.path.parent, owner=_NAME).model
            if not _wants_rewrite(graph):
                return model, _said_by(file.proto, graph)
            rewritten = api.rewrite_opened(file, asked, keeps_external=keeps_external)
    return rewritten, _said_by(rewritten, ir.from_proto(rewritten))


def _wants_rewrite(graph: ir.Model) -> bool:
    from onnx_philox._models.streams import streams_of
    from onnx_philox._rewriting.api import find_random_nodes
    from onnx_philox._rewriting.report import wants_rewrite

    return wants_rewrite(find_random_nodes(graph), streams_of(graph))


def _parsed(given: bytes) -> onnx.ModelProto:
    """The model in these bytes."""
    try:
        return onnx.load_from_string(given)
    except DecodeError:
        what, allowed = shown(given), "the bytes of a serialised ONNX model"
        remedy = "Pass these, or the path of a file as a str."
        if ort_format.is_ort(given):
            what, remedy = ort_format.GIVEN, ort_format.REMEDY
        return refuse(_NAME, "the model", what, allowed, remedy)


@contextmanager
def _graph_of(model: Any) -> Iterator[tuple[onnx.ModelProto, ir.Model]]:
    """A model of ONNX in both forms; those of a file are without its weights."""
    from onnx_philox._files.model_file import opened
    from onnx_philox._models.untouched import Originals

    if isinstance(model, onnx.ModelProto):
        yield model, Originals(model, owner=_NAME).model
        return
    with opened(model, _NAME) as file:
        yield file.proto, Originals(file.proto, file.path.parent, owner=_NAME).model


def names_ir(model: Any) -> bool:
    return isinstance(model, str | os.PathLike) and is_ir(model)


def _check_rows(streams: Streams, asked: Asked) -> None:
    """Refuses a model that was rewritten before, for one state."""
    if asked.named is not None and streams.batch is None:
        given, allowed = "one rewritten for a single state", "one with a state for each row"
        remedy = "Rewrite the original with make_reproducible(..., per_row=True)."
        refuse(_NAME, "the model", given, allowed, remedy)


def _open_ir(path: str, runtime: str, asked: Asked, options: dict[str, Any]) -> Engine:
    """A model in OpenVINO's own format."""
    _check_openvino(path, runtime)
    check_path(_NAME, path)
    # A missing IR raises the same error as a missing ONNX file.
    openvino_ir.check(_NAME, path)
    from onnx_philox._runtimes import in_openvino

    core = in_openvino.new_core(options.pop("backend", "auto"))
    return _open_in(core, in_openvino.read(core, path), "file", asked, **options)


def _open_openvino_s(model: Any, runtime: str, asked: Asked, options: dict[str, Any]) -> Engine:
    """A model that OpenVINO has read or converted."""
    what = "openvino.Model"
    _check_openvino(f"an {what}", runtime)
    from onnx_philox._runtimes import in_openvino

    core = in_openvino.new_core(options.pop("backend", "auto"))
    return _open_in(core, model, what, asked, **options)


def _open_in(core: Any, model: Any, what: str, asked: Asked, **options: Any) -> Engine:
    """A model of OpenVINO's, which is rewritten if it has random nodes of OpenVINO's own."""
    from onnx_philox._rewriting import api
    from onnx_philox._rewriting.in_openvino.api import streams_of
    from onnx_philox._rewriting.report import wants_rewrite

    with refusing_as(_NAME):
        asked.check_openvino()
    # Of a model that was rewritten before, a rewrite knows whether seeds were kept.
    if asked.keep_seeds or wants_rewrite(api.find_random_nodes(model), streams_of(model)):
        model = api.rewritten(Given.of(OWNER, model), asked)
    said = _said_by_openvino(model, what)
    _check_rows(said.streams, asked)
    _check_standard(said.standard, options.get("config") or {})
    return _compiled(core, model, said, **options)


def _check_openvino(given: str, runtime: str) -> None:
    if runtime != "openvino":
        remedy = "Pass runtime='openvino'."
        refuse(_NAME, "the model", given, f"an ONNX file for {runtime}", remedy)


def _load(model: Any, streams: Streams, options: dict[str, Any]) -> Engine:
    from onnx_philox import onnxruntime
    from onnx_philox._pipeline.bindings import BindingEngine

    given = os.fspath(model) if isinstance(model, str | os.PathLike) else model
    return BindingEngine(onnxruntime.InferenceSession(given, **options), streams)


def _compile(model: Any, said: _Model, given: Any, backend: str = "auto", **options: Any) -> Engine:
    _check_standard(said.standard, options.get("config") or {})
    from onnx_philox._runtimes import in_openvino

    core = in_openvino.new_core(backend)
    beside = Path(given).absolute() if isinstance(given, str | os.PathLike) else None
    return _compiled(core, in_openvino.read(core, model, beside), said, **options)


def _compiled(
    core: Any, read: Any, said: _Model, device: str = "CPU", config: dict[str, Any] | None = None
) -> Engine:
    from onnx_philox._runtimes import in_openvino
    from onnx_philox._runtimes.openvino_variables import Initial

    initial = Initial(core, read) if read.get_variables() else None
    try:
        compiled = in_openvino.compile_model(core, read, device, config or {})
    except Exception:
        in_openvino.check_device(_NAME, device, core.available_devices)
        raise
    loaded = in_openvino.OpenvinoModel(compiled, said.graph, initial, _carriers(read, said))
    return Engine(loaded, said.streams)


def _carriers(model: Any, said: _Model) -> Collection[tuple[str, int]]:
    """The dimensions that carry the batch in a model of OpenVINO's, where they have no names."""
    if said.graph is not None or model is None or said.streams.batch is None:
        return ()
    from onnx_philox._runtimes.openvino_batch import carriers

    return carriers(model, said.streams.batch)


def _check_standard(note: str | None, config: dict[str, Any]) -> None:
    """Refuses standard nodes that OpenVINO cannot run, or would draw different numbers from."""
    if note is None:
        return
    from onnx_philox._runtimes.in_openvino import PRECISION_HINT
    from onnx_philox._standard import made

    asked = config.get(PRECISION_HINT, made.PRECISION)
    precision = asked if isinstance(asked, str) else asked.to_string()
    made.check_openvino(_NAME, note, precision, PRECISION_HINT)


def _take_session(session: Any, source: Any) -> Engine:
    from onnx_philox._pipeline.bindings import BindingEngine
    from onnx_philox._runtimes import in_onnxruntime

    names = {i.name for i in session.get_inputs()}
    own = _recorded(in_onnxruntime.metadata(session, METADATA_KEY))
    standard_state = in_onnxruntime.metadata(session, STANDARD_STATE)
    if source is None:
        streams = own or _refuse_unsaid("session")
        _check_record(streams, standard_state)
    else:
        streams = _said_by_source(source).streams
    if streams.state not in names:
        _refuse_source("session")
    if own not in (None, streams) and _is_right(own, standard_state):
        _refuse_source("session")
    return BindingEngine(session, streams)


def _take_compiled(compiled: Any, source: Any) -> Engine:
    from onnx_philox._runtimes import in_openvino
    from onnx_philox._runtimes.openvino_variables import Initial

    said = _refuse_unsaid("compiled model") if source is None else _said_by_source(source)
    names = {name for port in compiled.inputs for name in port.get_names()}
    if said.streams.state not in names:
        _refuse_source("compiled model")
    initial, held = None, compiled.create_infer_request().query_state()
    if held:
        if said.model is None:
            variables.refuse_unknown([state.name for state in held])
        initial = Initial(in_openvino.new_core("auto"), said.model)
    loaded = in_openvino.OpenvinoModel(compiled, said.graph, initial, _carriers(said.model, said))
    return Engine(loaded, said.streams)


def _is_right(streams: Streams, standard_state: str | None) -> bool:
    """Whether a record alone says which state is read.

    Earlier versions recorded any input with the type of a state, and an output of its name.
    """
    return streams.state in (STATE, standard_state)


def _check_record(streams: Streams, standard_state: str | None) -> None:
    if not _is_right(streams, standard_state):
        refuse(
            _NAME,
            "the model's state",
            f"{streams.state!r}, which no random node is known to read",
            "the input that random nodes draw from",
            "Open the ONNX model itself, or pass it as source=...: its nodes say which that is.",
        )


def _refuse_source(what: str) -> NoReturn:
    allowed = f"the model that the {what} was made from"
    refuse(_NAME, "source", "another model", allowed, "Pass that one.")


def _said_by_source(source: Any) -> _Model:
    if isinstance(source, bytes):
        source = _parsed(source)
    if names_ir(source):
        from onnx_philox._runtimes import in_openvino

        source = in_openvino.read(in_openvino.new_core("auto"), os.fspath(source))
    if isinstance(source, str | os.PathLike | onnx.ModelProto):
        with _graph_of(source) as graph:
            return _said_by(*graph)
    return _said_by_openvino(source, "openvino.Model")


def _said_by_openvino(model: Any, what: str) -> _Model:
    """What a model of OpenVINO says, before it is compiled."""
    from onnx_philox._rewriting.in_openvino.api import streams_of as read_streams
    from onnx_philox._runtimes.in_openvino import metadata

    streams = _recorded(metadata(model, METADATA_KEY)) or read_streams(model)
    variables.check_state(model, what, streams)
    if streams is None:
        _refuse_stateless(f"the {what}")
    _check_record(streams, metadata(model, STANDARD_STATE))
    return _Model(streams, standard=metadata(model, STANDARD), model=model)


def _recorded(text: str | None) -> Streams | None:
    return None if text is None else Streams.from_json(text)


def _said_by(proto: onnx.ModelProto, model: ir.Model) -> _Model:
    from onnx_philox._models.graphs import label
    from onnx_philox._models.ours import draws_by_seed, generator_of, of_model
    from onnx_philox._models.streams import streams_of

    streams = streams_of(model)
    if streams is None:
        for node in filter(draws_by_seed, of_model(model)):
            drawn_by = generator_of(node)
            refuse(
                _NAME,
                "the model",
                f"one whose {label(node)} draws {drawn_by.whose} of its global_seed in every run",
                "one whose draws wait for a state",
                f"Remove global_seed from that node, and pass alignment={drawn_by.alignment!r}.",
            )
        _refuse_stateless("the model")
    return _Model(streams, proto.graph, model.metadata_props.get(STANDARD))


def _refuse_stateless(what: str) -> NoReturn:
    refuse(
        _NAME,
        what,
        "one without a state as an input and the next as an output",
        "one with random nodes, rewritten without a seed",
        "Rewrite it with make_reproducible(model). If that finds no random nodes, an export or a "
        "conversion may have lost them: onnx-philox inspect says how.",
    )


def _refuse_unsaid(what: str) -> NoReturn:
    refuse(
        _NAME,
        f"the {what}",
        "one that says nothing of its random nodes",
        "made of a model that make_reproducible rewrote, with its metadata",
        f"Pass as source=... the model that the {what} was made from.",
    )
