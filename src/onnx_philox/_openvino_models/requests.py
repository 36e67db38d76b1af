"""Runs a request of OpenVINO so that no refusal of a node is lost.

On one thread (`INFERENCE_NUM_THREADS` 1, or a process that may use one processor), `infer()` and a
call of a compiled model return as if all were well when a node throws: the outputs are empty, or
those of the run before. A request that is started and waited for raises.
"""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import openvino as ov


def run(request: ov.InferRequest, inputs: Any = None, *, share_inputs: bool = False) -> None:
    """Runs it; if this returns, every node has run and the outputs are those of these inputs.

    Raises:
        RuntimeError: OpenVINO or a node refuses an input, or fails.
    """
    try:
        request.start_async(inputs, share_inputs=share_inputs)
        request.wait()
    except Exception:
        raise
    except BaseException:
        # Ctrl-C may come between the two, and the run still writes to the request's memory.
        with suppress(Exception):
            request.wait()
        raise
