"""States through If, Loop and Scan: models of any case of `operators`, and what they must give."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import onnx
from onnx import parser

from tests.common.foreign import evaluate
from tests.common.operators import Arrays, Case, Role, Shape, plain

# High bits in every word, a counter that carries into the run, which is the largest.
STATE = np.array([0xFFFFFFFE, *[0xFFFFFFFF] * 3, 0xDEADBEEF, 0xFEDCBA98], np.uint32)
TRIPS = 3


@dataclass(frozen=True)
class Node:
    """A random node in ONNX text, whose inputs but for the state are initializers beside it."""

    case: Case
    seed: int = 0
    shape_type: type = np.int64

    @cached_property
    def shape(self) -> Shape:
        return self.case.shape(2, (3,))

    @cached_property
    def inputs(self) -> Arrays:
        # Data are weights, which a file holds in f16.
        data = {i.name for i in self.case.given if i.role is Role.DATA}
        made = self.case.inputs(self.shape)
        return {
            k: np.resize([1, -2, 3], x.shape).astype(x.dtype) if k in data else x
            for k, x in made.items()
        }

    @property
    def type(self) -> str:
        """The type of its values, in text."""
        name = self.case.values.onnx_name.removeprefix("tensor(").removesuffix(")")
        return f"{name}[{', '.join(map(str, self.shape))}]"

    def text(self, values: str, state: str, next_state: str, op_seed: int) -> str:
        given = {**self.case.attributes, "global_seed": self.seed, "op_seed": op_seed}
        attributes = ", ".join(
            f'{name} = "{x}"' if isinstance(x, str) else f"{name} = {int(x)}"
            for name, x in given.items()
        )
        names = {"shape", *self.inputs}
        inputs = ", ".join(
            state if i.name == "state" else i.name if i.name in names else ""
            for i in self.case.operator.inputs
        )
        # Nobody reads a mask.
        mask = f"{values}_mask, " * (len(self.case.operator.values_outputs) == 2)
        call = f"onnx_philox.{self.case.operator.name} <{attributes}> ({inputs})"
        return f"{values}, {mask}{next_state} = {call}"

    def place_initializers(self, graph: onnx.GraphProto) -> None:
        """Puts them into each graph that holds such a node."""
        for inside in _graphs(graph):
            if any(node.op_type == self.case.operator.name for node in inside.node):
                given = self.case.initializers(self.shape, self.inputs, self.shape_type)
                inside.initializer.extend(given)


def in_bodies(operator: str) -> Case:
    """A case that OpenVINO lets out of a loop: its CPU plugin carries neither u32 nor i64 there."""
    of_32_bits = [c for c in plain(operator) if c.values.name in ("f32", "i32", "bool")]
    return (of_32_bits or plain(operator))[0]


def _graphs(graph: onnx.GraphProto) -> Iterator[onnx.GraphProto]:
    yield graph
    for node in graph.node:
        for attribute in node.attribute:
            if attribute.HasField("g"):
                yield from _graphs(attribute.g)


NEXT_RUN = """
    i0 = Constant <value_ints = [0]> () i3 = Constant <value_ints = [3]> ()
    i4 = Constant <value_ints = [4]> () i6 = Constant <value_ints = [6]> ()
    one = Constant <value_ints = [1]> ()
    before = Slice (random_state, i0, i3) run = Slice (random_state, i3, i4)
    after = Slice (random_state, i4, i6)
    wide = Cast <to = 7> (run) more = Add (wide, one) narrow = Cast <to = 12> (more)
    next_random_state = Concat <axis = 0> (before, narrow, after)
"""


def body(
    node: Node,
    name: str,
    op_seed: int,
    *,
    state: str,
    values: str = "v",
) -> str:
    """The inside of a branch or an iteration: OpenVINO's CPU plugin lets no uint32 come or go."""
    draw = node.text(
        values,
        f"s32_{name}",
        f"n32_{name}",
        op_seed,
    )
    return f"s32_{name} = Cast <to = 12> ({state}) {draw} next_{name} = Cast <to = 7> (n32_{name})"


START = "yes = Constant <value = bool {1}> () carried = Cast <to = 7> (random_state)"
END = "final = Cast <to = 12> (last)"


def branches(node: Node, state: str) -> str:
    """Of an If: each draws by a seed of its own."""
    then, other = (
        f"() => ({node.type} v, int64[6] next_{name}) {{ {body(node, name, seed, state=state)} }}"
        for name, seed in (("t", 5), ("e", 6))
    )
    return f"then_branch = t {then}, else_branch = e {other}"


def in_main(node: Node) -> str:
    return node.text("y", "random_state", "final", 5)


