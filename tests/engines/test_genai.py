"""`openvino.genai_generator`, in the real OpenVINO GenAI: `pytest -m engines`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import openvino as ov
import pytest
from openvino import opset13 as ops

from onnx_philox import PhiloxState, reference, torch_noise
from onnx_philox import openvino as op
from onnx_philox.diffusers import Like
from tests.common.cases import assert_refused, assert_same_bits
from tests.common.openvino_models import model, parameter

CONFIG = {
    "in_channels": 3,
    "latent_channels": 3,
    "out_channels": 3,
    "scaling_factor": 1.0,
    "shift_factor": 0.0,
    "block_out_channels": [4],
}


def normals(
    shape: list[int],
    state: np.ndarray,
) -> tuple[np.ndarray, np.ndarray]:
    return reference.random_normal(shape, 0, 1, "f32", state=state)


def saved(
    given: str,
    taken: str,
    folder: Path,
) -> tuple[str, ov.Tensor]:
    """A model of GenAI's that says: mean 0, logarithm of the variance 0."""
    image = parameter(given, [-1, 3, -1, -1])
    zeros = ops.multiply(image, np.float32(0))
    made = model({taken: ops.concat([zeros, zeros], 1)}, [image])
    ov.save_model(made, folder / "m.xml", compress_to_fp16=False)
    weights = np.fromfile(folder / "m.bin", np.uint8)
    return (folder / "m.xml").read_text(), ov.Tensor(weights)


@pytest.mark.engines
def test_an_autoencoder_of_genai_samples_our_normals(tmp_path: Path) -> None:
    import openvino_genai

    (tmp_path / "config.json").write_text(json.dumps(CONFIG))
    config = openvino_genai.AutoencoderKL.Config(tmp_path / "config.json")
    encoder = saved("sample", "latent_parameters", tmp_path)
    decoder = saved("latent_sample", "sample", tmp_path)
    coder = openvino_genai.AutoencoderKL(*encoder, *decoder, config, "CPU")
    image = ov.Tensor(np.zeros((1, 3, 4, 4), np.float32))
    generator = op.genai_generator(42)
    state = PhiloxState.for_run(42).to_array()
    for _ in range(2):
        expected, state = normals([1, 3, 4, 4], state)
        assert_same_bits(np.array(coder.encode(image, generator).data), expected)


@pytest.mark.engines
def test_a_generator_goes_on_and_begins_again_with_a_seed() -> None:
    generator = op.genai_generator(2**64 - 1)
    first, state = normals([2, 3], PhiloxState.for_run(2**64 - 1).to_array())
    assert_same_bits(np.array(generator.randn_tensor(ov.Shape([2, 3])).data), first)
    expected = normals([1], state)[0][0]
    assert generator.next() == expected
    generator.seed(2**64 - 1)
    assert_same_bits(np.array(generator.randn_tensor(ov.Shape([2, 3])).data), first)


@pytest.mark.engines
@pytest.mark.parametrize(
    ("seed", "words"),
    [
        (-1, "seed must be an integer from 0 to 2^64-1: got -1"),
        ([], "seed must be one seed or more: got an empty sequence"),
        (True, "TypeError: must be an integer ...: got True"),
    ],
)
def test_what_is_no_seed_is_refused(seed: Any, words: str) -> None:
    assert_refused(lambda: op.genai_generator(seed), words)


@pytest.mark.engines
@pytest.mark.parametrize("like", ["philox", "torch"])
def test_next_draws_for_each_image_in_turn_what_its_seed_draws_alone(like: Like) -> None:
    together, *alone = (op.genai_generator(seed, like=like) for seed in ([7, 42], 7, 42))
    expected = [image.next() for _ in range(2) for image in alone]
    assert [together.next() for _ in range(4)] == expected
    together.next()
    # A tensor begins a new turn, so what it draws does not end up in another image.
    tensor = np.array(together.randn_tensor(ov.Shape([2, 3])).data)
    for row, image in zip(tensor, alone, strict=True):
        image.next()
        assert_same_bits(row, np.array(image.randn_tensor(ov.Shape([3])).data))
    assert [together.next() for _ in range(2)] == [image.next() for image in alone]


@pytest.mark.engines
def test_a_generator_like_torch_draws_what_genai_s_own_of_torch_draws() -> None:
    import openvino_genai

    ours = op.genai_generator(42, like="torch")
    theirs = openvino_genai.TorchGenerator(42)
    for _ in range(2):
        for shape in ([1, 4, 8, 8], [3, 7], [5]):
            expected = np.array(theirs.randn_tensor(ov.Shape(shape)).data)
            assert_same_bits(np.array(ours.randn_tensor(ov.Shape(shape)).data), expected)
        assert ours.next() == theirs.next()
        for generator in (ours, theirs):
            generator.seed(7)
    card = op.genai_generator(42, like="torch_cuda", gpu=(132, 2048))
    made = np.array(card.randn_tensor(ov.Shape([2, 3])).data)
    assert_same_bits(made, torch_noise(42, [2, 3], device="cuda"))


