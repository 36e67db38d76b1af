"""The drop-in for ONNX Runtime's InferenceSession."""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

import onnxruntime as ort
from onnxruntime.capi import onnxruntime_pybind11_state as ort_state

from onnx_philox import _backends, _runtime_errors
from onnx_philox._contract import given_arrays
from onnx_philox._contract.feeds import takes_one_number, title
from onnx_philox._contract.refusal import RefusalError, RefusedInputError, refuse
from onnx_philox.onnxruntime import _feeds, _native_onnxruntime, _python_onnxruntime
from onnx_philox.onnxruntime._plan import SessionPlan, SessionRun
from onnx_philox.onnxruntime._values import BFLOAT16, from_ort_value, to_ort_value

if TYPE_CHECKING:
    import onnx

Model: TypeAlias = "str | os.PathLike[str] | bytes | onnx.ModelProto"
Feed = dict[str, Any]
Names = Sequence[str] | None
RunOptions: TypeAlias = "ort.RunOptions | None"

_OWNER = "onnx_philox.onnxruntime.InferenceSession"
# What ONNX Runtime's session reads from its `**kwargs`; it ignores everything else.
_READ = {"disabled_optimizers", "enable_fallback", "read_config_from_model"}


class SessionBackend(_backends.Backend, Protocol):
    """A backend of ONNX Runtime."""

    def plan(
        self,
        model: Model | None,
        options: ort.SessionOptions | None,
        *,
        cuda: bool = False,
    ) -> SessionPlan:
        """Prepares a model; raises InvalidArgument for bad input."""


BACKENDS: dict[
    str,
    SessionBackend,
] = {"native": _native_onnxruntime, "python": _python_onnxruntime}
"""Best first."""