def in_loop(node: Node) -> str:
    return f"""{START} last, y = Loop <body = b (int64 i, bool c, int64[6] s) =>
        (bool c2, int64[6] next_b, {node.type} v) {{
            c2 = Identity (c) {body(node, "b", 5, state="s")} }}> (trips, yes, carried) {END}"""


def in_loop_of_captured(node: Node) -> str:
    return f"""{START} y = Loop <body = b (int64 i, bool c) => (bool c2, {node.type} v) {{
        c2 = Identity (c) {body(node, "b", 5, state="carried")} }}> (trips, yes)"""


def in_loop_in_loop(node: Node) -> str:
    return f"""{START} last, y = Loop <body = a (int64 i, bool c, int64[6] s) =>
        (bool c2, int64[6] s2, {node.type.replace("[", "[?, ")} w) {{
            c2 = Identity (c)
            two = Constant <value = int64 {{2}}> () always = Constant <value = bool {{1}}> ()
            s2, w = Loop <body = b (int64 j, bool d, int64[6] t) =>
                (bool d2, int64[6] next_b, {node.type} v) {{
                    d2 = Identity (d) {body(node, "b", 5, state="t")} }}> (two, always, s)
        }}> (trips, yes, carried) {END}"""


def in_scan(node: Node) -> str:
    return f"""{START} last, y, same = Scan <num_scan_inputs = 1, body = b (int64[6] s, float[2] x)
        => (int64[6] next_b, {node.type} v, float[2] x2) {{
            {body(node, "b", 5, state="s")} x2 = Identity (x) }}> (carried, xs) {END}"""


def in_if(node: Node) -> str:
    return f"""carried = Cast <to = 7> (random_state)
        y, last = If <{branches(node, "carried")}> (yes) {END}"""


def in_if_in_loop(node: Node) -> str:
    return f"""{START.replace("yes", "always")} last, y = Loop <
        body = b (int64 i, bool c, int64[6] s) => (bool c2, int64[6] s2, {node.type} w) {{
            c2 = Identity (c) w, s2 = If <{branches(node, "s")}> (yes)
        }}> (trips, always, carried) {END}"""


Construct = tuple[Callable[[Node], str], dict[str, Any], Shape]
"""What writes it, what it is fed besides the state, and by what it stacks its draws."""
LOOPED = {"trips": np.array(TRIPS)}
CONSTRUCTS: dict[str, Construct] = {
    "main graph": (in_main, {}, ()),
    "Loop": (in_loop, LOOPED, (TRIPS,)),
    "Loop that captures": (in_loop_of_captured, LOOPED, (TRIPS,)),
    "Loop in a Loop": (in_loop_in_loop, LOOPED, (TRIPS, 2)),
    "Scan": (
        in_scan,
        {"xs": np.zeros((TRIPS, 2), np.float32)},
        (TRIPS,),
    ),
    "If, then": (
        in_if,
        {"yes": np.array(True)},
        (),
    ),
    "If, else": (
        in_if,
        {"yes": np.array(False)},
        (),
    ),
    "If in a Loop": (
        in_if_in_loop,
        {**LOOPED, "yes": np.array(False)},
        (TRIPS,),
    ),
}
INPUT_TYPES = {"trips": "int64", "xs": f"float[{TRIPS}, 2]", "yes": "bool"}


def build(
    construct: str, node: Node, state: np.ndarray = STATE
) -> tuple[onnx.ModelProto, dict[str, Any], dict[str, Any]]:
    """The model, what to feed it with, and what it must give: what `onnx.reference` draws."""
    write, feeds, stacked = CONSTRUCTS[construct]
    written = write(node)
    element = node.type.partition("[")[0]
    outputs = [f"{element}[{', '.join('?' * len(stacked + node.shape))}] y"]
    outputs += ["uint32[6] next_random_state"] + ["uint32[6] final"] * ("final" in written)
    # OpenVINO runs a Scan once only if nothing that is used comes of what it scans.
    outputs += ["float[?, ?] same"] * ("xs" in feeds)
    inputs = ["uint32[6] random_state", *(f"{INPUT_TYPES[name]} {name}" for name in feeds)]
    text = f"g ({', '.join(inputs)}) => ({', '.join(outputs)}) {{ {written} {NEXT_RUN} }}"
    parsed = parser.parse_model(
        f'<ir_version: 10, opset_import: ["": 21, "onnx_philox": 1]> {text}'
    )
    node.place_initializers(parsed.graph)
    fed = {"random_state": state, **feeds}
    names = [output.name for output in parsed.graph.output]
    expected = dict(zip(names, evaluate(parsed, fed), strict=True))
    # Its Loop joins what others stack.
    expected["y"] = expected["y"].reshape(stacked + node.shape)
    return parsed, fed, expected
