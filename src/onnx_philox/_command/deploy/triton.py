"""Triton Inference Server, with its onnxruntime backend."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import onnx

from onnx_philox._command.deploy.served import Served, Tensor, known
from onnx_philox._runtimes.port import ArgumentError

# The most requests that Triton merges: a first guess, for users to tune.
_MAX_BATCH = 64
_TYPES: dict[int, str] = {
    onnx.TensorProto.BOOL: "BOOL",
    onnx.TensorProto.UINT8: "UINT8",
    onnx.TensorProto.UINT16: "UINT16",
    onnx.TensorProto.UINT32: "UINT32",
    onnx.TensorProto.UINT64: "UINT64",
    onnx.TensorProto.INT8: "INT8",
    onnx.TensorProto.INT16: "INT16",
    onnx.TensorProto.INT32: "INT32",
    onnx.TensorProto.INT64: "INT64",
    onnx.TensorProto.FLOAT16: "FP16",
    onnx.TensorProto.FLOAT: "FP32",
    onnx.TensorProto.DOUBLE: "FP64",
    onnx.TensorProto.STRING: "STRING",
    onnx.TensorProto.BFLOAT16: "BF16",
}


START, ID = "sequence_start", "sequence_id"
"""The inputs that Triton itself fills: whether a sequence begins, and its number."""


def configuration(served: Served, models: Path) -> tuple[Path, str]:
    """The model's `config.pbtxt`.

    Raises:
        ArgumentError: An input or output has a type that Triton lacks, or an unknown rank.
    """
    is_batched = served.is_batched
    kept = served.sequences
    # Requests do not pass what Triton keeps or fills itself.
    inputs = [i for i in served.inputs if not (kept and i.name in (kept.state, START, ID))]
    lines = [
        f"name: {_text(served.name)}",
        'backend: "onnxruntime"',
        f"max_batch_size: {_MAX_BATCH if is_batched else 0}",
        *(_port("input", tensor, is_batched) for tensor in inputs),
        *(_port("output", tensor, is_batched) for tensor in served.outputs),
        *([_SEQUENCES.format(_text(kept.state), _text(kept.next_state))] if kept else []),
        *(["dynamic_batching { }"] if is_batched and not kept else []),
        f"model_operations {{ op_library_filename: {_text(str(served.library))} }}",
    ]
    return models / served.name / "config.pbtxt", "\n".join(lines) + "\n"


# "oldest" merges requests of different sequences.
_SEQUENCES = f"""\
sequence_batching {{{{
  oldest {{{{ }}}}
  control_input {{{{
    name: "{START}" control {{{{ kind: CONTROL_SEQUENCE_START bool_false_true: [false, true] }}}}
  }}}}
  control_input {{{{
    name: "{ID}" control {{{{ kind: CONTROL_SEQUENCE_CORRID data_type: TYPE_INT64 }}}}
  }}}}
  state {{{{ input_name: {{}} output_name: {{}} data_type: TYPE_UINT32 dims: [6] }}}}
}}}}"""


def start(served: Served) -> str:
    """The command that starts it."""
    return f"tritonserver --model-repository={shlex.quote(str(served.folder))}"


def _port(kind: str, tensor: Tensor, is_batched: bool) -> str:
    if tensor.type not in _TYPES or tensor.shape is None:
        what = "an unknown rank" if tensor.type in _TYPES else "a type that Triton lacks"
        raise ArgumentError(
            f"the {kind} {tensor.name!r} must be a tensor of known rank and one of "
            f"{', '.join(_TYPES.values())}: got {what}. Give it a shape, or cast it in the model."
        )
    dims = known(tensor.shape[1:] if is_batched else tensor.shape)
    # Triton adds the batch to each shape, but takes no shape without dimensions.
    reshape = " reshape { shape: [ ] }" if not dims else ""
    words = f"name: {_text(tensor.name)} data_type: TYPE_{_TYPES[tensor.type]}"
    return f"{kind} {{ {words} dims: {dims or [1]}{reshape} }}"


def _text(name: str) -> str:
    """A string in protobuf's text format: JSON's, which must not escape what is not ASCII."""
    return json.dumps(name, ensure_ascii=False)
