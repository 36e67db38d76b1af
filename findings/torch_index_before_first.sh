#!/usr/bin/env bash
# PyTorch 2.13.0's TorchScript exporter to ONNX (dynamo=False), and openvino.convert_model of OpenVINO 2026.4.1: x[torch.arange(n), i],
# "an element of each row", with an index that is negative in a row (as lengths - 1 of an empty sequence is).
# Expected, as torch computes it: -1 is the last element of the same row.
# So is: both write one index of the flattened tensor, row * length + i, so that -1 takes the last element of the row before, without
# an error; in row 0 the last of all. The exporter with dynamo=True writes a GatherND, which agrees with torch.
# Date: 29 November 2026. Source: the runs below. Output seen: torch and dynamo [0, 7, 9], TorchScript and OpenVINO [0, 3, 9].
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet torch==2.13.0 onnx==1.23.2 onnxscript==0.7.2 onnxruntime==1.32.0 openvino==2026.4.1 \
  --extra-index-url https://download.pytorch.org/whl/cpu
cat >"$folder/show.py" <<'PY'
import warnings

import onnxruntime
import openvino as ov
import torch

warnings.simplefilter("ignore")


class Picked(torch.nn.Module):
    def forward(self, x, lengths):
        return x[torch.arange(x.shape[0]), lengths - 1]


x, lengths = torch.arange(12.0).reshape(3, 4, 1), torch.tensor([1, 0, 2])
feed = {"x": x.numpy(), "lengths": lengths.numpy()}
seen = {"torch": Picked()(x, lengths)}
for name, is_new in (("TorchScript", False), ("dynamo", True)):
    path = f"{name}.onnx"
    torch.onnx.export(Picked(), (x, lengths), path, dynamo=is_new, input_names=list(feed))
    seen[name] = onnxruntime.InferenceSession(path).run(None, feed)[0]
converted = ov.convert_model(Picked(), example_input=(x, lengths))
seen["OpenVINO"] = ov.compile_model(converted, "CPU")(list(feed.values()))[0]
found = {name: values.reshape(-1).tolist() for name, values in seen.items()}
print(found)
assert found["torch"] == found["dynamo"] == [0, 7, 9]
assert found["TorchScript"] == found["OpenVINO"] == [0, 3, 9]
PY
cd "$folder"
"$folder/venv/bin/python" "$folder/show.py"
