"""Torch's calls that draw, one entry each.

`torch`, `openvino`, the rewriter and the page docs/torchs-calls.md read this table, and
import no torch for it. What a call means is the function of its name in `meaning`; its
arguments and their defaults are those of torch's own schema.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NoReturn

from onnx_philox._contract.operators import (
    RANDOM_BERNOULLI,
    RANDOM_CATEGORICAL,
    RANDOM_DROPOUT,
    RANDOM_EXPONENTIAL,
    RANDOM_GAMMA,
    RANDOM_NORMAL,
    RANDOM_PERMUTATION,
    RANDOM_POISSON,
    RANDOM_UNIFORM,
    Operator,
)
from onnx_philox._contract.refusal import refuse

ONNX = "onnx"
OPENVINO = "openvino"
"""The writers: files of ONNX by torch's exporter, and OpenVINO's nodes by its PyTorch front end."""

_GENERATOR = ("default", "generator")
_UNIFORMS = ("RandomUniform", "RandomUniformLike", "RandomExponential")
_NORMALS = ("RandomNormal", "RandomNormalLike")
_BOOLEANS = ("Bernoulli", "Dropout", "RandomBernoulli", "RandomDropout", *_UNIFORMS)
_CLASSES = ("Multinomial", "RandomCategorical")


@dataclass(frozen=True)
class Refusal:
    """Why a writer does not write a call, and a road that works."""

    reason: str
    remedy: str


@dataclass(frozen=True)
class TorchCall:
    """A call of torch's that draws.

    Attributes:
        name: ATen's name, without the underscore of its form in place.
        operator: The operator of this package that draws; None if none does.
        overloads: The overloads that return a new tensor. Those with ``out`` come with them.
        in_place: The overloads of the form with an underscore, which writes into its tensor.
        exported: The operators that an exporter may draw it with; empty for any.
        written_out: Those that ours may write it out with, however many numbers they draw then.
        is_its_rule: Whether torch draws it by the very rule of the operator (alignment pytorch).
        shows_draw: Whether its result is what it draws.
        is_random: Whether the name alone says that it draws.
        decomposed: Whether torch's exporter writes it by other calls of this table.
        namespace: Of the operator in torch.
        refused: The writers that do not write it.
        instead: What to do where torch's numbers are asked for, and no rule draws them.
    """

    name: str
    operator: Operator | None = None
    overloads: tuple[str, ...] = ("default",)
    in_place: tuple[str, ...] = ()
    exported: tuple[str, ...] = ()
    written_out: tuple[str, ...] = ()
    is_its_rule: bool = False
    shows_draw: bool = False
    is_random: bool = True
    decomposed: bool = False
    namespace: str = "aten"
    refused: Mapping[str, Refusal] = field(default_factory=dict)
    instead: str = ""

    def check(self, writer: str) -> None:
        """Refuses the call where a writer does not write it."""
        if writer in self.refused:
            why = self.refused[writer]
            self.refuse("the call", self.name, f"another one, since {why.reason}", why.remedy)

    def refuse(self, *parts: Any) -> NoReturn:
        """Raises an error that names the call; its other parts are those of `refusal.refuse`."""
        refuse(f"aten::{self.name}", *parts)


def _everywhere(reason: str, remedy: str) -> dict[str, Refusal]:
    return dict.fromkeys((ONNX, OPENVINO), Refusal(reason, remedy))


_UNIFORM: dict[str, Any] = {"operator": RANDOM_UNIFORM, "exported": _UNIFORMS, "is_its_rule": True}
_NORMAL: dict[str, Any] = {"operator": RANDOM_NORMAL, "exported": _NORMALS}
_MASK: dict[str, Any] = {"operator": RANDOM_DROPOUT, "exported": _BOOLEANS}
_NOISE: dict[str, Any] = {
    "operator": RANDOM_BERNOULLI,
    "exported": _BOOLEANS,
    "in_place": ("default",),
    "decomposed": True,
}
_GEOMETRIC = (
    "Draw torch.poisson(torch.empty_like(x).exponential_(p / (1 - p))) + 1 for an x of floats, "
    "without alignment='pytorch': the same distribution, and the same integers everywhere."
)

_WITH_REJECTIONS = (
    "Leave alignment out: the file then draws the same distribution of Philox numbers."
)
_RRELU = (
    "Write it as torch.where(x < 0, x * torch.empty_like(x).uniform_(lower, upper), x): the same "
    "distribution."
)

_ENTRIES = (
    TorchCall("rand", overloads=_GENERATOR, shows_draw=True, **_UNIFORM),
    TorchCall("rand_like", overloads=_GENERATOR, shows_draw=True, **_UNIFORM),
    TorchCall("randn", overloads=_GENERATOR, is_its_rule=True, shows_draw=True, **_NORMAL),
    TorchCall("randn_like", overloads=_GENERATOR, is_its_rule=True, shows_draw=True, **_NORMAL),
    TorchCall(
        "randint",
        overloads=("default", "generator", "low", "low_generator"),
        shows_draw=True,
        **_UNIFORM,
    ),
    TorchCall(
        "randint_like",
        overloads=(
            "default",
            "generator",
            "low_dtype",
            "low_generator_dtype",
            "Tensor",
            "Tensor_generator",
        ),
        shows_draw=True,
        **_UNIFORM,
    ),
    TorchCall(
        "randperm",
        RANDOM_PERMUTATION,
        _GENERATOR,
        exported=("RandomPermutation",),
        is_its_rule=True,
        shows_draw=True,
    ),
    TorchCall("uniform", in_place=("default",), shows_draw=True, **_UNIFORM),
    TorchCall("uniform", namespace="prims", **_UNIFORM),
    TorchCall(
        "normal",
        overloads=("float_float", "Tensor_float", "float_Tensor", "Tensor_Tensor"),
        in_place=("default",),
        is_its_rule=True,
        shows_draw=True,
        **_NORMAL,
    ),
    TorchCall("normal_functional", is_its_rule=True, shows_draw=True, **_NORMAL),
    TorchCall("normal", namespace="prims", **_NORMAL),
    TorchCall(
        "exponential",
        RANDOM_EXPONENTIAL,
        in_place=("default",),
        exported=_UNIFORMS,
        is_its_rule=True,
        shows_draw=True,
    ),
    TorchCall(
        "log_normal",
        in_place=("default",),
        instead="Write it as torch.randn_like(x).mul(std).add(mean).exp(): the same distribution.",
        **_NORMAL,
    ),
    TorchCall(
        "cauchy",
        RANDOM_UNIFORM,
        in_place=("default",),
        exported=_UNIFORMS,
        instead="Write it as torch.rand_like(x).sub(0.5).mul(math.pi).tan().mul(sigma).add(median)"
        ": the same distribution.",
    ),
    TorchCall("poisson", RANDOM_POISSON, instead=_WITH_REJECTIONS),
    TorchCall(
        "_standard_gamma",
        RANDOM_GAMMA,
        instead=f"{_WITH_REJECTIONS} Where alpha is a whole number n, the sum of n draws of "
        "exponential_() has it too, by torch's numbers.",
    ),
    TorchCall(
        "_sample_dirichlet",
        RANDOM_GAMMA,
        instead=_WITH_REJECTIONS,
        refused={
            OPENVINO: Refusal(
                "it divides numbers of f64, which OpenVINO's CPU plugin does not compute",
                "Divide gammas (torch._standard_gamma) by their sum; or run the file of "
                "onnx_philox.torch.export in ONNX Runtime.",
            )
        },
    ),
    TorchCall(
        "bernoulli",
        RANDOM_BERNOULLI,
        ("default", "p", "Tensor"),
        in_place=("float", "Tensor"),
        exported=_BOOLEANS,
        is_its_rule=True,
        shows_draw=True,
    ),
    TorchCall(
        "multinomial",
        RANDOM_CATEGORICAL,
        exported=_CLASSES,
        # For torch's numbers: of several samples with replacement, or of weights in another order.
        written_out=(RANDOM_EXPONENTIAL.name, RANDOM_UNIFORM.name),
        is_its_rule=True,
        shows_draw=True,
        instead="Pass weights of f32: torch.multinomial(weights.float(), n).",
    ),
    TorchCall("dropout", in_place=("default",), **_MASK),
    TorchCall("native_dropout", shows_draw=True, **_MASK),
    TorchCall("alpha_dropout", **_NOISE),
    TorchCall("feature_dropout", **_NOISE),
    TorchCall("feature_alpha_dropout", **_NOISE),
    TorchCall("scaled_dot_product_attention", is_random=False, **_MASK),
    TorchCall(
        "geometric",
        in_place=("default",),
        exported=_UNIFORMS,
        refused=_everywhere(
            "two runtimes round the logarithm before its ceil differently", _GEOMETRIC
        ),
    ),
    TorchCall(
        "binomial",
        refused=_everywhere(
            "no operator draws it", "Sum torch.bernoulli of a tensor with one more dimension."
        ),
    ),
    TorchCall(
        "random",
        overloads=("default", "from", "to"),
        in_place=("default", "from", "to"),
        exported=_UNIFORMS,
        refused=_everywhere("its range is that of the tensor's type", "Draw with torch.randint."),
    ),
    TorchCall("rrelu", RANDOM_UNIFORM, in_place=("default",), exported=_UNIFORMS, instead=_RRELU),
    TorchCall("rrelu_with_noise_functional", RANDOM_UNIFORM, exported=_UNIFORMS, instead=_RRELU),
    TorchCall(
        "rrelu_with_noise",
        in_place=("default",),
        exported=_UNIFORMS,
        decomposed=True,
        refused={
            OPENVINO: Refusal(
                "it writes its noise into another tensor",
                "Call torch.nn.functional.rrelu; or multiply by torch.rand_like yourself.",
            )
        },
    ),
)

CALLS: dict[tuple[str, str], TorchCall] = {(c.namespace, c.name): c for c in _ENTRIES}
"""The entries, by their namespaces and names."""

_RANDOM_NAMES = frozenset(call.name.strip("_") for call in _ENTRIES if call.is_random)
# Where torch's exporters leave a function that they cannot write.
_DOMAIN = re.compile(r"torch|(^|[^a-z])(aten|(rng)?prims)([^a-z]|$)")

DRAWN_BY = {call.name: call.operator for call in _ENTRIES if call.is_its_rule}
"""What draws a call by torch's own rule."""

_BY_NAME = {call.name: call for call in reversed(_ENTRIES)}


def names_random(domain: str, name: str) -> bool:
    """Whether an operator of an exporter's is a call that draws, as its name says there."""
    call = name.partition(".")[0].strip("_")
    return bool(_DOMAIN.search(domain)) and (call in _RANDOM_NAMES or call == "uniform_helper")


def call_of(name: str) -> TorchCall | None:
    """The entry of a name of ATen's, in whatever form: ``uniform_``, ``rrelu_with_noise``."""
    return _BY_NAME.get(name) or _BY_NAME.get(name.rstrip("_"))
