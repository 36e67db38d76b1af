"""All cases."""

from __future__ import annotations

from tests.torch_numbers.torch_walk import (
    cases_discrete,
    cases_distributions,
    cases_dropout,
    cases_graphs,
    cases_normal,
    cases_uniform,
)
from tests.torch_numbers.torch_walk.case import Case
from tests.torch_numbers.torch_walk.modules import MODULES

_ROOMS = (
    cases_uniform,
    cases_normal,
    cases_discrete,
    cases_dropout,
    cases_graphs,
    cases_distributions,
)

CASES: dict[str, Case] = {case.name: case for room in _ROOMS for case in room.TABLE.cases}
ALL: dict[str, Case] = CASES | MODULES

assert len(CASES) == sum(len(room.TABLE.cases) for room in _ROOMS), "a name stands twice"

INSIDE = {
    "alpha_dropout",
    "alpha_dropout_",
    "dropout",
    "dropout_",
    "feature_alpha_dropout",
    "feature_alpha_dropout_",
    "feature_dropout",
    "feature_dropout_",
    "gru",
    "lstm",
    "rnn_relu",
    "rnn_tanh",
    "rrelu",
    "rrelu_",
    "scaled_dot_product_attention",
}
"""Operations whose draws torch makes by another one: their cases are known by name."""

FUNCTIONAL = {
    "cauchy",
    "exponential",
    "geometric",
    "log_normal",
    "normal_functional",
    "random",
    "rrelu_with_noise_functional",
    "uniform",
}
"""What exporters make of calls in place; no module can call them."""

MIXES_ROWS = (
    "gumbel_softmax",
    "scaled_dot_product_attention",
    "RelaxedOneHotCategorical.sample",
    "rand_like memory_format=channels_last",
    "dropout of channels_last",
    "dropout1d",
    "dropout2d",
    "dropout3d",
    "feature_alpha_dropout",
    "a view taken",
    "Bandit",
    "DropBlock",
    "_sample_dirichlet",
    "Dirichlet.",
)
"""What computes along the batch, or cuts it, where that is dimension 1."""

NOT_WALKED = {
    "_cudnn_attention_backward",
    "_cudnn_attention_forward",
    "_cudnn_init_dropout_state",
    # From torch 2.15 on.
    "_cudnn_attention_forward_no_dropout_inplace",
    "_cudnn_rnn",
    "_efficient_attention_forward",
    "_fill_mem_eff_dropout_mask_",
    "_flash_attention_forward",
    "_flash_attention_forward_no_dropout_inplace",
    "_fused_dropout",
    "_fused_sdp_choice",
    "_lstm_mps",
    "_nested_tensor_softmax_with_shape",
    "_scaled_dot_product_attention_math",
    "_scaled_dot_product_attention_math_for_mps",
    "_scaled_dot_product_cudnn_attention",
    "_scaled_dot_product_cudnn_attention_backward",
    "_scaled_dot_product_efficient_attention",
    "_triton_scaled_dot_attention",
    "miopen_rnn",
    "_scaled_dot_product_efficient_attention_backward",
    "_scaled_dot_product_flash_attention",
    "_scaled_dot_product_flash_attention_for_cpu",
    "_scaled_dot_product_fused_attention_overrideable",
}
"""Operations of other devices, and the insides of attention."""
