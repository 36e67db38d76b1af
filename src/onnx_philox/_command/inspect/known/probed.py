"""What the trial of a node shows: sentences that follow what the runtime does with it."""

from __future__ import annotations

from onnx_philox._command.inspect.known.row import ONNXRUNTIME, OPENVINO, KnownBehaviour

INVERTED = KnownBehaviour(
    "inverted Bernoulli",
    ONNXRUNTIME,
    True,
    "; and it is inverted: where p is {p}, {share} are 1",
    "draws 1 with probability p, or 1 - p with invert_bernoulli",
)
MERGED = KnownBehaviour(
    "merged nodes",
    ONNXRUNTIME | OPENVINO,
    False,
    "; and they may repeat each other: two of them alone drew the same numbers",
    "gives each node a stream of its own",
)
REQUESTS = KnownBehaviour(
    "requests that share numbers",
    OPENVINO,
    False,
    "; requests of one compiled model share them, so their order decides",
    "draws what the state of a request says",
)
REMOVED = KnownBehaviour(
    "removed Dropout",
    ONNXRUNTIME,
    True,
    "the runtime removes the node when it optimizes the model",
    "drops in every run",
)
FROZEN = KnownBehaviour(
    "noise on the right of a Subtract",
    OPENVINO,
    True,
    "It is drawn once, when the model is compiled: its shape is static, and a Subtract has it on "
    "the right.",
    "draws anew in each run",
)
FROZEN_IN_PART = KnownBehaviour(
    "noise on the right of a Subtract and elsewhere",
    OPENVINO,
    True,
    "It is drawn once for the Subtract that has it on the right, when the model is compiled, since "
    "its shape is static; what others read is new in each run, so the two differ.",
    "draws the same numbers for all that read it, anew in each run",
)
ROWS = (INVERTED, MERGED, REQUESTS, REMOVED, FROZEN, FROZEN_IN_PART)
