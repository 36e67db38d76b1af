"""Requests in an event loop: runs that are cancelled, and what a request says of itself."""

from __future__ import annotations

import asyncio
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import onnxruntime
import pytest
from cases import assert_same_bits
from onnx import parser
from runtimes import bare_session

from onnx_philox import Pipeline, make_reproducible, row_states

NOISE = parser.parse_model("""<ir_version: 8, opset_import: ["": 17]>
    g (float[n, 5] x) => (float[n, 5] y) { a = RandomNormalLike (x)  y = Add (x, a) }""")


def batch(rows: int) -> dict[str, np.ndarray]:
    return {"x": np.arange(rows * 5, dtype=np.float32).reshape(rows, 5)}


@pytest.fixture(scope="module", params=["onnxruntime", "openvino"])
def pipe(request: pytest.FixtureRequest) -> Pipeline:
    return Pipeline(NOISE, runtime=request.param)


class Held:
    """Holds the one thread that an event loop has for runs, so that none can begin."""

    def __init__(self) -> None:
        self.gate = threading.Event()
        self.thread = ThreadPoolExecutor(1)
        asyncio.get_running_loop().set_default_executor(self.thread)
        self.thread.submit(self.gate.wait)


async def cancelled(call: Any) -> None:
    """Begins a call, and cancels it."""
    task = asyncio.create_task(call)
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


def test_a_run_that_is_cancelled_advances_nothing(pipe: Pipeline) -> None:
    request, undisturbed = pipe.request(seed=3), pipe.request(seed=3)

    async def timed_out() -> None:
        with pytest.raises(asyncio.TimeoutError):
            await asyncio.wait_for(request.acall(batch(200_000)), 1e-9)

    asyncio.run(timed_out())
    assert request.runs == 0
    assert_same_bits(request(batch(2))["y"], undisturbed(batch(2))["y"])


@pytest.mark.parametrize("first", [batch(3), {"x": np.zeros((2, 4), np.float32)}])
def test_the_next_call_waits_for_the_run_that_a_cancelled_one_left_behind(
    pipe: Pipeline, first: dict[str, np.ndarray]
) -> None:
    """Whether that run ends well or, as with x of another shape, fails."""
    request, undisturbed = pipe.request(seed=3), pipe.request(seed=3)

    async def served() -> list[str]:
        held, order = Held(), []
        await cancelled(request.acall(first))

        async def waiting() -> None:
            order.append("waits")
            answer = await request.acall(batch(2))
            order.append("answered")
            assert_same_bits(answer["y"], undisturbed(batch(2))["y"])

        task = asyncio.create_task(waiting())
        # The loop goes on meanwhile.
        for _ in range(5):
            await asyncio.sleep(0.001)
        order.append("loop")
        held.gate.set()
        await task
        # The same by a call that blocks: its thread may run again, while the loop stands still.
        blocked = threading.Event()
        held.thread.submit(blocked.wait)
        await cancelled(request.acall(first))
        threading.Timer(0.05, blocked.set).start()
        assert_same_bits(request(batch(2))["y"], undisturbed(batch(2))["y"])
        return order

    assert asyncio.run(served()) == ["waits", "loop", "answered"]
    assert request.runs == 2


def test_a_call_that_waits_may_be_cancelled_itself(pipe: Pipeline) -> None:
    request, undisturbed = pipe.request(seed=3), pipe.request(seed=3)

    async def served() -> None:
        held = Held()
        for _ in range(3):
            await cancelled(request.acall(batch(2)))
        held.gate.set()
        assert_same_bits((await request.acall(batch(2)))["y"], undisturbed(batch(2))["y"])

    asyncio.run(served())
    assert_same_bits(request(batch(2))["y"], undisturbed(batch(2))["y"])
    assert request.runs == 2


def test_another_event_loop_waits_too(pipe: Pipeline) -> None:
    request, undisturbed = pipe.request(seed=3), pipe.request(seed=3)
    gate, thread = threading.Event(), ThreadPoolExecutor(1)

    async def left() -> None:
        asyncio.get_running_loop().set_default_executor(thread)
        thread.submit(gate.wait)
        await cancelled(request.acall(batch(2)))
        # The end of the loop waits for its threads.
        gate.set()

    async def following() -> Any:
        return await request.acall(batch(2))

    asyncio.run(left())
    assert_same_bits(asyncio.run(following())["y"], undisturbed(batch(2))["y"])


def test_memory_that_is_bound_is_free_after_the_wait() -> None:
    session = bare_session(make_reproducible(NOISE))
    pipe, out = Pipeline(session), np.zeros((2, 5), np.float32)
    binding = session.io_binding()
    binding.bind_cpu_input("x", batch(2)["x"])
    binding.bind_ortvalue_output("y", onnxruntime.OrtValue.ortvalue_from_numpy(out))
    request = pipe.request(seed=3)

    async def served() -> None:
        held = Held()
        await cancelled(request.acall(binding))
        threading.Timer(0.05, held.gate.set).start()
        request.wait()
        assert_same_bits(out, pipe(batch(2), seed=3)["y"])
        request.wait()

    request.wait()
    asyncio.run(served())
    assert request.runs == 0


def test_a_second_run_of_a_request_is_refused_meanwhile(pipe: Pipeline) -> None:
    async def two_at_once() -> list[Any]:
        request = pipe.request(seed=3)
        return await asyncio.gather(
            request.acall(batch(100_000)), request.acall(batch(100_000)), return_exceptions=True
        )

    first, second = asyncio.run(two_at_once())
    assert_same_bits(first["y"], pipe(batch(100_000), seed=3)["y"])
    assert isinstance(second, ValueError)
    assert "the request must be free for another run: got one in the middle of a run" in str(second)


def test_a_request_and_a_pipeline_say_whose_numbers_they_draw() -> None:
    pipe = Pipeline(NOISE)
    where = f"onnxruntime {onnxruntime.__version__}"
    assert "1 random node with Philox's numbers, one state>" in repr(pipe)
    request = pipe.request(seed=42)
    request(batch(1))
    assert repr(request) == f"<Request of seed 42 after 1 run: Philox's numbers in {where}>"
    torch_s = Pipeline(NOISE, alignment="pytorch", per_row=True)
    assert "1 random node with torch's numbers, a state for each row of 'x'>" in repr(torch_s)
    for seeds, said in (([1, 2], "1, 2"), ([1, 2, 3, 4], "1, 2, 3, ...")):
        assert repr(torch_s.request(seeds=seeds)) == (
            f"<Request of seeds {said} after 0 runs: torch's numbers in {where}>"
        )
    rows = Pipeline(NOISE, per_row=True)
    assert "no seed after 0 runs" in repr(rows.request(state=row_states([1])))
