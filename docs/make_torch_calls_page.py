"""Writes docs/torchs-calls.md from the table of torch's calls.

python docs/make_torch_calls_page.py          write it
python docs/make_torch_calls_page.py --check  exit 1 if it is not what would be written
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from onnx_philox._contract.operators import RANDOM_BERNOULLI, RANDOM_DROPOUT
from onnx_philox._torch.calls.table import CALLS, ONNX, OPENVINO, Refusal, TorchCall

# All dropout, attention's too.
_BOOLEANS = (RANDOM_BERNOULLI, RANDOM_DROPOUT)
PAGE = Path(__file__).with_name("torchs-calls.md")
HEAD = """\
# Torch's random calls, on each way to a runtime

There are three ways to bring a PyTorch module to a runtime: export a file with
`onnx_philox.torch.export`, which ONNX Runtime and OpenVINO load; or call `openvino.convert_model`
with `openvino.pytorch_extensions()`, on an exported program or on a trace. Each call below draws
the same numbers in all three, also in its form with an underscore, with `out=` or
`generator=None`. The column *torch's numbers* says whether
[`alignment="pytorch"`](torchs-numbers.md) draws it. This page is made from the table that both
front ends read (`python docs/make_torch_calls_page.py`).

| call | drawn by | file of ONNX | converted by OpenVINO | torch's numbers |
|---|---|---|---|---|
"""

NOTES = """\
## What differs

- OpenVINO's front end converts no trace of what torch.distributions make of gammas (`Gamma`,
  `Chi2`, `StudentT` and others), nor `ContinuousBernoulli`, nor an exported program that returns a
  tensor twice. ONNX Runtime has no kernels for what torch decomposes `alpha_dropout` of bf16 into.
- A `torch.Generator` is refused, and so are complex types in a trace. `torch.normal` of two types
  gives the mean's, as torch itself does.
- Probabilities, weights, alphas and rates of f16 and bf16 are cast to f32. Those of f64 draw as
  f64 in ONNX Runtime; OpenVINO takes them as constants only, and refuses others.
- What surrounds a draw of bf16 is computed in f32, so that ONNX Runtime loads it. What torch
  itself decomposes in bf16 beside our draws (`x * 2`, say, or a Gemm of `torch.autocast`) needs
  kernels that ONNX Runtime lacks: export the module in f32, or run the file in OpenVINO, which
  [rounds some casts in its own way](limits.md#openvino).
- An LSTM with `proj_size` makes a file by torch's exporter that no runtime loads. With dropout
  between its layers `export` refuses it; an exported program is converted by OpenVINO.
- A traced module must not write a draw into a part of another tensor: it is refused, since OpenVINO
  would lose it. An exported program may, but by `as_strided` and `diagonal`.
- `torch.distributions` draw by other calls under a tracer than outside it, and `export` switches
  their checks of arguments off. Where you call `torch.export.export` or `torch.jit.trace` yourself,
  call before `torch.distributions.Distribution.set_default_validate_args(False)`: a
  `validate_args=False` does not reach those that others, as `StudentT`, make inside.

"""

NO_RULE = """\
## Refused with torch's numbers

With `alignment="pytorch"`: no operator draws them by torch's rule. Of `multinomial` that is so for
weights of f16 and bf16 alone.

"""


def page() -> str:
    """The whole page."""
    calls = [call for call in CALLS.values() if call.namespace == "aten"]
    refused = [line for call in calls for line in refusals(call)]
    remedy: dict[str, list[str]] = {}
    for call in calls:
        remedy.setdefault(call.instead or "", []).append(f"`{call.name}`")
    instead = [f"- {', '.join(names)}: {what}" for what, names in remedy.items() if what]
    alike: dict[tuple[str, ...], list[str]] = {}
    for call in calls:
        alike.setdefault(cells(call), []).append(f"`{call.name}`")
    table = [row(names, each) for each, names in alike.items()]
    rows, lines, remedies = ("\n".join(each) for each in (table, refused, instead))
    return f"{HEAD}{rows}\n\n{NOTES}## Refused\n\n{lines}\n\n{NO_RULE}{remedies}\n"


def row(names: list[str], said: Sequence[str]) -> str:
    """The line of the calls that have these cells."""
    return f"| {' | '.join((', '.join(names), *said))} |"


def cells(call: TorchCall) -> tuple[str, ...]:
    """What is said of a call."""
    return (
        "" if call.operator is None else f"`{call.operator.name}`",
        written(call, ONNX),
        written(call, OPENVINO),
        "yes" if call.is_its_rule or call.operator in _BOOLEANS else "no",
    )


def written(call: TorchCall, writer: str) -> str:
    """What a writer does with a call."""
    if writer in call.refused:
        return "refused"
    return "as torch decomposes it" if writer == ONNX and call.decomposed else "drawn"


def refusals(call: TorchCall) -> list[str]:
    """What is refused of a call, each reason once."""
    reasons: dict[Refusal, list[str]] = {why: [] for why in call.refused.values()}
    for writer, why in call.refused.items():
        reasons[why].append({ONNX: "in files of ONNX", OPENVINO: "by OpenVINO's front end"}[writer])
    return [
        f"- `{call.name}`, {' and '.join(where)}: {why.reason}. {why.remedy}"
        for why, where in reasons.items()
    ]


if __name__ == "__main__":
    if sys.argv[1:] == ["--check"]:
        if PAGE.read_text() != page():
            sys.exit(f"{PAGE.name} is not what the table says: run {Path(__file__).name}")
    else:
        PAGE.write_text(page())
