"""What the trial of a node shows."""

from __future__ import annotations

from onnx_philox._command.inspect.known.row import (
    ONNXRUNTIME,
    OPENVINO,
    Explains,
    KnownBehaviour,
)

INVERTED = KnownBehaviour(
    "inverted Bernoulli",
    ONNXRUNTIME | OPENVINO,
    is_wrong=True,
    says="It is inverted: where p is {p}, about {share} are 1.",
    met_by="1024 draws of the node alone",
    after="draws 1 with probability p, or 1 - p with invert_bernoulli",
    label="inverted",
    explains=Explains.INVERSION,
)
MERGED = KnownBehaviour(
    "merged nodes",
    ONNXRUNTIME | OPENVINO,
    is_wrong=False,
    says="It may repeat another of its kind: two of them alone drew the same numbers.",
    met_by="two such nodes in one model",
    after="has a stream of its own",
)
REQUESTS = KnownBehaviour(
    "requests that share numbers",
    OPENVINO,
    is_wrong=False,
    says="Requests of one compiled model share its numbers, so their order decides.",
    met_by="two requests of one compiled model",
    after="draws what the state of a request says",
)
REMOVED = KnownBehaviour(
    "removed Dropout",
    ONNXRUNTIME,
    is_wrong=True,
    says="It draws nothing: the runtime removes the node when it optimizes the model.",
    met_by="the node alone between two others",
    after="drops in every run",
    is_whole=True,
)
FROZEN = KnownBehaviour(
    "noise on the right of a Subtract",
    OPENVINO,
    is_wrong=True,
    says="It is drawn once, when the model is compiled: its shape is static, and a Subtract has it "
    "on the right.",
    met_by="what reads the node; and the node before a Subtract draws the same in each run",
    after="draws anew in each run",
    label="drawn once",
)
FROZEN_IN_PART = KnownBehaviour(
    "noise on the right of a Subtract and elsewhere",
    OPENVINO,
    is_wrong=True,
    says="For the Subtract that has it on the right it is drawn once, when the model is compiled, "
    "since its shape is static; what others read is new in each run, so the two differ.",
    met_by="what reads the node; and the node before a Subtract draws the same in each run",
    after="draws the same numbers for all that read it, anew in each run",
    label="drawn once in part",
    is_whole=True,
)
MULTINOMIAL = KnownBehaviour(
    "Multinomial with a seed",
    OPENVINO,
    is_wrong=True,
    says="A Multinomial with a seed begins anew in each run: all runs draw the same.",
    met_by="a Multinomial, alone in a model, draws the same in each run",
    after="draws anew in each run",
    is_whole=True,
)
CLOCK = KnownBehaviour(
    "Multinomial without a seed",
    OPENVINO,
    is_wrong=True,
    says="A Multinomial without a seed, or of seed 0, takes the time in seconds as its seed: all "
    "runs, requests and processes draw the same within a second.",
    met_by="a Multinomial, alone in a model, draws the same until the clock's next second",
    after="draws anew in each run",
    is_whole=True,
)
NEGATIVE = KnownBehaviour(
    "uniform times a negative number",
    OPENVINO,
    is_wrong=False,
    says="It multiplies the bounds of a uniform by the {factor} behind it, and does not swap them.",
    met_by="a Multiply by a negative constant that alone reads a uniform; and the node before such "
    "a Multiply does not load",
    after="loads, and is multiplied as the model says",
)
ROWS = (INVERTED, MERGED, REQUESTS, REMOVED, FROZEN, FROZEN_IN_PART, MULTINOMIAL, CLOCK, NEGATIVE)
