"""A request of several runs, whose state is carried from each to the next, and where it begins."""

from __future__ import annotations

import asyncio
import concurrent.futures
import contextvars
import secrets
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from onnx_philox._contract.generators import Generator
from onnx_philox._contract.refusal import refuse, refusing_as, shown
from onnx_philox._contract.state import integer, words_of_few_seeds
from onnx_philox._numbers.states import (
    Integers,
    are_few_integers,
    check_count,
    integers_of,
    row_states,
)
from onnx_philox._pipeline import checkpoint
from onnx_philox._pipeline.engine import Engine, EngineRun
from onnx_philox._pipeline.fed_inputs import Feed
from onnx_philox._pipeline.result import Result, Seed
from onnx_philox._pipeline.variables import Variables
from onnx_philox._runtimes import first_state

if TYPE_CHECKING:
    from onnx_philox._pipeline.checkpoint import Checkpoint


Start = tuple[Seed, NDArray[np.uint32]]
"""The seed or seeds, and the state or states that they begin at."""


def of_seed(owner: str, generator: Generator, seed: int | None) -> Start:
    """One state, of a seed or of one from the operating system."""
    _check_single(owner, seed)
    seed = secrets.randbits(generator.seed_bits) if seed is None else seed
    words = generator.of_seed(owner, seed)
    return int(seed), words


def of_rows(
    owner: str,
    generator: Generator,
    seed: int | None,
    rows: int,
) -> Start:
    """A state for each row: by one seed, or by one from the operating system for each."""
    if seed is None:
        with refusing_as(owner):
            check_count(rows)
        kept = np.uint64(64 - generator.seed_bits)
        seeds = np.frombuffer(secrets.token_bytes(8 * rows), np.uint64) >> kept
        return of_seeds(owner, generator, seeds)
    if not generator.is_counter_based:
        # Whatever stands in its place.
        first_state.refuse_one_seed(generator, owner, seed)
    _check_single(owner, seed)
    seed = integer(owner, "seed", seed, 2**64)
    with refusing_as(owner):
        states = row_states(seed, range(rows))
    return seed, states


def of_seeds(owner: str, generator: Generator, seeds: Integers) -> Start:
    """A state for each row, by a seed for each."""
    if generator.is_counter_based and are_few_integers(seeds):
        few = tuple(seeds)
        words = words_of_few_seeds(few)
        if words is not None:
            return few, words
    # All others; of a seed that is out of its range, it says which.
    checked = checked_seeds(owner, generator, seeds)
    check_count(checked.size, generator.words, owner=owner)
    return tuple(checked.tolist()), generator.of_seeds(checked)


def checked_seeds(owner: str, generator: Generator, seeds: Integers) -> NDArray[np.uint64]:
    """The seeds of rows, in one dimension."""
    if not generator.is_counter_based:
        is_row = isinstance(seeds, np.ndarray) and seeds.ndim > 0
        # A range may be longer than memory, and is checked by its ends.
        is_list = isinstance(seeds, Sequence) and not isinstance(seeds, range)
        for i, seed in enumerate(seeds if is_list or is_row else []):  # type: ignore[arg-type]
            if isinstance(seed, int | np.integer):
                generator.check_seed(owner, f"seeds[{i}]", seed)
    checked = integers_of("seeds", seeds, 64, owner=owner)
    if checked.ndim == 1 and checked.dtype == np.uint64:
        return checked
    return checked.reshape(-1).astype(np.uint64, copy=False)


def _check_single(owner: str, seed: object) -> None:
    """Refuses several seeds in the place of one."""
    if isinstance(seed, list | tuple | np.ndarray):
        remedy = "Pass seeds=... to a model with a state for each row, or one seed."
        refuse(owner, "seed", shown(seed), "a single integer", remedy, TypeError)


_NAME = "Pipeline.request"
_SHOWN = 3


