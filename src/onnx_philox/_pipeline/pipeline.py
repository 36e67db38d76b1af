"""`Pipeline`: a model that is served, with a seed for each request."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator, Mapping
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from onnx_philox._backends import NotInstalledError
from onnx_philox._contract.arguments import check_bool
from onnx_philox._contract.inputs import TENSORFLOW
from onnx_philox._contract.refusal import door, refuse, refusing_as
from onnx_philox._contract.state import integer
from onnx_philox._contract.streams import Streams
from onnx_philox._numbers.states import Integers, row_states
from onnx_philox._pipeline import checkpoint, opening, request
from onnx_philox._pipeline.engine import Engine
from onnx_philox._pipeline.fed_inputs import Feed
from onnx_philox._pipeline.request import Request, Start
from onnx_philox._pipeline.result import Result, Seed
from onnx_philox._rewriting.asked import Asked, Draws, Inverted, PerRow
from onnx_philox._runtimes import first_state
from onnx_philox._runtimes.port import Port

_NAME = "Pipeline"
_MAP = f"{_NAME}.map"
_REQUEST = f"{_NAME}.request"


class Pipeline:
    """A model with random nodes, in an inference pipeline: it carries states and takes seeds.

    Any number of threads may call it at once. The same request gives the same numbers, whatever
    else runs beside it and in whichever runtime. One of a path or of bytes can be pickled, for
    Dask, Ray or multiprocessing; `with` closes it at the end.

    Args:
        model: A path, bytes, an `onnx.ModelProto` or an `onnx_ir.Model`: rewritten by
            `make_reproducible` if it has standard random nodes; for OpenVINO also an
            `openvino.Model` or a path of IR. Or an
            `onnxruntime.InferenceSession` or an `openvino.CompiledModel` of a rewritten model,
            which is run as it is, with its options, providers and device.
        runtime: "onnxruntime" or "openvino", for a model that is not in a runtime yet.
        per_row: As in `make_reproducible`, if the model is rewritten.
        batch: Likewise.
        alignment: Likewise. With "pytorch", a seed is `torch.manual_seed(seed)`, and a request goes
            on where torch would; a model with a state for each row takes `seeds`, but no `seed`.
        keep_seeds: Likewise.
        invert_bernoulli: Likewise.
        draw: Likewise.
        source: The model that a session or compiled model was made from, where it does not say
            itself which random nodes it has: a compiled model of OpenVINO never does.
        options: For the runtime: what `onnx_philox.onnxruntime.InferenceSession` takes
            (`sess_options`, `providers`, `backend`), or `config`, `backend` and `device` for
            OpenVINO: its name of a device, "CPU" or such as "HETERO:GPU,CPU".

    Raises:
        TypeError: `model` is of another type, or an option is unknown or would do nothing.
        ValueError: The model has no state as an input, or one state where `per_row` asks for more;
            the runtime is unknown; or `source` is another model.
        ImportError: The runtime is not installed.

    Examples:
        >>> import numpy as np, onnx_philox as op
        >>> pipe = op.Pipeline(op.graphs.random_normal([2], 0.0, 1.0, "f32", stateful=True))
        >>> pipe({}, seed=42)["values"]
        array([-0.3010158,  0.5185915], dtype=float32)
        >>> request = pipe.request(seed=42)
        >>> first, second = request({}), request({})
        >>> again = pipe.request(resume=request.checkpoint())
        >>> bool((again({})["values"] == request({})["values"]).all())
        True
    """

    def __init__(
        self,
        model: Any,
        *,
        runtime: str = "onnxruntime",
        per_row: PerRow = False,
        batch: str | None = None,
        alignment: str = TENSORFLOW,
        keep_seeds: bool = False,
        invert_bernoulli: Inverted = False,
        draw: Draws = MappingProxyType({}),
        source: Any = None,
        **options: Any,
    ) -> None:
        with door(_NAME):
            asked = Asked(
                keep_seeds=keep_seeds,
                per_row=per_row,
                batch=batch,
                alignment=alignment,
                invert_bernoulli=invert_bernoulli,
                draw=draw,
            )
            engine = opening.opened(model, runtime, asked, options, source)
        self._opened: Engine | None = engine
        self._wanted = engine.opened_from

    def __repr__(self) -> str:
        """What is open in which runtime."""
        if self._opened is None:
            return "<Pipeline, closed>"
        given = None if self._wanted is None else self._wanted.given
        of = f" of {given.name!r}" if given is not None and given.is_file else ""
        model = self._opened.model
        streams = self._opened.streams
        where = f"{model.runtime} {model.version}"
        if self._opened.device:
            where += f" on {self._opened.device}"
        count = len(streams.nodes)
        nodes = "1 random node" if count == 1 else f"{count} random nodes"
        rows = "one state"
        if streams.batch is not None:
            rows = f"a state for each row of {streams.batch!r}"
        return f"<Pipeline{of} in {where}: {nodes} with {streams.generator.whose}, {rows}>"

    def __enter__(self) -> Pipeline:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Gives the model back, once the calls and requests that have begun are done with it."""
        self._opened = None

    def __reduce__(self) -> Any:
        """Opens the same path or bytes again, in the process that reads the pickle.

        Raises:
            TypeError: The pipeline was made of something else.
        """
        if self._wanted is None:
            remedy = "Pass Pipeline a path or bytes, or make it where it is used."
            given = "one of a model in memory"
            allowed = "one of a path or of bytes"
            refuse(_NAME, "a pickle of a pipeline", given, allowed, remedy, TypeError)
        return _opened, (self._wanted,)

    def __copy__(self) -> Pipeline:
        return self

    def __deepcopy__(self, _: Any) -> Pipeline:
        """The pipeline itself: it never changes, and a runtime's session cannot be copied."""
        return self

    @property
    def _engine(self) -> Engine:
        if self._opened is None:
            refuse(_NAME, "the pipeline", "closed", "open", "Make another.")
        return self._opened

    @property
    def runtime(self) -> str:
        """The name of the runtime: "onnxruntime" or "openvino"."""
        return self._engine.model.runtime

    @property
    def inputs(self) -> dict[str, Port]:
        """The inputs of a feed by name: `dtype` (None if no array fits), `shape`, `is_required`."""
        return {port.name: port for port in self._engine.ports}

    @property
    def outputs(self) -> list[str]:
        """The names of the outputs of a result."""
        return list(self._engine.outputs)

    @property
    def streams(self) -> Streams:
        """The model's random nodes, and the names of its state."""
        return self._engine.streams

    @property
    def is_per_row(self) -> bool:
        """Whether each row of a batch has a state of its own."""
        return self.streams.batch is not None

    def __call__(
        self,
        feed: Feed,
        *,
        seed: int | None = None,
        seeds: Integers | None = None,
        state: Any = None,
    ) -> Result:
        """Runs the model once, with the numbers of run 0 of a seed.

        Args:
            feed: The inputs by name, without the state; or, in ONNX Runtime, an
                `onnxruntime.IOBinding` of all other inputs and outputs.
            seed: 0 to 2^64-1. For a model with a state for each row, rows 0, 1, 2 ... of this seed.
                None is one from the operating system, below 2^63, or one for each row; the result
                says which.
            seeds: For such a model, a seed for each row: row i is as if served alone with
                `seeds[i]`.
            state: Instead of seeds: the `state` of an earlier result, or its list of words, which
                gives that result again, also one of a request or of `map`.

        Returns:
            The outputs by name, with the attributes `seed` and `state`.

        Raises:
            TypeError: A seed is no integer, or an input is of another type than the model's.
            ValueError: A seed is out of its range, there are not as many as rows, `state` is no
                state, or an input is missing, unknown or of another shape.
        """
        engine = self._engine
        if state is None:
            rows = None
            if seeds is None and engine.streams.batch is not None:
                rows = self._rows(_NAME, feed)
            begun, words = self._start(engine, _NAME, seed, seeds, rows)
        else:
            if not (seed is None and seeds is None):
                refuse(_NAME, "state", "both", "given without a seed", "Leave one of them out.")
            if held := engine.model.variables:
                allowed = f"left out for a model with variables of its own ({', '.join(held)})"
                remedy = "Pass a seed; a request's checkpoint goes on with the variables, too."
                refuse(_NAME, "state", "one", allowed, remedy)
            begun = None
            words = self._words(_NAME, state)
        engine.check_rows(_NAME, feed, words)
        return _ran(engine, feed, begun, words)

    async def acall(
        self,
        feed: Feed,
        *,
        seed: int | None = None,
        seeds: Integers | None = None,
        state: Any = None,
    ) -> Result:
        """The same, while the event loop goes on with other work.

        Cancelling it does not end the run itself, which still writes to memory that is bound.
        """
        return await asyncio.to_thread(self, feed, seed=seed, seeds=seeds, state=state)

    def request(
        self,
        *,
        seed: int | None = None,
        seeds: Integers | None = None,
        rows: int | None = None,
        state: Any = None,
        resume: Any = None,
    ) -> Request:
        """Begins a request of several runs.

        Args:
            seed: As in a call. For a model with a state for each row, it needs `rows`.
            seeds: As in a call: one for each row, which fixes the number of rows.
            rows: For such a model, the number of rows of `seed`, or of seeds from the operating
                system.
            state: Instead of seeds: where the first run draws. A `PhiloxState` or `TorchState`, its
                array, or [B, 6] or [B, 632] for such a model; for example the `next_state` of a
                result, or the state of a `diffusers.generator`. Variables of the model's own are
                as at first.
            resume: A checkpoint to go on from, or its JSON; nothing else is given then.

        Returns:
            The request: call it with a feed.

        Raises:
            TypeError: A seed or `rows` is no integer.
            ValueError: A seed or `rows` is out of its range or does nothing, `state` is no state,
                the checkpoint is another model's, or there are more rows than memory holds states
                for.
        """
        begins = {"seed": seed, "seeds": seeds, "rows": rows, "state": state, "resume": resume}
        given = [name for name, value in begins.items() if value is not None]
        for alone in ("resume", "state"):
            if alone in given and len(given) > 1:
                others = ", ".join(name for name in given if name != alone)
                remedy = "Leave the others out."
                refuse(_REQUEST, alone, f"{others} beside it", "given alone", remedy)
        if resume is not None:
            return Request(self._engine, *checkpoint.read_checkpoint(resume, self._engine))
        if state is not None:
            return Request(self._engine, self._words(_REQUEST, state), None)
        if rows is not None:
            rows = integer(_REQUEST, "rows", rows, 2**32 + 1)
            if not self.is_per_row:
                self._refuse_rows(_REQUEST, "rows")
            if seeds is not None:
                allowed = "given without seeds, which are one for each row"
                refuse(_REQUEST, "rows", "both", allowed, "Leave rows out.")
        engine = self._engine
        begun, words = self._start(engine, _REQUEST, seed, seeds, rows)
        return Request(engine, words, begun)

    def map(
        self,
        batches: Iterable[Feed],
        *,
        seed: int | None = None,
        seeds: Integers | None = None,
        first_row: int = 0,
        run: int = 0,
        progress: bool = False,
    ) -> Iterator[Result]:
        """Runs a data set batch by batch, each row with the numbers of its place in the data set.

        What a row draws depends on its number alone. So any cut into batches gives the same
        outputs, and a part can be done again: pass the number of its first row.

        Args:
            batches: Feeds, whose rows are numbered on from batch to batch.
            seed: 0 to 2^64-1, for all of them. Torch's numbers have no such rule: pass `seeds`.
            seeds: Instead of `seed`: one for each row of all batches, in their order.
            first_row: The number of the first row, 0 to 2^32-1.
            run: 0 to 2^32-1, to draw different numbers for the same data.
            progress: Whether to show a progress bar on the terminal, which needs the extra
                `command`.

        Yields:
            The outputs of each batch, in order.

        Raises:
            TypeError: A number is no integer, or `batches` no iterable of feeds.
            ValueError: The model has no state for each row, a number is out of its range, or (from
                the iterator) there are more or fewer `seeds` than rows.
        """
        if not self.is_per_row:
            self._refuse_rows(_MAP)
        generator = self._engine.generator
        if seeds is not None:
            if seed is not None or first_row or run:
                given = "seed, first_row or run beside them"
                refuse(_MAP, "seeds", given, "given alone", "Leave the others out.")
            seeds = request.checked_seeds(_MAP, generator, seeds)
        elif not generator.is_counter_based:
            first_state.refuse_one_seed(generator, _MAP, seed)
        else:
            seed = integer(_MAP, "seed", seed, 2**64)
        first_row = integer(_MAP, "first_row", first_row, 2**32)
        run = integer(_MAP, "run", run, 2**32)
        check_bool(_MAP, "progress", progress)
        if not isinstance(batches, Iterable) or isinstance(batches, Mapping | str | bytes):
            given = type(batches).__name__
            allowed = "an iterable of feeds"
            refuse(_MAP, "batches", given, allowed, "Pass a list of feeds, or [feed].", TypeError)
        if progress:
            try:
                from rich.progress import track
            except ImportError as error:
                asked = "Pipeline.map with progress=True"
                raise NotInstalledError(asked, "rich", "command") from error
            batches = track(batches, "Rows drawn and run", transient=True)
        if seeds is not None:
            return self._map_seeds(batches, seeds)
        assert seed is not None
        return self._map(batches, seed, first_row, run)

    def _map(
        self,
        batches: Iterable[Feed],
        seed: int,
        row: int,
        run: int,
    ) -> Iterator[Result]:
        for feed in batches:
            count = self._rows(_MAP, feed)
            with refusing_as(_MAP):
                state = row_states(seed, range(row, row + count), run)
            yield _ran(self._engine, feed, seed, state)
            row += count

    def _map_seeds(self, batches: Iterable[Feed], seeds: NDArray[np.uint64]) -> Iterator[Result]:
        row = 0
        for feed in batches:
            first = row
            row = row + self._rows(_MAP, feed)
            if row > len(seeds):
                break
            start = request.of_seeds(_MAP, self._engine.generator, seeds[first:row])
            yield _ran(self._engine, feed, *start)
        if row != len(seeds):
            given = f"{len(seeds)} for {row}"
            allowed = "one for each row of all batches"
            refuse(_MAP, "seeds", given, allowed, "Pass as many as there are rows.")

    def _rows(self, owner: str, feed: Feed) -> int:
        """How many rows a feed has."""
        streams = self.streams
        batch = streams.batch
        axis = streams.batch_axis
        assert batch is not None
        rows = self._engine.rows_of(feed)
        if rows is None:
            place = f"dimension {axis}" if axis else "the first dimension"
            allowed = f"given by {place} of the input {batch!r}"
            remedy = "Feed it." if owner == _MAP else "Feed it, or pass seeds."
            if batch == streams.state:
                # No input of a feed shows the batch.
                allowed = "given by seeds or states, since no other input of the model does"
                remedy = (
                    "Call the pipeline with seeds, or with state=row_states(seed, range(batch))."
                )
            refuse(owner, "the number of rows", "nothing", allowed, remedy)
        return rows

    def _start(
        self,
        engine: Engine,
        owner: str,
        seed: int | None,
        seeds: Integers | None,
        rows: int | None,
    ) -> Start:
        """The seed or seeds, and the state or states that they begin at."""
        is_per_row = engine.streams.batch is not None
        if seeds is not None:
            if seed is not None:
                refuse(owner, "seed", "both", "given without seeds", "Leave one of them out.")
            if not is_per_row:
                self._refuse_rows(owner)
            return request.of_seeds(owner, engine.generator, seeds)
        if not is_per_row:
            return request.of_seed(owner, engine.generator, seed)
        if rows is None:
            allowed = (
                "given by seeds, or by rows beside the seed, for a model with a state for each row"
            )
            refuse(owner, "the number of rows", "neither", allowed, "Pass rows.")
        return request.of_rows(owner, engine.generator, seed, rows)

    def _words(self, owner: str, state: Any) -> NDArray[np.uint32]:
        """The words of a state that is given instead of seeds."""
        remedy = "Pass the state of a result."
        return checkpoint.words_of(state, owner, "state", remedy, self.streams)

    def _refuse_rows(self, owner: str, given: str = "seeds") -> None:
        allowed = "one with a state for each row"
        if owner != _MAP:
            allowed += f", to be run with {given}"
        remedy = "Pass per_row=True to Pipeline, and the original model if this one was rewritten."
        refuse(owner, "the model", "one with a single state for the whole batch", allowed, remedy)


def _ran(
    engine: Engine,
    feed: Feed,
    seed: Seed | None,
    state: NDArray[np.uint32],
) -> Result:
    ran = engine.run(feed, state)
    origin = engine.reference, ran.fed, None
    return Result(ran.outputs, seed, state, origin, ran.after)


def _opened(wanted: opening.Wanted) -> Pipeline:
    """The pipeline that a pickle says."""
    pipeline = Pipeline.__new__(Pipeline)
    engine = opening.engine_of(wanted)
    pipeline._opened = engine
    pipeline._wanted = engine.opened_from
    return pipeline
