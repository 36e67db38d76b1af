"""What both backends for OpenVINO know of it by name, above all which nodes compute words exactly.

`custom_ops/core/make_operators.py` makes custom_ops/openvino/plugin_names.h of this: each name in
C++'s spelling.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass

MAX_ELEMENTS = 4096
"""Only small tensors feed a state, a bound or a shape; larger constants are weights."""

# Attributes in IR that no declaration has, and their texts.
NARROWED = "narrowed"
NARROWED_ALL = "true"
SIGNED_STATE_MARK = "i32"
CAPTURED = "const_"
CLAMPED = "clamped"
ROUNDED = "rounded"
NAN_TO_0 = "nan to 0"
NAN_TO_1 = "nan to 1"

# Marks of OpenVINO's own. It puts TRANSFORMED on every node, also in bodies, before it transforms a
# model, and STAYS where it folds constants: into the body of a Loop only when the Loop stays.
TRANSFORMED = "fused_names_0"
STAYS = "can_be_folded"


class Past(enum.Flag):
    """What a node has been through between the model and the runs of the plugin.

    ::

        made by a user                            read from IR: FROM_FILE
          | validated                               | `narrowed` is set there
          v                                         v
        VALIDATED --(cloned)--> CLONED            VALIDATED, CLONED and ROUNDED at once
                                  |
                                  | f32 numbers arrive as f16:                ROUNDED
                                  | results are wider than what computes them: LEFT
                                  | integers arrive as i32 (native nodes):     SETTLED

    A clone keeps what the node has been through.

    VALIDATED: Inputs were seen in their declared types. Now the plugin may change them.
    CLONED: The plugin changes clones only. In any other node, an input has its declared type.
    ROUNDED: A constant of the declared type may have been rounded on the way: a number declared
        f32 was seen as f16, or the plugin exported or cached the model, at any precision.
    FROM_FILE: The model may have been transformed before it was saved. A clone forgets that once
        OpenVINO's own mark (TRANSFORMED) is gone.
    SIGNED_STATE: The state is declared int32, in which the plugin keeps variables: the same bits.
    LEFT: Values left their graph before the plugin narrowed what reads them.
    SETTLED: A settled node took the place of this one, or of the one that it was cloned from.
    ASKED: A clone for one run's shapes, in which the plugin makes a constant of a computed state.
    """

    VALIDATED = enum.auto()
    CLONED = enum.auto()
    ROUNDED = enum.auto()
    FROM_FILE = enum.auto()
    SIGNED_STATE = enum.auto()
    LEFT = enum.auto()
    SETTLED = enum.auto()
    ASKED = enum.auto()


EXTENSION = "extension"
"""The opset of operators that are not OpenVINO's own."""

# Types, by OpenVINO's names.
WORDS = ("i32", "i64", "u32", "u64")
# All but words arrive widened. They can be moved and converted, but saturate in arithmetic.
INTEGERS = (*WORDS, "boolean", "i8", "i16", "u8", "u16")
CONDITIONS = ("boolean",)
VARIABLES = ("i32",)
"""The plugin has no variables of other integers."""
ALTERED_IN_CONSTANTS = ("f64", "i64", "u32", "u64")
NEVER_IN_RUNS = ("f64", "i64")
"""The plugin's own runs hand no tensor of these over."""


@dataclass(frozen=True)
class ExactNode:
    """When a node is exact in the CPU plugin.

    The plugin computes u32, i64 and u64 as i32, and booleans as u8. A word is exact where its low
    32 bits are right. So is an index: where it is valid, it is less than 2^31.

    Attributes:
        inputs: A letter for each, the last one also for all further inputs: `d` data, which must be
            exact; `p` a place (index, axis, shape, padding), which must be exact or constant; `v` a
            value that the plugin reads as an f32 constant.
        types: The types of its output.
    """

    inputs: str
    types: tuple[str, ...]

    def role(self, index: int) -> str:
        """The letter of an input."""
        return self.inputs[min(index, len(self.inputs) - 1)]


EXACT = {
    # Arithmetic that is the same modulo 2^32.
    "Add": ExactNode("d", WORDS),
    "BitwiseAnd": ExactNode("d", WORDS),
    "BitwiseNot": ExactNode("d", WORDS),
    "BitwiseOr": ExactNode("d", WORDS),
    "BitwiseXor": ExactNode("d", WORDS),
    "Multiply": ExactNode("d", WORDS),
    "Subtract": ExactNode("d", WORDS),
    # Conditions. Comparisons are not exact: the plugin fuses them with a Select, in f32. These it
    # fuses in integers, but in f32 where the shape is dynamic, or there is no AVX2.
    "LogicalAnd": ExactNode("d", CONDITIONS),
    "LogicalNot": ExactNode("d", CONDITIONS),
    "LogicalOr": ExactNode("d", CONDITIONS),
    "LogicalXor": ExactNode("d", CONDITIONS),
    # Data from one place to another.
    "Broadcast": ExactNode("dp", INTEGERS),
    "Concat": ExactNode("d", INTEGERS),
    "Gather": ExactNode("dp", INTEGERS),
    "GatherElements": ExactNode("dp", INTEGERS),
    "GatherND": ExactNode("dp", INTEGERS),
    "Identity": ExactNode("d", INTEGERS),
    "Pad": ExactNode("dppv", INTEGERS),
    "Reshape": ExactNode("dp", INTEGERS),
    "Roll": ExactNode("dp", INTEGERS),
    "ScatterElementsUpdate": ExactNode("dpdp", INTEGERS),
    "ScatterNDUpdate": ExactNode("dpd", INTEGERS),
    "ScatterUpdate": ExactNode("dpdp", INTEGERS),
    "Select": ExactNode("d", INTEGERS),
    "Slice": ExactNode("dp", INTEGERS),
    "Split": ExactNode("dp", INTEGERS),
    "Squeeze": ExactNode("dp", INTEGERS),
    "StridedSlice": ExactNode("dp", INTEGERS),
    "Tile": ExactNode("dp", INTEGERS),
    "Transpose": ExactNode("dp", INTEGERS),
    "Unsqueeze": ExactNode("dp", INTEGERS),
    "VariadicSplit": ExactNode("dp", INTEGERS),
    "ReadValue": ExactNode("d", VARIABLES),
    # From integers. To 8 and 16 bits, the plugin does not always truncate words.
    "Convert": ExactNode("d", WORDS),
}

# The plugin fuses these with a Select that reads them, which then chooses in f32: its words
# are exact only where that is an integer.
LOGICAL = ("LogicalAnd", "LogicalNot", "LogicalOr", "LogicalXor")
# OpenVINO merges the constants on a path through these into one.
MERGED = ("Add", "Multiply", "Subtract")
# Nobody here computes these: they give dimensions, or another graph or operator checks them. HETERO
# makes a DeviceSubgraph of nodes that were checked before.
ENDS = ("DeviceSubgraph", "If", "Loop", "Parameter", "ShapeOf", "TensorIterator")
# These return something else each time, or contain graphs.
NEVER_CONSTANT = ("ReadValue", "RandomUniform", "Multinomial", "If", "Loop", "TensorIterator")
# These pass their first input on unchanged, in any type.
ONLY_MOVE = ("Reshape", "Squeeze", "Unsqueeze", "Transpose", "Identity")
# These pass numbers on unchanged, or data as it is where the plugin keeps that exact; a Convert
# does that for integers.
MOVING = (
    *(name for name, exact in EXACT.items() if exact.types is INTEGERS),
    "Convert",
    "ReverseSequence",
)
