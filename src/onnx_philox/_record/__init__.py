"""Records of runs: what decided their numbers, and hashes of their inputs, draws and outputs.

`hashes` hashes arrays and files, `recorded_model` describes the model's files and random nodes, and
`document` writes and reads the JSON. `onnx-philox run --record` and `Result.record` write a record;
`onnx-philox replay` runs it again.
"""
