"""A model in OpenVINO."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Self
from weakref import WeakValueDictionary

import numpy as np
import onnx
import openvino as ov
from openvino import opset8

from onnx_philox import _backends, _runtime_errors
from onnx_philox._backends import AUTO, Backend
from onnx_philox._contract import choices
from onnx_philox._contract.operators import OPERATORS
from onnx_philox._contract.refusal import ValueRefusalError, shown
from onnx_philox._contract.streams import STANDARD
from onnx_philox._contract.types import BF16, ElementType
from onnx_philox._files import external_data
from onnx_philox._files.drawn_outputs import name_of_mask
from onnx_philox._files.given import Given
from onnx_philox._files.tensors import misread_by_openvino, tensors
from onnx_philox._openvino_models import arrays as ov_arrays
from onnx_philox._openvino_models import openvino_graphs, requests
from onnx_philox._openvino_models.ports import input_names, output_names
from onnx_philox._runtimes import models
from onnx_philox._runtimes.openvino_batch import Carrier, carriers, named
from onnx_philox._runtimes.openvino_variables import Initial, Requests, held, set_all, types_of
from onnx_philox._runtimes.options import PRECISION
from onnx_philox._runtimes.port import ArgumentError, Arrays, Port
from onnx_philox._standard import made
from onnx_philox._standard.targets import TARGETS

# What OpenVINO calls its ways to choose among devices.
_CHOOSING = {"AUTO", "BATCH", "HETERO", "MULTI"}


class OpenvinoModel(models.LoadedModel):
    """A compiled model, with an infer request for each thread that runs it.

    Its inputs and outputs have the names of the ONNX model that it was made from, if there is one,
    or else of the model `before` it was compiled.
    """

    runtime = "openvino"
    version = ov.__version__.partition("-")[0]
    core: ov.Core | None = None
    """What compiled it, and is shared by others: it stays as long as one of them is open."""

    def __init__(
        self,
        compiled: ov.CompiledModel,
        graph: onnx.GraphProto | None = None,
        initial: Initial | None = None,
        carrying: Collection[Carrier] = (),
        before: ov.Model | None = None,
    ) -> None:
        self.compiled = compiled
        inputs_before = [] if before is None else before.inputs
        outputs_before = [] if before is None else before.outputs
        names = input_names(compiled.inputs, graph, inputs_before)
        known = {}
        if graph:
            known = {value.name: value for value in graph.input}
        ports = zip(names, compiled.inputs, strict=True)
        self.inputs = named(
            [_port(name, given, known.get(name)) for name, given in ports], carrying
        )
        self.outputs = output_names(compiled.outputs, graph, outputs_before)
        # OpenVINO drops inputs that nothing reads. Those with a value in the model are constants.
        constant = set()
        if graph:
            constant = {tensor.name for tensor in graph.initializer}
        self.own_values = known.keys() & constant
        unread = known.keys() - set(names) - constant
        self.dropped = []
        for name in sorted(unread):
            port = models.port_of(known[name], False)
            self.dropped.append(replace(port, shape=None))
        self.aliases = {
            other: name
            for name, port in zip(names, compiled.inputs, strict=True)
            for other in port.get_names() - set(names) - known.keys()
        }
        self._requests = Requests(compiled)
        with self._requests.one() as request:
            self.variables = types_of(request)
        self._initial = initial

    @staticmethod
    def backends() -> Mapping[str, Backend]:
        from onnx_philox.openvino import BACKENDS

        return BACKENDS

    @staticmethod
    def devices() -> list[str]:
        """The devices that OpenVINO finds."""
        return list(ov.Core().available_devices)

    @classmethod
    def open(cls, asked: models.ToOpen) -> Self:
        given = asked.given
        options = asked.options
        served = asked.served
        if served is not None and given.runtime is not None:
            states = given.model.create_infer_request().query_state()
            initial = None
            if states:
                initial = Initial.of_source(core_for(AUTO), served.model, states)
            carrying = _carrying(served, served.model)
            return cls(given.model, served.graph, initial, carrying, served.model)
        config = options.config or {}
        device = "CPU" if options.device is None else options.device
        hint = config.get(PRECISION)
        precision = hint.to_string() if isinstance(hint, ov.Type) else hint
        if given.is_file:
            _ = asked.path
        if served is None:
            core = core_for(options.backend)
            initial = None
            graph = None if given.of_openvino else _check(given, precision)
            model = asked.read
            if model is None:
                model = read_by_core(core, given, None if given.is_file else given.proto)
            _check_standard(given, openvino_graphs.metadata(model, STANDARD), precision)
        else:
            _check_standard(given, served.standard, precision)
            core = core_for(options.backend)
            graph = served.graph
            model = served.model
            if not given.of_openvino:
                model = read_by_core(core, given, model)
            initial = Initial(core, model) if model.get_variables() else None
        drawn = _show_drawn(model) if asked.shows_drawn else {}
        compiled = _compiled(given.owner, core, model, device, config)
        loaded = cls(compiled, graph, initial, _carrying(served, model), model)
        loaded.core = core
        loaded.backend = models.choose_backend(cls, options.backend)
        loaded.drawn = drawn
        loaded.precision = _precision(compiled)
        loaded.device = device
        loaded.how = _how(loaded.precision, device, precision)
        return loaded

    @staticmethod
    def metadata(model: ov.CompiledModel, key: str) -> str | None:  # noqa: ARG004
        """None: OpenVINO compiles none into a model."""
        return None

    @staticmethod
    def names_of_inputs(model: ov.CompiledModel) -> set[str]:
        return {name for port in model.inputs for name in port.get_names()}

    def values_of(self, feeds: Mapping[str, Any]) -> Sequence[Any]:
        given = self._given(feeds)
        with self._requests.one() as request:
            return self._run(request, given)

    def values_from(
        self, feeds: Mapping[str, Any], variables: Arrays | None
    ) -> tuple[Sequence[Any], Arrays | None]:
        if not self.variables:
            return self.values_of(feeds), None
        given = self._given(feeds)
        if variables is None:
            assert self._initial is not None
            variables = self._initial.values(given)
        with self._requests.one() as request:
            states = request.query_state()
            set_all(states, variables)
            return self._run(request, given), held(states)

    def _given(self, feeds: Mapping[str, Any]) -> list[Any]:
        """The inputs in their order: OpenVINO may know an input by another name."""
        return [_given(feeds[port.name]) for port in self.inputs]

    def _run(self, request: ov.InferRequest, given: Sequence[Any]) -> Sequence[Any]:
        # It copies them all: a request keeps the inputs of the run before. An array that it is
        # given to share can be written to by other requests, where a dimension is dynamic
        # (docs/troubleshooting.md).
        try:
            requests.run(request, dict(enumerate(given)))
        except RuntimeError as error:
            _runtime_errors.raise_refusal(error)
            raise
        tensors = map(request.get_output_tensor, range(len(self.outputs)))
        # Copies: the next run writes into the same memory.
        return [ov_arrays.memory(tensor).copy() for tensor in tensors]

    def taken(self, value: Any) -> Any:
        """The memory of a tensor, whose type is checked: OpenVINO would cast it in silence."""
        if isinstance(value, ov.Tensor):
            return ov_arrays.memory(value)
        return None


_CORES: WeakValueDictionary[Backend, ov.Core] = WeakValueDictionary()


def core_for(backend: str) -> ov.Core:
    """The core that knows our operators: all models of a backend that are open at once share it.

    OpenVINO's CPU plugin gives the thread that loads it a stack for signals. Where a core goes
    before one that was made after it, the thread is left a stack that is no longer mapped, and the
    next signal that Python handles ends the process (`findings/openvino_signal_stack.sh`).

    Once no model holds it, it goes: a process that is forked then would wait for ever for the
    threads that the plugin keeps.
    """
    from onnx_philox.openvino import BACKENDS

    chosen = _backends.choose("openvino", BACKENDS, backend)
    core = _CORES.get(chosen)
    if core is None:
        made = ov.Core()
        chosen.register(made)
        # Another thread may have been first.
        core = _CORES.setdefault(chosen, made)
    return core


_DIRICHLET = "aten::_sample_dirichlet"


def read_by_core(
    core: ov.Core,
    given: Given,
    model: onnx.ModelProto | None = None,
) -> ov.Model:
    """Reads a file, or an ONNX model in memory, whose external data lies beside the file.

    OpenVINO looks for such data in the folder of a file alone, follows no link out of it, and maps
    the data. So there is a file in that folder for as long as it reads. Where none can be, the data
    comes into memory.
    """
    if model is None:
        return core.read_model(given.for_runtime)
    if given.is_file and external_data.locations(model):
        beside = given.path.absolute()
        try:
            opened_file, name = tempfile.mkstemp(dir=beside.parent, prefix=".", suffix=".onnx")
        except OSError:
            for tensor in tensors(model):
                external_data.load_tensor(given.owner, tensor, beside)
        else:
            try:
                with open(opened_file, "wb") as file:
                    file.write(model.SerializeToString())
                return core.read_model(name)
            finally:
                Path(name).unlink()
    return core.read_model(model.SerializeToString())


def compile_model(
    core: ov.Core, model: ov.Model, device: str, config: Mapping[str, Any]
) -> ov.CompiledModel:
    """Compiles a model, one of standard nodes at the precision that they are made for."""
    if openvino_graphs.metadata(model, STANDARD) is not None:
        config = {**config, PRECISION: made.PRECISION}
    from onnx_philox import openvino

    return openvino.compile_model(core, model, device, config)


def _compiled(
    owner: str, core: ov.Core, model: ov.Model, device: Any, config: Mapping[str, Any]
) -> ov.CompiledModel:
    """A compiled model, or a refusal of the device or the property that OpenVINO does not take."""
    try:
        return compile_model(core, model, device, config)
    except Exception:
        _check_divided(owner, model)
        _check_device(owner, device, core)
        _check_config(owner, device, config)
        raise


def _carrying(served: models.Served | None, model: ov.Model | None) -> Collection[Carrier]:
    """The dimensions that carry the batch in a model of OpenVINO's, where they have no names."""
    if served is None or model is None:
        return ()
    if served.graph is not None or served.streams.batch is None:
        return ()
    return carriers(model, served.streams.batch, served.streams.batch_axis)


