"""LSTM, GRU and RNN of a trace, with the dropout between their layers.

OpenVINO's front end refuses them in training mode. Those of an exported program are decomposed
before any converter sees them; `calls.programs` splits them before that.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import openvino as ov
from openvino import opset8

from onnx_philox._contract.operators import RANDOM_DROPOUT
from onnx_philox._contract.types import F32
from onnx_philox._torch.calls.table import TorchCall
from onnx_philox._torch.frontend.frontend_arguments import LISTS, exact
from onnx_philox._torch.frontend.openvino_writer import REMEDY, TorchWriter

_NAMES = ("lstm", "gru", "rnn_tanh", "rnn_relu")
_ARGUMENTS = 9
_Converter = Callable[[Any], list[ov.Output]]
# OpenVINO's order of the gates, by torch's: i, f, g, o become f, i, c, o; r, z, n become z, r, h.
_GATES = {
    "lstm": (1, 0, 2, 3),
    "gru": (1, 0, 2),
    "rnn_tanh": (0,),
    "rnn_relu": (0,),
}


def converters(streams: Iterator[int]) -> Iterator[tuple[str, _Converter]]:
    """Each converter with the name that the front end knows an operation of a trace by."""
    for name in _NAMES:
        yield f"aten::{name}", _converter(name, streams)


def _converter(name: str, streams: Iterator[int]) -> _Converter:
    call = TorchCall(name)

    def convert(context: Any) -> list[ov.Output]:
        given = [context.get_input(i) for i in range(3)]
        rest = [context.get_values_from_const_input(i) for i in range(4, _ARGUMENTS)]
        params = _list(context.get_input(3))
        if params is not None:
            # Of a packed sequence the front end gives all steps, and the lengths.
            x, lengths, hidden = given
            is_batch_first = False
            has_biases, layers, p, is_training, is_both_ways = rest
        else:
            x, hidden, _ = given
            lengths = None
            params = _list(given[2]) or []
            has_biases = context.get_values_from_const_input(3)
            layers, p, is_training, is_both_ways, is_batch_first = rest
        ways = 2 if is_both_ways else 1
        of_each_way = 4 if has_biases else 2
        if len(params) != layers * ways * of_each_way:
            call.refuse("proj_size", "another number", "0", REMEDY)
        if is_training and layers > 1:
            p = exact(p)
        else:
            p = 0
        if lengths is not None and p:
            call.refuse("dropout", f"{p}", "0 for a packed sequence", REMEDY)
        states = _list(hidden) or [hidden]
        cells = _Cells(name, states, params, layers, ways, lengths)
        if is_batch_first:
            x = _turned(x, (1, 0, 2))
        writer = TorchWriter(call, streams)
        x, *ends = cells.run(x, p, writer)
        if is_batch_first:
            x = _turned(x, (1, 0, 2))
        return [x, *ends]

    return convert


@dataclass(frozen=True)
class _Cells:
    """Layers of cells."""

    name: str
    states: list[ov.Output]
    """What they begin with: [layers * ways, batch, hidden] each."""
    params: list[ov.Output]
    layers: int
    ways: int
    lengths: ov.Output | None
    """How many steps each row has; None where it has all."""

    def run(self, x: ov.Output, p: float, w: TorchWriter) -> list[ov.Output]:
        """A layer after the other, and dropout between them, as torch does it: time is first."""
        ends: list[list[ov.Output]] = []
        of_layer = len(self.params) // self.layers
        for layer in range(self.layers):
            first = layer * self.ways
            places = np.arange(first, first + self.ways)
            begin = []
            for state in self.states:
                of_ways = opset8.gather(state, places, np.int64(0))
                begin.append(_turned(of_ways, (1, 0, 2)))
            own = self.params[layer * of_layer : (layer + 1) * of_layer]
            x, *end = self._layer(x, begin, own)
            ends.append(end)
            if p and layer < self.layers - 1:
                ratio = w.number(p, F32)
                x, _mask = w.draw(RANDOM_DROPOUT, x, ratio)
        returned = [x]
        for parts in zip(*ends, strict=True):
            joined = opset8.concat(list(parts), 0)
            returned.append(joined.output(0))
        return returned

    def _layer(
        self,
        x: ov.Output,
        begin: list[ov.Output],
        own: list[ov.Output],
    ) -> list[ov.Output]:
        """[steps, batch, ways * hidden], and the states after the last step."""
        gates = _GATES[self.name]
        of_way = len(own) // self.ways
        stacked = []
        for i in range(of_way):
            # The same weights of each way.
            parts = own[i::of_way]
            stacked.append(_stacked(parts, gates))
        by_input, by_state, *biases = stacked
        hidden = by_state.get_partial_shape()[2].get_length()
        rows_first = _turned(x, (1, 0, 2))
        sizes = opset8.shape_of(rows_first)
        batch = opset8.gather(sizes, np.array([0]), np.int64(0))
        steps = opset8.gather(sizes, np.array([1]), np.int64(0))
        lengths = self.lengths
        if not lengths:
            lengths = opset8.broadcast(steps, batch).output(0)
        direction = "bidirectional" if self.ways == 2 else "forward"
        bias = self._bias(biases, by_input, len(gates) * hidden)
        inputs = [
            rows_first,
            *begin,
            lengths,
            by_input,
            by_state,
            bias,
            hidden,
            direction,
        ]
        if self.name == "lstm":
            made = opset8.lstm_sequence(*inputs)
        elif self.name == "gru":
            made = opset8.gru_sequence(*inputs, linear_before_reset=True)
        else:
            activation = self.name.removeprefix("rnn_")
            made = opset8.rnn_sequence(*inputs, activations=[activation])
        all_steps, *last = made.outputs()
        # From [batch, ways, steps, hidden].
        turned = _turned(all_steps, (2, 0, 1, 3))
        shape = np.array([0, 0, -1])
        values = opset8.reshape(turned, shape, True).output(0)
        ends = [_turned(end, (1, 0, 2)) for end in last]
        return [values, *ends]

    def _bias(
        self,
        biases: list[ov.Output],
        like: ov.Output,
        size: int,
    ) -> ov.Output:
        is_gru = self.name == "gru"
        if not biases:
            # A GRU has one for each of its three gates, and another of the last one.
            width = size + size // 3 if is_gru else size
            zeros = np.zeros((self.ways, width), np.float32)
            bias = opset8.convert_like(opset8.constant(zeros), like)
            return bias.output(0)
        total = opset8.add(*biases)
        if not is_gru:
            return total.output(0)
        # The last gate adds its second bias before it is multiplied.
        gates = opset8.split(total, np.int64(1), 3)
        parts = gates.outputs()[:2]
        for bias in biases:
            of_gates = opset8.split(bias, np.int64(1), 3)
            parts.append(of_gates.output(2))
        return opset8.concat(parts, 1).output(0)


def _stacked(parts: list[ov.Output], gates: tuple[int, ...]) -> ov.Output:
    """The weights of each way, in OpenVINO's order of the gates."""
    ways = []
    for part in parts:
        split = opset8.split(part, np.int64(0), len(gates))
        by_gate = split.outputs()
        ordered = opset8.concat([by_gate[i] for i in gates], 0)
        way = opset8.unsqueeze(ordered, np.int64(0))
        ways.append(way)
    return opset8.concat(ways, 0).output(0)


def _turned(x: Any, order: tuple[int, ...]) -> ov.Output:
    turned = opset8.transpose(x, np.array(order))
    return turned.output(0)


def _list(given: ov.Output) -> list[ov.Output] | None:
    """The tensors of a list; None for a tensor."""
    node = given.get_node()
    if node.get_type_name() not in LISTS:
        return None
    values: list[Any] = node.input_values()
    return values
