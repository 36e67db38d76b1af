"""`openvino.genai_generator`, in the real OpenVINO GenAI: `pytest -m engines`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import child
import numpy as np
import openvino as ov
import pytest
from cases import assert_same_bits
from openvino import opset13

from onnx_philox import PhiloxState, reference, torch_noise
from onnx_philox import openvino as op
from onnx_philox.diffusers import Like

CONFIG = {
    "in_channels": 3,
    "latent_channels": 3,
    "out_channels": 3,
    "scaling_factor": 1.0,
    "shift_factor": 0.0,
    "block_out_channels": [4],
}


def normals(shape: list[int], state: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    return reference.random_normal(shape, 0, 1, "f32", state=state)


def saved(name: str, given: str, taken: str, folder: Path) -> tuple[str, ov.Tensor]:
    """A model of GenAI's that says: mean 0, logarithm of the variance 0."""
    image = opset13.parameter([-1, 3, -1, -1], ov.Type.f32, name=given)
    zeros = opset13.multiply(image, np.float32(0))
    last = opset13.concat([zeros, zeros], 1)
    last.output(0).set_names({taken})
    ov.save_model(ov.Model([last], [image], name), folder / "m.xml", compress_to_fp16=False)
    weights = np.fromfile(folder / "m.bin", np.uint8)
    return (folder / "m.xml").read_text(), ov.Tensor(weights)


@pytest.mark.engines
def test_an_autoencoder_of_genai_samples_our_normals(tmp_path: Path) -> None:
    import openvino_genai

    (tmp_path / "config.json").write_text(json.dumps(CONFIG))
    config = openvino_genai.AutoencoderKL.Config(tmp_path / "config.json")
    encoder = saved("encoder", "sample", "latent_parameters", tmp_path)
    decoder = saved("decoder", "latent_sample", "sample", tmp_path)
    model = openvino_genai.AutoencoderKL(*encoder, *decoder, config, "CPU")
    image = ov.Tensor(np.zeros((1, 3, 4, 4), np.float32))
    generator = op.genai_generator(42)
    state = PhiloxState.for_run(42).to_array()
    for _ in range(2):
        expected, state = normals([1, 3, 4, 4], state)
        assert_same_bits(np.array(model.encode(image, generator).data), expected)


@pytest.mark.engines
def test_a_generator_goes_on_and_begins_again_with_a_seed() -> None:
    generator = op.genai_generator(2**64 - 1)
    first, state = normals([2, 3], PhiloxState.for_run(2**64 - 1).to_array())
    assert_same_bits(np.array(generator.randn_tensor(ov.Shape([2, 3])).data), first)
    assert generator.next() == normals([1], state)[0][0]
    generator.seed(2**64 - 1)
    assert_same_bits(np.array(generator.randn_tensor(ov.Shape([2, 3])).data), first)
    with pytest.raises(ValueError, match=r"seed must be an integer from 0 to 2\^64-1: got -1"):
        op.genai_generator(-1)
    with pytest.raises(ValueError, match=r"seed must be one seed or more: got an empty sequence"):
        op.genai_generator([])


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

    ours, theirs = op.genai_generator(42, like="torch"), openvino_genai.TorchGenerator(42)
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

    def save(
        name: str, model: ov.Model, config: dict[str, Any] | None, file: str = "model"
    ) -> None:
        (folder / name).mkdir()
        ov.save_model(model, folder / name / f"openvino_{file}.xml", compress_to_fp16=False)
        if config is not None:
            (folder / name / "config.json").write_text(json.dumps(config))

    def given(name: str, shape: list[int], type: ov.Type) -> ov.Node:
        parameter = opset13.parameter(shape, type, name=name)
        parameter.output(0).set_names({name})
        return parameter

    def taken(node: ov.Node, name: str) -> ov.Node:
        node.output(0).set_names({name})
        return node

    def nothing_of(node: ov.Node) -> ov.Node:
        axes = np.arange(len(node.get_output_partial_shape(0)))
        return opset13.multiply(opset13.reduce_sum(node, axes), np.float32(0))

    text = given("string_input", [-1], ov.Type.string)
    tokens = opset13.concat([opset13.shape_of(text), np.array([4])], 0)
    outputs = [
        taken(opset13.broadcast(np.array(1), tokens), name)
        for name in ("input_ids", "attention_mask")
    ]
    save("tokenizer", ov.Model(outputs, [text], "tokenizer"), None, "tokenizer")
    ids = given("input_ids", [-1, -1], ov.Type.i64)
    embedded = opset13.gather(np.zeros((10, 8), np.float32), ids, np.array(0))
    hidden = taken(opset13.relu(embedded), "last_hidden_state")
    pooled = taken(opset13.reduce_mean(hidden, np.array(1)), "pooler_output")
    text_config = {"max_position_embeddings": 4, "num_hidden_layers": 1, "hidden_size": 8}
    save("text_encoder", ov.Model([hidden, pooled], [ids], "text"), text_config)
    sample = given("sample", [-1, 4, -1, -1], ov.Type.f32)
    step = given("timestep", [-1], ov.Type.i64)
    states = given("encoder_hidden_states", [-1, -1, 8], ov.Type.f32)
    noise = opset13.multiply(sample, np.float32(0))
    for other in (opset13.convert(step, "f32"), states):
        noise = opset13.add(noise, nothing_of(other))
    unet = ov.Model([taken(noise, "out_sample")], [sample, step, states], "unet")
    unet_config = {"in_channels": 4, "sample_size": 8, "time_cond_proj_dim": None}
    save("unet", unet, unet_config | {"cross_attention_dim": 8})
    latent = given("latent_sample", [-1, 4, -1, -1], ov.Type.f32)
    image = opset13.slice(latent, [0], [3], [1], [1])
    save(
        "vae_decoder",
        ov.Model([taken(image, "sample")], [latent], "vae"),
        CONFIG | {"latent_channels": 4},
    )
    (folder / "scheduler").mkdir()
    scheduler = {"_class_name": "DDIMScheduler", "steps_offset": 1, "clip_sample": False}
    (folder / "scheduler" / "scheduler_config.json").write_text(json.dumps(scheduler))
    index = {
        "_class_name": "StableDiffusionPipeline",
        "scheduler": ["diffusers", "DDIMScheduler"],
        "text_encoder": ["transformers", "CLIPTextModel"],
        "tokenizer": ["transformers", "CLIPTokenizer"],
        "unet": ["diffusers", "UNet2DConditionModel"],
        "vae": ["diffusers", "AutoencoderKL"],
    }
    (folder / "model_index.json").write_text(json.dumps(index))


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


def test_without_genai_the_extra_is_named() -> None:
    code = (
        "import sys; sys.modules['openvino_genai'] = None; "
        "import onnx_philox; onnx_philox.openvino.genai_generator(1)"
    )
    done = child.python("-c", code, code=None)
    assert "needs OpenVINO GenAI: pip install 'onnx-philox[genai]'" in done.stderr


@pytest.mark.engines
def test_true_is_no_seed() -> None:
    with pytest.raises(TypeError, match=r"must be an integer .*: got True"):
        op.genai_generator(True)
