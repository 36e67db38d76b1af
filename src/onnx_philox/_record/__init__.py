"""Records of runs: what decided their numbers, and hashes of what they drew and gave.

`hashes` hashes arrays and files, `models` what a file says of itself, and `document` writes and
reads the JSON. `onnx-philox run --record` and `Result.record` write one, `onnx-philox replay` runs
it again.
"""