class InferenceSession(ort.InferenceSession):  # type: ignore[misc]
    """ONNX Runtime's InferenceSession for models with this package's operators.

    Everything that ONNX Runtime's session does works the same here, also for models without such
    operators. In addition `run` returns bfloat16 outputs as `ml_dtypes.bfloat16` arrays, and takes
    such arrays, `PhiloxState`s, `TorchState`s and arrays in any byte order as inputs. Masked values
    are refused.

    Args:
        model: A path, the bytes of a model, or an `onnx.ModelProto`.
        sess_options: As for ONNX Runtime. The session registers what the backend needs, the native
            library or onnxruntime-extensions, on it once, unless it already holds that.
        providers: As for ONNX Runtime.
        provider_options: As for ONNX Runtime.
        backend: "native", the compiled library; "python", the operators as Python ops through
            onnxruntime-extensions; or "auto", native if available.
        cuda: Whether the operators also draw on NVIDIA's cards, as `register` says.
        path_or_bytes: ONNX Runtime's own name for `model`.
        **kwargs: As for ONNX Runtime.

    Raises:
        RefusedInputError: (from every kind of run) an input is refused, in our words. It is also
            ONNX Runtime's own InvalidArgument, and a TypeError where the input has another type.
        InvalidArgument: (ONNX Runtime's own exception) the model breaks a rule of the operators.
        NotImplemented: (likewise) the backend cannot carry a type of the model.
        TypeError: a keyword is one that ONNX Runtime would ignore.
        ValueError: `backend` is none of the above, or `cuda` is True with the backend "python" or
            with providers, or none, that have no cards of NVIDIA.
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
        cuda: bool = False,
        path_or_bytes: Model | None = None,
        **kwargs: Any,
    ) -> None:
        _check_keywords(kwargs)
        given = path_or_bytes if model is None else model
        chosen = _backends.choose("onnxruntime", BACKENDS, backend)
        _check_cuda(cuda, providers, sess_options)
        self._plan = chosen.plan(given, sess_options, cuda=cuda)
        try:
            with self._plan.loading():
                super().__init__(
                    self._plan.model,
                    self._plan.options,
                    providers,
                    provider_options,
                    **kwargs,
                )
        except Exception as error:
            _refuse_model(given, error)
            raise
        self._model_path = _path_of(given)
        self._of_one = [i.name for i in self.get_inputs() if takes_one_number(i.shape)]

    def set_providers(
        self,
        providers: Sequence[Any] | None = None,
        provider_options: Any = None,
    ) -> None:
        """As ONNX Runtime's; it loads the model again."""
        # ONNX Runtime loads what its attribute names, and users expect to read there what they
        # gave.
        given = self._model_path
        self._model_path = _path_of(self._plan.model)
        try:
            with self._plan.loading():
                super().set_providers(providers, provider_options)
        finally:
            self._model_path = given

    def get_inputs(self) -> list[Any]:
        """As ONNX Runtime's: the inputs of the user's model."""
        return self._seen(super().get_inputs())

    def get_input_memory_infos(self) -> list[Any]:
        """As ONNX Runtime's."""
        return self._seen(super().get_input_memory_infos())

    def get_input_epdevices(self) -> list[Any]:
        """As ONNX Runtime's."""
        return self._seen(super().get_input_epdevices())

    def _seen(self, per_input: Sequence[Any]) -> list[Any]:
        pairs = zip(per_input, super().get_inputs(), strict=True)
        return [x for x, i in pairs if i.name not in self._plan.hidden_inputs]

    def run(
        self,
        output_names: Names,
        input_feed: Feed,
        run_options: RunOptions = None,
    ) -> list[Any]:
        """As ONNX Runtime's; bfloat16 goes in and comes out as `ml_dtypes.bfloat16` arrays."""
        input_feed = _feeds.with_arrays(input_feed, self._of_one)
        self._check_feed(input_feed)
        with self._checked(run_options, input_feed) as run:
            feed = {**input_feed, **run.hidden_feed}
            if self._has_bfloat16(output_names, input_feed):
                as_values = {name: to_ort_value(name, value) for name, value in feed.items()}
                values = super().run_with_ort_values(output_names, as_values, run.options)
                return [from_ort_value(value) for value in values]
            return list(super().run(output_names, feed, run.options))

    def run_async(
        self,
        output_names: Names,
        input_feed: Feed,
        callback: Callable[[Any, Any, str], None],
        user_data: Any,
        run_options: RunOptions = None,
    ) -> None:
        """As ONNX Runtime's; a refused input reaches the callback as a `RefusalText`."""
        input_feed = _feeds.with_arrays(input_feed, self._of_one)
        self._check_feed(input_feed)
        run = self._plan.start_run(run_options)
        feed = {**input_feed, **run.hidden_feed}

        def checked_callback(results: Any, data: Any, error: str) -> None:
            # Until now the run has read these arrays, which ONNX Runtime 1.19 does not keep.
            feed.clear()
            try:
                run.check()
                if error:
                    self._refuse(RuntimeError(error), input_feed)
            except RefusedInputError as refused:
                results = []
                error = _feeds.RefusalText.of(refused)
            except Exception as failed:
                results = []
                error = str(failed)
            input_feed.clear()
            callback(results, data, error)

        try:
            super().run_async(output_names, feed, checked_callback, user_data, run.options)
        except Exception as error:
            try:
                self._refuse(error, input_feed)
            finally:
                run.check()
            raise

    def io_binding(self) -> ort.IOBinding:
        """As ONNX Runtime's; it refuses arrays in another byte order, whose memory it shares."""
        return _feeds.IOBinding(self)

    def run_with_ort_values(
        self,
        output_names: Names,
        input_dict_ort_values: Feed,
        run_options: RunOptions = None,
    ) -> list[Any]:
        """As ONNX Runtime's."""
        self._check_feed(input_dict_ort_values)
        for name, value in input_dict_ort_values.items():
            _feeds.check_value(title(name), value)
        with self._checked(run_options, input_dict_ort_values) as run:
            hidden = {name: to_ort_value(name, value) for name, value in run.hidden_feed.items()}
            feed = {**input_dict_ort_values, **hidden}
            return list(super().run_with_ort_values(output_names, feed, run.options))

    def run_with_iobinding(self, iobinding: ort.IOBinding, run_options: RunOptions = None) -> None:
        """As ONNX Runtime's."""
        bound = _feeds.bound(iobinding)
        with _feeds.invalid_arguments():
            given_arrays.check_bound(_feeds.NAME, iobinding)
            self._plan.check(bound or {})
        with self._checked(run_options, bound) as run:
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
        with self._checked(run_options, None) as run:
            hidden = run.hidden_feed
            if hidden:
                all_feeds = ort_state.OrtValueVector()
                for value in feeds:
                    all_feeds.push_back(value)
                for name, value in hidden.items():
                    all_feeds.push_back(to_ort_value(name, value)._get_c_value())
                feeds = all_feeds
                feed_names = [*feed_names, *hidden]
            super().run_with_ortvaluevector(
                run_options,
                feed_names,
                feeds,
                fetch_names,
                fetches,
                fetch_devices,
            )

    @contextmanager
    def _checked(self, options: RunOptions, given: Feed | None) -> Iterator[SessionRun]:
        """A block around a run, which raises at its end what an operator refused.

        The refusal comes before any error of ONNX Runtime's own, which can only be its consequence.
        `given` are the inputs, if they are known.
        """
        run = self._plan.start_run(options)
        try:
            with run.guard():
                yield run
        except Exception as error:
            self._refuse(error, given)
            raise
        finally:
            run.check()

    def _refuse(self, error: Exception, given: Feed | None) -> None:
        """Raises what ONNX Runtime has raised again if an input is at fault, in our words.

        It is then InvalidArgument, whatever ONNX Runtime makes of it: a RuntimeError where memory
        is bound, for instance, which it stays too.
        """
        if isinstance(error, RefusedInputError):
            return
        kind = type(error)
        refusal = _runtime_errors.refusal(error)
        if refusal is not None:
            raise _runtime_errors.refused(refusal, ort_state.InvalidArgument, kind) from error
        if given is not None:
            with _feeds.invalid_arguments(kind):
                # ONNX Runtime lets None pass until a node reads it, and fails in that node's words.
                _feeds.check_present(self.get_inputs(), given)
                if not isinstance(error, ort_state.Fail):  # of a node
                    initializers = self.get_overridable_initializers()
                    _feeds.check_feed(self.get_inputs(), initializers, given)
        if isinstance(error, ort_state.InvalidArgument):
            raise _runtime_errors.refused(str(error), kind) from error

    def _check_feed(self, feed: Feed) -> None:
        """Refuses None before a Python op reads it, for which the process may end."""
        if self._plan.hidden_inputs:
            with _feeds.invalid_arguments():
                _feeds.check_present(self.get_inputs(), feed)
                self._plan.check(feed)

    def _has_bfloat16(self, output_names: Names, feed: Feed) -> bool:
        return any(
            o.type == "tensor(bfloat16)" and (not output_names or o.name in output_names)
            for o in self.get_outputs()
        ) or any(getattr(value, "dtype", None) == BFLOAT16 for value in feed.values())