def _check_divided(owner: str, model: ov.Model) -> None:
    """Refuses Beta and Dirichlet by their name: OpenVINO's CPU plugin computes no f64."""
    for node in model.get_ops():
        if _DIRICHLET in node.get_friendly_name():
            remedy = (
                "Run the model in ONNX Runtime. If all parameters are 1 or above, write g = "
                "torch._standard_gamma(alpha), then g / g.sum(-1, keepdim=True)."
            )
            given = "one that draws Beta or Dirichlet by it, in f64, which its CPU does not compute"
            raise models.SettingError(
                owner, "the model", given, f"without {_DIRICHLET} in OpenVINO", remedy
            )


def _check_device(owner: str, device: Any, core: ov.Core) -> None:
    """Refuses a name that is no device's here, of which OpenVINO's own error says too much."""
    # Of "HETERO:GPU.1,CPU" the names are HETERO, GPU.1 and CPU.
    names = []
    if isinstance(device, str):
        names = re.findall(r"([^\W\d]\w*)\.?(\w*)", device)
    available = core.available_devices
    kinds = [name.partition(".")[0] for name in available]
    known = {*_CHOOSING, *kinds}
    is_known = bool(names)
    for name, number in names:
        if name not in known or not _has_number(core, name, number):
            is_known = False
    if not is_known:
        allowed = f"one that OpenVINO finds here ({', '.join(available)})"
        remedy = "Pass one of these, or several as in 'HETERO:GPU,CPU'."
        raise models.SettingError(owner, "device", repr(device), allowed, remedy)