class Request:
    """Runs a model again and again, each run with the numbers that follow those of the last.

    `Pipeline.request` makes it. A run that fails or is cancelled advances nothing: the next one
    draws what it would have drawn. One run at a time; a second one is refused meanwhile.

    Variables of the model's own (OpenVINO's ReadValue and Assign) are part of the request: in its
    first run they are as in a new infer request, and no other call or request sees them.
    """

    def __init__(
        self,
        engine: Engine,
        state: NDArray[np.uint32],
        seed: Seed | None,
        runs: int = 0,
        variables: Variables = None,
    ) -> None:
        self._engine = engine
        self._state = state
        self._seed = seed
        self._runs = runs
        self._variables = variables
        self._running = threading.Lock()
        self._left: _AwaitedRun | None = None
        """A run that may still go on after its call was cancelled."""

    def __reduce_ex__(self, protocol: Any) -> NoReturn:
        """Refuses copies and pickles: two requests at one place would draw the same numbers."""
        given = "a copy, which would draw the same numbers"
        allowed = "neither copied nor pickled"
        remedy = "Go on from a checkpoint: pipe.request(resume=request.checkpoint())."
        refuse(_NAME, "a request", given, allowed, remedy, TypeError)

    @property
    def seed(self) -> Seed | None:
        """The seed, or one for each row; None after resuming from a checkpoint without one."""
        return self._seed

    @property
    def runs(self) -> int:
        """How many runs have ended well."""
        return self._runs

    @property
    def state(self) -> NDArray[np.uint32]:
        """Where the next run draws: uint32 [6], or [B, 6] if each row has a state of its own."""
        return self._state.copy()

    def __repr__(self) -> str:
        """Whose numbers, from which seed, and how many runs so far."""
        seed = "no seed" if self._seed is None else f"seed {self._seed}"
        if isinstance(self._seed, tuple):
            shown = [str(each) for each in self._seed[:_SHOWN]]
            if len(self._seed) > _SHOWN:
                shown.append("...")
            seed = f"seeds {', '.join(shown)}"
        model = self._engine.model
        runs = "1 run" if self._runs == 1 else f"{self._runs} runs"
        whose = self._engine.streams.generator.whose
        return f"<Request of {seed} after {runs}: {whose} in {model.runtime} {model.version}>"

    def __call__(self, feed: Feed) -> Result:
        """Runs the model.

        A run that a cancelled `acall` has left behind is waited for.

        Args:
            feed: The inputs by name, without the state; or, in ONNX Runtime, an
                `onnxruntime.IOBinding` of all other inputs and outputs.

        Returns:
            The outputs by name, without the next state; none for an IOBinding, which has them.

        Raises:
            ValueError: Another run of this request has not ended, or the batch has another number
                of rows than the request.
        """
        self._begin(feed)
        try:
            self.wait()
            self._left = None
            return self._advance(self._run(feed))
        finally:
            self._running.release()

    async def acall(self, feed: Feed) -> Result:
        """The same, in a thread of the event loop's, while the loop goes on with other work.

        Cancelling it does not end the run itself, which advances nothing. It still writes to bound
        memory until it ends; the next call of the request waits for it.

        The runtimes' own ways report errors less well: ONNX Runtime's `run_async` as texts, and not
        from sessions of one thread; a failed request of OpenVINO does not call back.
        """
        self._begin(feed)
        try:
            if self._left is not None:
                await self._left.ended()
            self._left = _AwaitedRun(self._run, feed)
            # Where this is cancelled, the run is left behind.
            ran = await self._left.ended()
            self._left = None
            return self._advance(ran.result())
        finally:
            self._running.release()

    def wait(self) -> None:
        """Waits for a run that a cancelled `acall` has left behind, if there is one.

        Call it before you reuse or free memory that is bound. The next call of the request waits by
        itself; in an event loop, `await asyncio.to_thread(request.wait)`.
        """
        left = self._left
        if left is not None:
            left.wait()

    def checkpoint(self) -> Checkpoint:
        """What `Pipeline.request` resumes from, on any machine and in any runtime.

        Returns:
            A dict for `json.dumps`: the state, the seed, the number of runs, a fingerprint of the
            model's random nodes, and what the model's own variables hold, if it has any.
        """
        reached = self._state, self._seed, self._runs, self._variables
        return checkpoint.checkpoint_of(self._engine, *reached)

    def _run(self, feed: Feed) -> EngineRun:
        return self._engine.run(feed, self._state, self._variables)

    def _begin(self, feed: Feed) -> None:
        """Takes the lock; refuses where a run holds it, and feeds of another number of rows."""
        if not self._running.acquire(blocking=False):
            given = "one in the middle of a run"
            allowed = "free for another run"
            remedy = "Wait for it, or make a request for each thread."
            refuse(_NAME, "the request", given, allowed, remedy)
        try:
            self._engine.check_rows(_NAME, feed, self._state)
        except BaseException:
            self._running.release()
            raise

    def _advance(self, ran: EngineRun) -> Result:
        origin = self._engine.reference, ran.fed, self._variables
        result = Result(ran.outputs, self._seed, self._state, origin, ran.after.copy())
        self._state = ran.after
        self._variables = ran.variables
        self._runs += 1
        return result


class _AwaitedRun:
    """A run in a thread of the event loop's, which goes on when nobody awaits it any more."""

    def __init__(self, run: Callable[[Feed], EngineRun], feed: Feed) -> None:
        self._future: Future[EngineRun] = Future()
        # From here on, nobody can cancel it.
        self._future.set_running_or_notify_cancel()
        in_thread = partial(contextvars.copy_context().run, self._go, run, feed)
        asyncio.get_running_loop().run_in_executor(None, in_thread)

    def _go(self, run: Callable[[Feed], EngineRun], feed: Feed) -> None:
        try:
            self._future.set_result(run(feed))
        except BaseException as error:
            self._future.set_exception(error)

    def wait(self) -> None:
        """Waits until it has ended, well or not."""
        concurrent.futures.wait([self._future])

    async def ended(self) -> Future[EngineRun]:
        """The same in the event loop; then what it gave.

        The loop always gets its turn, also where a short run has ended by now.
        """
        ended = asyncio.Event()
        loop = asyncio.get_running_loop()
        self._future.add_done_callback(lambda _: _tell(loop, ended))
        await ended.wait()
        return self._future


def _tell(loop: asyncio.AbstractEventLoop, ended: asyncio.Event) -> None:
    """Sets an event of a loop, from a thread; the loop may be closed by then."""
    with suppress(RuntimeError):
        loop.call_soon_threadsafe(ended.set)
