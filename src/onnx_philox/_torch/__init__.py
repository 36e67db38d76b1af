"""The wing of torch: its numbers, its calls, and what its users export and check.

The house draws, rewrites and runs by Philox, and is read without this. It asks a generator's record
(`generator.GENERATOR`, which `_contract.generators` names in a string) what differs, and loads the
rest of the wing only for who draws as torch does. The wing uses the house freely. torch itself is
imported inside the functions that need it: numbers, states and rewrites need none.

    generator    the record: what the house asks
    sentences    what refusals of torch's numbers say, in Python and in the native core
    numbers/     MT19937, `TorchState`, draws on a CPU, normals on a card, noise
    calls/       torch's calls that draw: a table, and the meaning of each, once
    rewriting/   one generator through a model of ONNX, and torch's own rules of a draw
    exporter/    a program made ready for torch's exporter, and its calls as our nodes
    frontend/    the same in OpenVINO's PyTorch front end
    checks/      whether an exported file draws what its module draws
    export       `onnx_philox.torch.export`: exporter and checks, in this order

Public names stay outside: `onnx_philox.torch`, `onnx_philox.TorchState`, `torch_noise`,
`torch_cuda_states`, and `onnx_philox.openvino.pytorch_extensions`.
"""