def _has_number(core: ov.Core, name: str, n: str) -> bool:
    """Whether there is a device of that number, if one is given; the CPU has none of any."""
    if not n:
        return True
    if name in _CHOOSING:
        return False
    return n in core.get_property(name, "AVAILABLE_DEVICES")


def _check_config(owner: str, device: str, config: Mapping[str, Any]) -> None:
    """Refuses a property that a device does not have, or not of that value."""
    nothing = opset8.parameter([], ov.Type.f32)
    for name, value in config.items():
        core = ov.Core()
        try:
            core.compile_model(ov.Model([nothing], [nothing]), device, {name: value})
        except Exception as error:
            sentence = _runtime_errors.sentence(str(error))
            said = f"OpenVINO says: {sentence.rstrip('.')}."
            known = ov.Core().get_property(device.partition(":")[0], "SUPPORTED_PROPERTIES")
            if name in known:
                allowed = f"a value that the device {device} takes"
                given = shown(value)
                raise ValueRefusalError(owner, f"config[{name!r}]", given, allowed, said) from error
            near = choices.nearest(name, known)
            remedy = said if near is None else f"Did you mean {near!r}?"
            allowed = f"one that the device {device} has"
            raise ValueRefusalError(
                owner, "each property of config", repr(name), allowed, remedy
            ) from error


