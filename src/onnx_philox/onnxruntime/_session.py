"""The drop-in for ONNX Runtime's InferenceSession."""

from __future__ import annotations

import ctypes
import math
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

import numpy as np
import onnxruntime as ort
from onnxruntime.capi import onnxruntime_pybind11_state as ort_state

from onnx_philox import _backends, _runtime_errors
from onnx_philox._contract.feeds import refuse_type, refuse_unknown, title
from onnx_philox._contract.refusal import shown
from onnx_philox._contract.types import BF16
from onnx_philox.onnxruntime import _feeds, _native_backend, _python_backend

if TYPE_CHECKING:
    import onnx

_BFLOAT16 = BF16.dtype

TAKES_BFLOAT16 = hasattr(ort.OrtValue, "ortvalue_from_numpy_with_onnx_type")
"""Whether ONNX Runtime makes a value of an array of bfloat16: from 1.20 on."""

Model: TypeAlias = "str | os.PathLike[str] | bytes | onnx.ModelProto"
Feed = dict[str, Any]


class Run(Protocol):
    """One run of a session."""

    @property
    def hidden_feed(self) -> dict[str, Any]:
        """The inputs, int64 scalars, that the backend adds to the user's."""

    @property
    def options(self) -> ort.RunOptions | None:
        """The options to run with: the user's, or the backend's own if there are none."""

    def guard(self) -> AbstractContextManager[None]:
        """A context that lasts while operators may run in the thread that started the run."""

    def check(self) -> None:
        """Raises what the operators refused in this run; called after it."""


class Plan(Protocol):
    """A backend's plan for a model and options: what to load, and how to run it."""

    @property
    def model(self) -> str | bytes:
        """The model to load."""

    @property
    def options(self) -> ort.SessionOptions | None:
        """The options to load it with."""

    @property
    def hidden_inputs(self) -> frozenset[str]:
        """The graph inputs that the user's model does not have."""

    def loading(self) -> AbstractContextManager[None]:
        """A context that lasts while ONNX Runtime loads the model."""

    def start_run(self, options: ort.RunOptions | None) -> Run:
        """Begins a run."""


class SessionBackend(_backends.Backend, Protocol):
    """A backend of ONNX Runtime."""

    def plan(self, model: Model | None, options: ort.SessionOptions | None) -> Plan:
        """Prepares a model; raises InvalidArgument for what breaks the contract."""


BACKENDS: dict[str, SessionBackend] = {"native": _native_backend, "python": _python_backend}
"""Best first."""


