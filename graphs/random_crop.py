"""A random 8 by 8 crop of an image of any size, its offset drawn from a state.

Inputs: `image` float[channels, height, width], at least 8 by 8; `state` uint32[6].
Outputs: `crop` float[channels, 8, 8]; `offset` int32[2], its top and left; `next_state` uint32[6].

Two draws share the one state: their op_seeds keep them apart, and as both use as many words,
the next state of either is right for both.
"""

import sys

import onnx
from onnx import parser

if len(sys.argv) != 2:
    sys.exit(f"usage: python {sys.argv[0]} OUT.onnx")

model = parser.parse_model("""
    <ir_version: 8, opset_import: ["": 17, "onnx_philox": 1]>
    random_crop (float[channels, height, width] image, uint32[6] state)
        => (float[channels, 8, 8] crop, int32[2] offset, uint32[6] next_state)
        <int64[1] one = {1}, int32[1] zero = {0}, int32[1] seven = {7}, int32[2] size = {8, 8},
         int32[2] axes = {1, 2}> {
      height_width = Shape <start = 1> (image)
      int32_sizes = Cast <to = 6> (height_width)
      offsets = Sub(int32_sizes, seven)
      rows, cols = Split(offsets)
      top, next_state = onnx_philox.RandomUniform <output_type = "i32"> (one, zero, rows, state)
      left = onnx_philox.RandomUniform <output_type = "i32", op_seed = 1> (one, zero, cols, state)
      offset = Concat <axis = 0> (top, left)
      end = Add(offset, size)
      crop = Slice(image, offset, end, axes)
    }
""")
onnx.save(model, sys.argv[1])
print(f"Saved {sys.argv[1]}: image, state -> crop, offset, next_state.")
print("Feed it PhiloxState.from_seed(42).to_array() first, then each run's next_state.")
