"""Records of results, which `onnx-philox replay` runs again."""

from __future__ import annotations

import weakref
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from onnx_philox._contract.refusal import refuse
from onnx_philox._pipeline import opening
from onnx_philox._pipeline.engine import Engine
from onnx_philox._pipeline.variables import Variables
from onnx_philox._record import document, recorded_model
from onnx_philox._record.hashes import hashes
from onnx_philox._runtimes.models import by_name

_NAME = "Result.record"


Origin = tuple[weakref.ref[Engine], dict[str, Any] | None, Variables]
"""What gave a result: the engine, as long as its pipeline is open; the feed, or None of a binding,
whose memory is the user's; and what the model's own variables held before.

A plain tuple, since every call makes one and few are ever read: a class takes ten times as long.
"""


def record_of_result(
    origin: Origin | None,
    outputs: Mapping[str, Any],
    seed: Any,
    state: NDArray[np.uint32],
) -> document.Record:
    """The record of a result; see `Result.record`."""
    made_by, feed, variables = origin or (None, None, None)
    engine = None if made_by is None else made_by()
    if engine is None:
        given = "one whose pipeline is closed or gone, or that was pickled"
        allowed = "one of an open pipeline"
        remedy = "Keep the pipeline in a variable until then, or run it again with that state."
        refuse(_NAME, "the result", given, allowed, remedy)
    if feed is None:
        given = "one of an IOBinding"
        allowed = "one of a feed of arrays"
        refuse(_NAME, "the result", given, allowed, "Run it with arrays: pipe(feed, state=...).")
    if variables is not None:
        given = f"one of a later run, which went on with the variables {', '.join(variables)}"
        allowed = "one of a call or of the first run of a request, where the model has variables"
        remedy = "Keep request.checkpoint() from before the run instead."
        refuse(_NAME, "the result", given, allowed, remedy)
    if engine.opened_from is None:
        given = "one of a model in memory"
        allowed = "one of a path or of bytes"
        refuse(_NAME, "the pipeline", given, allowed, "Save the model, and pass Pipeline its path.")
    wanted = engine.opened_from
    again = engine.run(feed, state).outputs
    kept = by_name([*outputs], [*outputs.values()])
    now = by_name([*again], [*again.values()])
    if hashes(kept, ()) != hashes(now, ()):
        what = "outputs that the model does not give again"
        remedy = "Record before the feed or the outputs are changed."
        refuse(_NAME, "the result", what, "what its state and feed give", remedy)
    given = wanted.given.by(_NAME)
    wanted = replace(wanted, given=given)
    streams = engine.streams
    with given.kept_open():
        of_file = recorded_model.files(given, engine.stamp)
        served = opening.served_by(wanted)
        if given.of_openvino and not served.is_itself:
            what = "one of an IR with OpenVINO's own random nodes"
            allowed = "one of a rewritten model"
            remedy = "Rewrite the IR with onnx-philox rewrite, and pass Pipeline the new file."
            refuse(_NAME, "the pipeline", what, allowed, remedy)
        shown = opening.engine_serving(wanted, served, shows_drawn=True)
    loaded = shown.model
    inputs = shown.arrays_of(feed)
    drawn = by_name(loaded.outputs, shown.run(feed, state).values)
    # Not the outputs: OpenVINO may round them in another way where draws are outputs, too.
    ran = hashes(kept | drawn | kept, loaded.drawn)
    run = document.run_of(None, state, ran, streams.next_state)
    # Nor did it change while this read it.
    recorded_model.check_unchanged(given, engine.stamp)
    named = wanted.asked.named
    of_file["per_row"] = sorted(named) if named else named is not None
    if inverted := wanted.asked.invert_bernoulli:
        of_file["invert_bernoulli"] = inverted if inverted is True else sorted(inverted)
    if wanted.asked.keep_seeds:
        of_file["keep_seeds"] = True
    if wanted.asked.draw:
        of_file["draw"] = dict(wanted.asked.draw)
    entries = [document.input_of(key, array) for key, array in inputs.items()]
    return document.record(of_file, loaded, streams, seed, entries, [run])
