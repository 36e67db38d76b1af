"""What draws for `onnx-philox verify`: each backend of each runtime, and the peers.

`interface` is what they have in common. `choice` picks those that the user asked for from the
registry of runtimes. `openvino_own` are the peers: OpenVINO's own random operators.
"""