class InferenceSession(ort.InferenceSession):  # type: ignore[misc]
    """ONNX Runtime's InferenceSession for models with this package's operators.

    Everything that ONNX Runtime's session does works the same here, also for models without such
    operators. In addition `run` returns bfloat16 outputs as `ml_dtypes.bfloat16` arrays, and takes
    such arrays, `PhiloxState`s and arrays in any byte order as inputs. Masked values are refused.

    Args:
        model: A path, the bytes of a model, or an `onnx.ModelProto`.
        sess_options: As for ONNX Runtime. The session registers what the backend needs, the native
            library or onnxruntime-extensions, on it once, unless it already holds that.
        providers: As for ONNX Runtime.
        provider_options: As for ONNX Runtime.
        backend: "native", the compiled library; "python", the operators as Python ops through
            onnxruntime-extensions; or "auto", native if available.
        path_or_bytes: ONNX Runtime's own name for `model`.
        **kwargs: As for ONNX Runtime.

    Raises:
        InvalidArgument: (ONNX Runtime's own exception, here and from every kind of run) the
            model or an input breaks a rule of the operators.
        NotImplemented: (likewise) the backend cannot carry a type of the model.
        ValueError: `backend` is none of the above.
        TypeError: (from a run) an input that is not optional is None.
        ImportError: The backend lacks something that you must install.
    """

    def __init__(
        self,
        model: Model | None = None,
        sess_options: ort.SessionOptions | None = None,
        providers: Sequence[Any] | None = None,
        provider_options: Sequence[dict[str, Any]] | None = None,
        *,
        backend: str = _backends.AUTO,
        path_or_bytes: Model | None = None,
        **kwargs: Any,
    ) -> None:
        given = path_or_bytes if model is None else model
        chosen = _backends.choose("onnxruntime", BACKENDS, backend)
        self._plan = chosen.plan(given, sess_options)
        with self._plan.loading():
            super().__init__(
                self._plan.model, self._plan.options, providers, provider_options, **kwargs
            )
        self._model_path = _path_of(given)

    def set_providers(
        self, providers: Sequence[Any] | None = None, provider_options: Any = None
    ) -> None:
        """As ONNX Runtime's; it loads the model again."""
        # ONNX Runtime loads what its attribute names, and users expect to read there what they
        # gave.
        given, self._model_path = self._model_path, _path_of(self._plan.model)
        try:
            with self._plan.loading():
                super().set_providers(providers, provider_options)
        finally:
            self._model_path = given

    def get_inputs(self) -> list[Any]:
        """As ONNX Runtime's: the inputs of the user's model."""
        return [i for i, seen in self._seen(super().get_inputs()) if seen]

    def get_input_memory_infos(self) -> list[Any]:
        """As ONNX Runtime's."""
        return [i for i, seen in self._seen(super().get_input_memory_infos()) if seen]

    def get_input_epdevices(self) -> list[Any]:
        """As ONNX Runtime's."""
        return [i for i, seen in self._seen(super().get_input_epdevices()) if seen]

    def _seen(self, per_input: Sequence[Any]) -> list[tuple[Any, bool]]:
        hidden = self._plan.hidden_inputs
        inputs = super().get_inputs()
        return [(x, i.name not in hidden) for x, i in zip(per_input, inputs, strict=True)]

    def run(
        self,
        output_names: Sequence[str] | None,
        input_feed: Feed,
        run_options: ort.RunOptions | None = None,
    ) -> list[Any]:
        """As ONNX Runtime's; bfloat16 goes in and comes out as `ml_dtypes.bfloat16` arrays."""
        input_feed = _feeds.with_arrays(input_feed)
        self._check_feed(input_feed)
        try:
            with self._checked(run_options) as run:
                feed = {**input_feed, **run.hidden_feed}
                if self._has_bfloat16(output_names, input_feed):
                    as_values = {name: _to_ort_value(name, value) for name, value in feed.items()}
                    values = super().run_with_ort_values(output_names, as_values, run.options)
                    return [_from_ort_value(value) for value in values]
                return list(super().run(output_names, feed, run.options))
        except Exception as error:
            # ONNX Runtime lets None pass until a node reads it, and fails in that node's words.
            self._refuse_none(input_feed)
            if not isinstance(error, ort_state.Fail):  # of a node
                with _feeds.invalid_arguments():
                    self._name_wrong(input_feed)
            raise

    def run_async(
        self,
        output_names: Sequence[str] | None,
        input_feed: Feed,
        callback: Callable[[Any, Any, str], None],
        user_data: Any,
        run_options: ort.RunOptions | None = None,
    ) -> None:
        """As ONNX Runtime's; a refused input reaches the callback as its third argument."""
        input_feed = _feeds.with_arrays(input_feed)
        self._check_feed(input_feed)
        run = self._plan.start_run(run_options)
        feed = {**input_feed, **run.hidden_feed}

        def checked_callback(results: Any, data: Any, error: str) -> None:
            # Until now the run has read these arrays, which ONNX Runtime 1.19 does not keep.
            feed.clear()
            try:
                run.check()
            except Exception as refused:
                results, error = [], str(refused)
            callback(results, data, error)

        try:
            super().run_async(output_names, feed, checked_callback, user_data, run.options)
        except Exception:
            run.check()
            raise

    def io_binding(self) -> ort.IOBinding:
        """As ONNX Runtime's; it refuses arrays in another byte order, whose memory it shares."""
        return _feeds.IOBinding(self)

    def run_with_ort_values(
        self,
        output_names: Sequence[str] | None,
        input_dict_ort_values: Feed,
        run_options: ort.RunOptions | None = None,
    ) -> list[Any]:
        """As ONNX Runtime's."""
        self._check_feed(input_dict_ort_values)
        for name, value in input_dict_ort_values.items():
            _feeds.check_value(title(name), value)
        with self._checked(run_options) as run:
            hidden = {name: _to_ort_value(name, value) for name, value in run.hidden_feed.items()}
            feed = {**input_dict_ort_values, **hidden}
            return list(super().run_with_ort_values(output_names, feed, run.options))

    def run_with_iobinding(
        self, iobinding: ort.IOBinding, run_options: ort.RunOptions | None = None
    ) -> None:
        """As ONNX Runtime's."""
        _feeds.check_binding(iobinding)
        with self._checked(run_options) as run:
            for name, value in run.hidden_feed.items():
                iobinding.bind_cpu_input(name, value)
            super().run_with_iobinding(iobinding, run.options)

    def run_with_ortvaluevector(
        self,
        run_options: ort.RunOptions,
        feed_names: list[str],
        feeds: Any,
        fetch_names: list[str],
        fetches: Any,
        fetch_devices: Any,
    ) -> None:
        """As ONNX Runtime's."""
        with self._checked(run_options) as run:
            hidden = run.hidden_feed
            if hidden:
                all_feeds = ort_state.OrtValueVector()
                for value in feeds:
                    all_feeds.push_back(value)
                for name, value in hidden.items():
                    all_feeds.push_back(_to_ort_value(name, value)._get_c_value())
                feeds, feed_names = all_feeds, [*feed_names, *hidden]
            super().run_with_ortvaluevector(
                run_options, feed_names, feeds, fetch_names, fetches, fetch_devices
            )

    @contextmanager
    def _checked(self, options: ort.RunOptions | None) -> Iterator[Run]:
        """A block around a run, which raises at its end what an operator refused.

        The refusal comes before any error of ONNX Runtime's own, which can only be its consequence.
        """
        run = self._plan.start_run(options)
        try:
            with run.guard():
                yield run
        except RuntimeError as error:
            # ONNX Runtime turns an operator's invalid argument into this when memory is bound.
            refusal = _runtime_errors.refusal_in_onnxruntime(error)
            if refusal is not None:
                raise ort_state.InvalidArgument(refusal) from error
            raise
        finally:
            run.check()

    def _check_feed(self, feed: Feed) -> None:
        """ONNX Runtime's own check, in its words, applied to the inputs of the user's model."""
        if not self._plan.hidden_inputs:
            return
        missing = [
            i.name
            for i in self.get_inputs()
            if i.name not in feed and not i.type.startswith("optional")
        ]
        if missing:
            raise ValueError(
                f"Required inputs ({missing}) are missing from input feed ({list(feed)})."
            )
        # onnxruntime-extensions can crash the process when a Python op reads None.
        self._refuse_none(feed)

    def _refuse_none(self, feed: Feed) -> None:
        for given in self.get_inputs():
            is_none = given.name in feed and feed[given.name] is None
            if is_none and not given.type.startswith("optional"):
                refuse_type(_feeds.NAME, given.name, None, _feeds.type_name(given.type))

    def _name_wrong(self, feed: Feed) -> None:
        """Says which input is unknown or of another type: ONNX Runtime's words do not."""
        inputs = [*self.get_inputs(), *self.get_overridable_initializers()]
        types = {given.name: given.type for given in inputs}
        for name, value in feed.items():
            if name not in types:
                refuse_unknown(_feeds.NAME, repr(name), types)
            wanted = _feeds.type_name(types[name])
            if not _is_array(value):
                # A list is a sequence of tensors, or what ONNX Runtime makes a tensor of.
                if types[name].startswith("tensor") and not isinstance(value, list):
                    refuse_type(_feeds.NAME, name, shown(value), wanted)
                continue
            type_ = _to_ort_value(name, value).data_type()
            if type_ != types[name]:
                refuse_type(_feeds.NAME, name, _feeds.type_name(type_), wanted)

    def _has_bfloat16(self, output_names: Sequence[str] | None, feed: Feed) -> bool:
        return any(
            o.type == "tensor(bfloat16)" and (not output_names or o.name in output_names)
            for o in self.get_outputs()
        ) or any(getattr(value, "dtype", None) == _BFLOAT16 for value in feed.values())


