"""What the structure of a model says that runtimes make of its random nodes, without a trial.

For `rewrite`, which runs nothing: so it says in which release each behaviour was seen.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from onnx_philox._command.inspect.known import faults, known_in_onnx, met_nodes, probed
from onnx_philox._command.inspect.known.row import Said
from onnx_philox._rewriting.found import Irreplaceable
from onnx_philox._rewriting.look import AnyLook, OnnxLook, OpenvinoLook
from onnx_philox._rewriting.not_rows import few
from onnx_philox._rewriting.report import RandomNode
from onnx_philox._runtimes import RUNTIMES


@dataclass(frozen=True)
class WrongBefore:
    """What a runtime made of nodes before they were rewritten."""

    nodes: list[str]
    runtime: str
    said: Said

    @property
    def where(self) -> str:
        """The runtime and the nodes, as the beginning of a sentence."""
        release = f"{self.runtime} {self.said.known.seen_in[self.runtime]}"
        return f"Without the rewrite, {release} does this with {few(self.nodes)}"

    @property
    def what(self) -> str:
        """What the runtime makes of the nodes, and what a rewritten node does instead."""
        text = self.said.text
        if text.startswith(faults.SUBJECT):
            # The runtime and the node are named before.
            text = f"It{text.removeprefix(faults.SUBJECT)}"
        return f"{text} Now it {self.said.known.after}."

    @property
    def is_of_shares(self) -> bool:
        """Whether it is how often a Bernoulli is true, of which a report says both shares."""
        return self.said.known is probed.INVERTED

    def to_json(self) -> dict[str, Any]:
        """Returns what a document says of it."""
        seen_in = self.said.known.seen_in[self.runtime]
        where = {"nodes": [*self.nodes], "runtime": self.runtime, "seen_in": seen_in}
        return {**where, **self.said.to_json()}


def lines(past: Iterable[WrongBefore]) -> list[str]:
    """All of it, of the same nodes and runtime in one line."""
    found: dict[str, list[str]] = {}
    for each in past:
        found.setdefault(each.where, []).append(each.what)
    return [f"{where}: {' '.join(said)}" for where, said in found.items()]


def wrong_before(seen: AnyLook) -> list[WrongBefore]:
    """What runtimes draw of the nodes that a rewrite replaces, where the model asks for more.

    It must be asked before the rewrite. Of equal sentences the nodes are named together.
    """
    past: dict[tuple[str, str], WrongBefore] = {}
    removed = set()
    each_said = _said_in_ir(seen) if isinstance(seen, OpenvinoLook) else _said_in_onnx(seen)
    for node, runtime, said in each_said:
        if said.known.is_wrong:
            past.setdefault((runtime, said.text), WrongBefore([], runtime, said)).nodes.append(node)
            if said.known is probed.REMOVED:
                removed.add(node)
    drawn = [node for node in seen.own if node.called not in removed]
    of_ir = isinstance(seen, OpenvinoLook)
    return [*past.values(), *_of_the_whole_model(drawn, of_ir=of_ir)]


def _of_the_whole_model(drawn: Sequence[RandomNode], *, of_ir: bool) -> list[WrongBefore]:
    """What is said once of a model, with the names of the nodes that meet it."""
    found = []
    for name, runtime in RUNTIMES.items():
        if of_ir and not runtime.takes_ir:
            continue
        for met in faults.met(name, drawn):
            nodes = [node.called for node in met.nodes]
            found.append(WrongBefore(nodes, name, met.known.said()))
    return found


def _said_in_onnx(seen: OnnxLook) -> Iterator[tuple[str, str, Said]]:
    types = seen.searched.types
    replaced = [each for each in seen.searched.found if not isinstance(each, Irreplaceable)]
    every = [met_nodes.Met(each.site.node, each.record(), types) for each in replaced]
    among = met_nodes.MetNodes(every)
    for met in every:
        for runtime in RUNTIMES:
            if runtime in known_in_onnx.NO_KERNEL.seen_in and known_in_onnx.has_no_kernel(met):
                continue
            for said in known_in_onnx.said(met, among, runtime, is_drawn=True):
                yield met.record.called, runtime, said
        for runtime, said in known_in_onnx.of_a_trial(met):
            yield met.record.called, runtime, said
        found = known_in_onnx.takes_noise_from_a_subtract(met.node, types)
        is_subtracted, is_read_elsewhere = found
        if is_subtracted:
            yield from _frozen(met.record, is_read_elsewhere)


def _said_in_ir(seen: OpenvinoLook) -> Iterator[tuple[str, str, Said]]:
    # Which says what to install, where OpenVINO is not.
    model = seen.model
    from onnx_philox._command.inspect.known import known_in_ir
    from onnx_philox._command.inspect.known.merged_in_ir import MergedZeros
    from onnx_philox._rewriting.in_openvino.find_openvino import find_nodes

    every = find_nodes(model)
    among = MergedZeros(each.site.node for each in every)
    for each in every:
        if isinstance(each, Irreplaceable):
            continue
        record = each.record()
        for said in known_in_ir.said(each.site.node, record, among):
            yield record.called, "openvino", said
        if record.op_type == "Multinomial":
            row = probed.MULTINOMIAL if any(record.seeds or ()) else probed.CLOCK
            yield record.called, "openvino", row.said()
        place = known_in_ir.subtracted(each.site.node)
        if place.is_so:
            yield from _frozen(record, place.is_read_elsewhere)


def _frozen(node: RandomNode, is_read_elsewhere: bool) -> Iterator[tuple[str, str, Said]]:
    row = probed.FROZEN_IN_PART if is_read_elsewhere else probed.FROZEN
    for runtime in row.seen_in:
        yield node.called, runtime, row.said()