def text_to_image(folder: Path) -> None:
    """A pipeline of Stable Diffusion: of tiny models, whose UNet says that there is no noise."""
    text = parameter("string_input", [-1], ov.Type.string)
    tokens = ops.concat([ops.shape_of(text), np.array([4])], 0)
    ids = parameter("input_ids", [-1, -1], ov.Type.i64)
    hidden = ops.relu(
        ops.gather(
            np.zeros((10, 8), np.float32),
            ids,
            np.array(0),
        )
    )
    sample, latent = (parameter(name, [-1, 4, -1, -1]) for name in ("sample", "latent_sample"))
    step = parameter("timestep", [-1], ov.Type.i64)
    states = parameter("encoder_hidden_states", [-1, -1, 8])
    noise = ops.multiply(sample, np.float32(0))
    for other, rank in ((ops.convert(step, "f32"), 1), (states, 3)):
        nothing = ops.multiply(ops.reduce_sum(other, np.arange(rank)), np.float32(0))
        noise = ops.add(noise, nothing)
    pooled = ops.reduce_mean(hidden, np.array(1))
    models = {
        "tokenizer/openvino_tokenizer": model(
            {n: ops.broadcast(np.array(1), tokens) for n in ("input_ids", "attention_mask")}, [text]
        ),
        "text_encoder/openvino_model": model(
            {"last_hidden_state": hidden, "pooler_output": pooled}, [ids]
        ),
        "unet/openvino_model": model({"out_sample": noise}, [sample, step, states]),
        "vae_decoder/openvino_model": model(
            {"sample": ops.slice(latent, [0], [3], [1], [1])}, [latent]
        ),
    }
    for name, made in models.items():
        (folder / name).parent.mkdir()
        ov.save_model(made, folder / f"{name}.xml", compress_to_fp16=False)
    (folder / "scheduler").mkdir()
    encoder = {"max_position_embeddings": 4, "num_hidden_layers": 1, "hidden_size": 8}
    unet = {"in_channels": 4, "sample_size": 8, "time_cond_proj_dim": None}
    scheduler = {"_class_name": "DDIMScheduler", "steps_offset": 1, "clip_sample": False}
    configs = {
        "text_encoder/config": encoder,
        "unet/config": unet | {"cross_attention_dim": 8},
        "vae_decoder/config": CONFIG | {"latent_channels": 4},
        "scheduler/scheduler_config": scheduler,
        "model_index": {
            "_class_name": "StableDiffusionPipeline",
            "scheduler": ["diffusers", "DDIMScheduler"],
            "text_encoder": ["transformers", "CLIPTextModel"],
            "tokenizer": ["transformers", "CLIPTokenizer"],
            "unet": ["diffusers", "UNet2DConditionModel"],
            "vae": ["diffusers", "AutoencoderKL"],
        },
    }
    for name, config in configs.items():
        (folder / f"{name}.json").write_text(json.dumps(config))


@pytest.mark.engines
def test_a_text_to_image_pipeline_of_genai_begins_with_our_normals(tmp_path: Path) -> None:
    import openvino_genai

    text_to_image(tmp_path)
    pipe = openvino_genai.Text2ImagePipeline(tmp_path, "CPU")

    def first_latents(seed: int | list[int], count: int) -> np.ndarray:
        seen: list[np.ndarray] = []

        def look(step: int, _steps: int, latent: ov.Tensor) -> bool:
            if step == 0:
                seen.append(np.array(latent.data))
            return step == 0

        # Its thread for callbacks may begin at a later step, or when all is done.
        for _ in range(500):
            pipe.generate(
                "",
                width=8,
                height=8,
                num_inference_steps=2,
                num_images_per_prompt=count,
                guidance_scale=1.0,
                generator=op.genai_generator(seed),
                callback=look,
            )
            if seen:
                break
        return seen[0]

    # Where the UNet finds no noise, the scheduler multiplies by one number.
    scaled = first_latents(42, 1)
    expected, _ = normals([1, 4, 8, 8], PhiloxState.for_run(42).to_array())
    factor = scaled.flat[0] / expected.flat[0]
    assert 1 < factor < 3
    np.testing.assert_allclose(scaled, expected * factor, rtol=1e-6)
    # An image is the same in a request of several.
    assert_same_bits(first_latents([7, 42], 2)[1:], scaled)