def _path_of(model: Any) -> str | None:
    """What ONNX Runtime's session keeps as `_model_path`; None for a model that is not a file."""
    return os.fspath(model) if isinstance(model, (str, os.PathLike)) else None


def _is_array(value: Any) -> bool:
    """Whether it is an array, or a value of ONNX Runtime."""
    return isinstance(value, np.ndarray | ort.OrtValue)


def _to_ort_value(name: str, value: Any) -> ort.OrtValue:
    if isinstance(value, ort.OrtValue):
        return value
    array = np.asarray(value)
    if array.dtype == _BFLOAT16:
        if not TAKES_BFLOAT16:
            raise ort_state.NotImplemented(
                "onnx_philox.onnxruntime: ONNX Runtime must be 1.20 or newer to take an array of "
                f"bfloat16 as input {name!r}: got {ort.__version__}. "
                "Upgrade it: pip install --upgrade 'onnx-philox[onnxruntime]'."
            )
        return ort.OrtValue.ortvalue_from_numpy_with_onnx_type(
            np.ascontiguousarray(array), BF16.onnx
        )
    return ort.OrtValue.ortvalue_from_numpy(array)


def _from_ort_value(value: ort.OrtValue) -> Any:
    if not value.is_tensor() or value.element_type() != BF16.onnx:
        return value.numpy()
    shape = value.shape()
    count = math.prod(shape)
    if count == 0:
        return np.empty(shape, _BFLOAT16)
    memory = (ctypes.c_uint16 * count).from_address(value.data_ptr())
    # A copy: the memory disappears with the OrtValue.
    return np.array(memory, np.uint16).view(_BFLOAT16).reshape(shape)