def _refuse_model(model: Any, error: Exception) -> None:
    """Refuses in our words what ONNX Runtime did not load since it is no model.

    Only now: it loads what nobody else reads, such as files in its own format.
    """
    # Imported here, because it needs onnx, and few models are refused.
    from onnx_philox._files import ort_format
    from onnx_philox._files.given import ONNX, Form, Given

    try:
        given = Given.of(_OWNER, model, ONNX - {Form.ONNX_IR})
        _ = given.proto
    except OSError:
        return
    except RefusalError as refusal:
        if refusal.given != ort_format.GIVEN:
            raise _runtime_errors.refused(str(refusal), type(error)) from error


def _check_keywords(given: Mapping[str, Any]) -> None:
    parameters = inspect.signature(ort.InferenceSession).parameters.values()
    named = {p.name for p in parameters if p.kind is not p.VAR_KEYWORD}
    known = sorted({*named, *_READ, "backend", "cuda"})
    for name in given:
        if name not in known:
            allowed = f"one of {', '.join(known)}"
            remedy = "Leave it out; what a rewrite takes goes to onnx_philox.make_reproducible."
            refuse(_OWNER, "each keyword", repr(name), allowed, remedy, TypeError)


def _check_cuda(
    cuda: bool,
    providers: Sequence[Any] | None,
    options: ort.SessionOptions | None,
) -> None:
    _native_onnxruntime.check_cuda(_OWNER, cuda)
    # Before 1.22, ONNX Runtime's options have no providers.
    is_by_options = not providers and getattr(options, "has_providers", bool)()
    if not cuda or is_by_options:
        return
    names: Any = providers
    if providers is None or isinstance(providers, (list, tuple)):
        names = [p[0] if isinstance(p, tuple) and p else p for p in providers or ()]
        if any(name in names for name in _backends.CUDA_PROVIDERS):
            return
    allowed = f"a list with {' or '.join(_backends.CUDA_PROVIDERS)} where cuda is True"
    remedy = "Name one of these before CPUExecutionProvider, or leave cuda out."
    refuse(_OWNER, "providers", repr(names), allowed, remedy)


def _path_of(model: Any) -> str | None:
    """What ONNX Runtime's session keeps as `_model_path`; None for a model that is not a file."""
    if not isinstance(model, (str, os.PathLike)):
        return None
    return os.fspath(model)