def _precision(compiled: ov.CompiledModel) -> str | None:
    """The precision that a model computes in; None of HETERO, whose parts have their own."""
    if PRECISION not in compiled.get_property("SUPPORTED_PROPERTIES"):
        return None
    used: str = compiled.get_property(PRECISION).to_string()
    return used


def _how(used: str | None, device: str, asked: str | None) -> str:
    """The device, and the precision that it computes in."""
    if used is None:
        return device
    said = f"{device}, precision {used}"
    if asked in (None, used):
        return said
    return f"{said} ({asked} was asked for; this device does not have it)"


def _given(value: Any) -> Any:
    array = np.asarray(value)
    if array.dtype == BF16.dtype:
        return ov_arrays.tensor(array)
    return array


def _check(given: Given, precision: str | None) -> onnx.GraphProto:
    """Refuses an ONNX model that OpenVINO misreads, or that is made for another runtime.

    Returns its graph, without large weights.
    """
    model = given.proto
    note = {entry.key: entry.value for entry in model.metadata_props}.get(STANDARD)
    _check_standard(given, note, precision)
    misread = next(misread_by_openvino(model), None)
    if misread is not None:
        field = "uint64_data" if misread.uint64_data else "int32_data"
        raise ArgumentError(
            f"the constant {misread.name!r} must be raw data: got the field {field}, from which "
            "OpenVINO reads different numbers. 'onnx-philox rewrite' stores it as raw data."
        )
    return model.graph


def _check_standard(asked: Given, note: str | None, precision: str | None) -> None:
    """Refuses standard nodes that OpenVINO cannot run, or would draw different numbers from."""
    if note is None:
        return
    if note != TARGETS["openvino"].note:
        is_known = any(note == target.note for target in TARGETS.values())
        made_for = note if is_known else shown(note)
        given = f"one of standard nodes {made_for}, which OpenVINO does not compute"
        remedy = "Rewrite the original for the target openvino, or choose the runtime onnxruntime."
        raise models.SettingError(asked.owner, "the model", given, "one made for OpenVINO", remedy)
    if precision not in (None, made.PRECISION):
        given = f"{precision}, at which standard nodes draw different numbers"
        remedy = "Leave it out: it is set by itself."
        raise models.SettingError(asked.owner, PRECISION, given, made.PRECISION, remedy)


def _show_drawn(model: ov.Model) -> dict[str, str]:
    """Makes what the random nodes of the main graph draw outputs of the model; see `models`."""
    drawn = {}
    for node in model.get_ordered_ops():
        operator = OPERATORS.get(node.get_type_name())
        if operator is None or node.get_type_info().version_id != "extension":
            continue
        output = node.output(operator.drawn_output)
        if operator.drawn_output and not output.names:
            output.add_names({name_of_mask(_tensor_name(node.output(0)))})
        drawn[_tensor_name(output)] = output
    known = set(output_names(model.outputs, None))
    for name in sorted(drawn.keys() - known):
        # In a model that never was ONNX, tensors between nodes may have no names.
        drawn[name].add_names({name})
        result = model.add_outputs(drawn[name])[0]
        result.get_node().set_friendly_name(name)
    return {name: output.get_node().get_type_name() for name, output in drawn.items()}


def _port(name: str, given: Any, value: onnx.ValueInfoProto | None) -> Port:
    """An input; the names of its dimensions are those of the ONNX model's."""
    shape: Any = ov_arrays.known_dimensions(given.partial_shape)
    names = []
    if value:
        names = [d.dim_param or None for d in value.type.tensor_type.shape.dim]
    if shape is not None and len(shape) == len(names):
        pairs = zip(shape, names, strict=True)
        shape = tuple(name if size is None else size for size, name in pairs)
    known = ov_arrays.element_type(given.element_type)
    dtype = known.dtype if isinstance(known, ElementType) else known
    return Port(name, dtype, shape)


def _tensor_name(output: ov.Output) -> str:
    name: str = min(output.names) if output.names else output.get_node().get_friendly_name()
    return name
