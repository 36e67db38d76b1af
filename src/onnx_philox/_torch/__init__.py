"""Everything that is about torch: its numbers, its random calls, and the export of modules.

The rest of the package draws by Philox and can be read without this part. Where torch's numbers
differ it asks `generator.GENERATOR`, which `_parts` imports, and the other modules here are loaded
only when somebody draws as torch does. torch itself is imported inside the
functions that need it: numbers, states and rewrites do not.

    generator    what the rest of the package asks
    torch_sentences  what refusals of torch's numbers say, in Python and in the native core
    numbers/     MT19937, `TorchState`, draws on a CPU, normals on a card, noise
    calls/       torch's calls that draw: a table, and the meaning of each, once
    rewriting/   takes one generator of torch's through an ONNX model, and applies torch's rules
    exporter/    a program made ready for torch's exporter, and its calls as our nodes
    frontend/    the same in OpenVINO's PyTorch front end
    checks/      whether an exported file draws what its module draws
    export       `onnx_philox.torch.export`: exports, then checks

Public names stay outside: `onnx_philox.torch`, `onnx_philox.TorchState`, `torch_noise`,
`torch_cuda_states`, and `onnx_philox.openvino.pytorch_extensions`.
"""
