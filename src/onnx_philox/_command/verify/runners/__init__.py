"""What draws for `onnx-philox verify`: each backend of each runtime, and the peers.

`interface` says what each can, `choice` chooses those of the registry of runtimes, and
`openvino_own` are the peers.
"""
