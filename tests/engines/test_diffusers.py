"""`onnx_philox.diffusers`: noise for pipelines, and a real one of diffusers (`-m engines`)."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any, cast

import numpy as np
import onnxruntime
import pytest
from onnx import parser

from onnx_philox import PhiloxState, diffusers, reference, row_states
from tests.common.cases import assert_same_bits

UNET = """<ir_version: 8, opset_import: ["": 17]>
g (float[b, 4, h, w] sample, int64[1] timestep, float[b, t, 8] encoder_hidden_states)
=> (float[b, 4, h, w] noise) { noise = Tanh (sample) }"""
DECODER = """<ir_version: 8, opset_import: ["": 17]>
g (float[b, 4, h, w] latent_sample) => (float[b, 3, h, w] sample)
<int64[1] zero = {0}, int64[1] three = {3}, int64[1] axis = {1}> {
  sample = Slice (latent_sample, zero, three, axis)
}"""


def test_a_generator_draws_random_normal_and_goes_on() -> None:
    generator = diffusers.generator(2**64 - 1)
    state = PhiloxState.for_run(2**64 - 1).to_array()
    for shape in ([2, 3], [5]):
        expected, state = reference.random_normal(shape, 0, 1, "f32", state=state)
        assert_same_bits(generator.randn(*shape), expected)
    assert_same_bits(generator.state, state)


def test_rows_are_independent_and_go_on() -> None:
    seeds = [7, 2**64 - 1, 99]
    together = diffusers.generator(seeds)
    alone = diffusers.generator([seeds[1]])
    one = diffusers.generator(seeds[1])
    for _ in range(2):
        rows = together.randn(3, 4, 5)
        assert_same_bits(rows[1:2], alone.randn(1, 4, 5))
        assert_same_bits(rows[1:2], one.randn(1, 4, 5))
    assert_same_bits(diffusers.latents(seeds, (4, 5)), diffusers.generator(seeds).randn(3, 4, 5))
    assert_same_bits(diffusers.latents(7, (4, 5))[0], diffusers.latents(seeds, (4, 5))[0])
    expected = reference.random_normal([3, 4, 5], 0, 1, "f32", state=row_states(seeds))[0]
    assert_same_bits(diffusers.latents(seeds, (4, 5)), expected)


@pytest.mark.engines
def test_an_onnx_pipeline_of_diffusers_makes_each_image_as_if_alone() -> None:
    with warnings.catch_warnings():
        # It was deprecated in favour of Optimum, which takes latents.
        warnings.simplefilter("ignore")
        from diffusers import DDIMScheduler, OnnxRuntimeModel, OnnxStableDiffusionPipeline

        def model(text: str) -> OnnxRuntimeModel:
            given = parser.parse_model(text).SerializeToString()
            return OnnxRuntimeModel(onnxruntime.InferenceSession(given))

        pipe = OnnxStableDiffusionPipeline(
            vae_encoder=None,
            vae_decoder=model(DECODER),
            text_encoder=None,
            tokenizer=None,
            unet=model(UNET),
            scheduler=DDIMScheduler(steps_offset=1, clip_sample=False),
            safety_checker=None,
            feature_extractor=None,
            requires_safety_checker=False,
        )
        pipe.set_progress_bar_config(disable=True)

        def images(count: int, **noise: Any) -> np.ndarray:
            return pipe(
                prompt_embeds=np.zeros((count, 3, 8), np.float32),
                height=64,
                width=64,
                num_inference_steps=2,
                guidance_scale=1.0,
                output_type="np",
                **noise,
            ).images

        generator = diffusers.generator([7, 42, 99])
        together = images(3, generator=generator)
        # Each pixel is computed by itself, so that these are equal to the bit.
        expected = images(1, generator=diffusers.generator(42))
        assert_same_bits(together[1:2], expected)
        latents = diffusers.latents([7, 42, 99], (4, 8, 8))
        expected = images(3, latents=latents)
        assert_same_bits(together, expected)
        assert not np.array_equal(together[0], together[1])


def test_a_generator_given_to_torch_says_what_to_pass() -> None:
    for like in ("philox", "torch"):
        with pytest.raises(
            AttributeError, match=r"Pass the noise itself: latents=torch\.from_numpy"
        ):
            diffusers.generator(1, like=like).device  # noqa: B018


@pytest.mark.engines
def test_diffusers_randn_tensor_says_to_pass_the_noise() -> None:
    from diffusers.utils.torch_utils import randn_tensor

    with pytest.raises(AttributeError, match="Pass the noise itself"):
        randn_tensor((1, 4), generator=diffusers.generator(1))


@pytest.mark.engines
@pytest.mark.parametrize("like", ["philox", "torch", "torch_cuda"])
def test_torch_says_what_to_take_instead(like: diffusers.Like) -> None:
    import torch

    given = diffusers.generator(1, like=like)
    # Typed as torch's, whose checker refuses it as torch does.
    generator: torch.Generator = cast("Any", given)
    calls: list[Callable[[], torch.Tensor]] = [
        lambda: torch.randn(3, generator=generator),
        lambda: torch.empty(3).normal_(generator=generator),
        lambda: torch.multinomial(torch.ones(3), 1, generator=generator),
    ]
    sentence = (
        r"torch's \w+: the generator must be one of torch's: got one of onnx_philox\. "
        r"Pass nothing, and take normals from it: torch\.from_numpy\(generator\.randn"
    )
    for call in calls:
        with pytest.raises(TypeError, match=sentence):
            call()
    # The remedy works, and no call above has drawn.
    expected = diffusers.latents(1, (2, 3), like=like)[0]
    assert_same_bits(torch.from_numpy(given.randn(2, 3)).numpy(), expected)
