"""`graphs/`: every recipe, run as a user runs it, in both runtimes; ONNX's runner on its cases."""

from __future__ import annotations

import contextlib
import dataclasses
import io
import runpy
import sys
import unittest
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import onnx
import pytest
from onnx.backend.base import Backend
from onnx.backend.test.loader import load_model_tests
from onnx.backend.test.runner import Runner
from onnx.reference import ReferenceEvaluator

import onnx_philox
from onnx_philox import PhiloxState, reference
from tests.common.cases import assert_all_same, assert_same_bits, load_vectors
from tests.common.real_models import load_in_onnxruntime, load_in_openvino
from tests.common.runtimes import RUNTIMES, OpenVino
from tests.common.standard_targets import loaded_in_onnxruntime, loaded_in_openvino

GALLERY = Path(__file__).parents[2] / "graphs"
CASES = GALLERY / "backend_tests"
RECIPES = (
    "documented_f32",
    "documented_f64",
    "documented_i32",
    "dropout_mask",
    "latents",
    "next_token",
    "noise_source",
    "random_crop",
)
DOCUMENTED = load_vectors("openvino")
# A key with high bits, and a counter about to carry into its second word.
STATE = PhiloxState(counter=2**32 - 3, key=0xFEDCBA9876543210)


class Gallery:
    """The models that the recipes saved, by name."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def path(self, name: str) -> Path:
        self.saved(name)
        return self._folder / f"{name}.onnx"

    @cache  # noqa: B019 (it lives as long as its module's tests)
    def saved(self, name: str) -> str:
        """What the recipe prints, run as a script."""
        path = str(GALLERY / f"{name}.py")
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(sys, "argv", [path, str(self._folder / f"{name}.onnx")])
            with contextlib.redirect_stdout(io.StringIO()) as out:
                runpy.run_path(path, run_name="__main__")
        return out.getvalue()

    def run(
        self,
        name: str,
        runtime: str,
        *,
        hint: str | None = "f32",
        **feed: Any,
    ) -> dict[str, np.ndarray]:
        """One run's outputs by name; `hint` is OpenVINO's precision, None its default."""
        if runtime == "onnxruntime":
            return load_in_onnxruntime(self.path(name), "auto")(feed)
        return load_in_openvino(OpenVino("auto"), self.path(name), hint)(feed)


@pytest.fixture(scope="module")
def gallery(tmp_path_factory: pytest.TempPathFactory) -> Gallery:
    return Gallery(tmp_path_factory.mktemp("gallery"))


def test_every_recipe_of_the_gallery_is_tested_here_and_listed_in_its_readme() -> None:
    assert {path.stem for path in GALLERY.glob("*.py")} == set(RECIPES)
    readme = (GALLERY / "README.md").read_text()
    assert all(f"{name}.py" in readme for name in RECIPES)


@pytest.mark.parametrize("name", RECIPES)
def test_a_recipe_saves_a_model_that_passes_the_full_check_and_says_so_in_two_lines(
    gallery: Gallery, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, _ = gallery.saved(name).splitlines()
    assert first.startswith(f"Saved {gallery.path(name)}: ")
    onnx_philox.register_schemas()
    onnx.checker.check_model(onnx.load(gallery.path(name)), full_check=True)
    # Without a path it says how to run it.
    path = str(GALLERY / f"{name}.py")
    monkeypatch.setattr(sys, "argv", [path])
    with pytest.raises(SystemExit) as ended:
        runpy.run_path(path, run_name="__main__")
    # A text is printed, and the exit code is 1.
    assert ended.value.code == f"usage: python {path} OUT.onnx"


@pytest.mark.parametrize("runtime", RUNTIMES)
@pytest.mark.parametrize("row", DOCUMENTED, ids=lambda row: row["type"])
def test_a_documented_example_gives_the_documented_numbers(
    gallery: Gallery, runtime: str, row: dict[str, Any]
) -> None:
    (values,) = gallery.run(f"documented_{row['type']}", runtime).values()
    # The specification prints 7 to 9 digits.
    np.testing.assert_allclose(values, row["printed"], rtol=0, atol=6e-8)
    given = row["arguments"] | {name: row[name] for name in ("global_seed", "op_seed")}
    exact, _ = reference.random_uniform(
        row["shape"],
        **given,
        output_type=row["type"],
    )
    np.testing.assert_array_equal(values, exact, strict=True)
    _, docstring, _ = (GALLERY / f"documented_{row['type']}.py").read_text().split('"""')
    numbers = [line.split() for line in docstring.splitlines() if line.startswith("    ")]
    assert [[float(n) for n in line] for line in numbers] == row["printed"]


@pytest.mark.parametrize("runtime", RUNTIMES)
def test_the_noise_source_draws_the_references_noise_and_goes_on_in_the_next_run(
    gallery: Gallery, runtime: str
) -> None:
    signal = np.sin(np.arange(256, dtype=np.float32))
    feed = {"signal": signal, "amplitude": np.array(0.25, np.float32)}
    state = STATE.to_array()
    for _ in range(3):
        noise, after = reference.random_uniform([256], -1, 1, "f32", state=state)
        got = gallery.run("noise_source", runtime, **feed, state=state)
        assert_all_same((got["noise"], got["next_state"]), (noise, after))
        np.testing.assert_allclose(
            got["noisy"],
            signal + 0.25 * noise,
            atol=1e-6,
        )
        state = after


@pytest.mark.parametrize("runtime", RUNTIMES)
@pytest.mark.parametrize("ratio", [0.0, 0.1, 0.5, 1.0])
def test_the_dropout_mask_keeps_where_the_references_uniform_reaches_the_ratio(
    gallery: Gallery, runtime: str, ratio: float
) -> None:
    x = np.linspace(
        -3,
        3,
        64 * 33,
        dtype=np.float32,
    ).reshape(64, 33)
    u, after = reference.random_uniform(x.shape, 0, 1, "f32", state=STATE.to_array())
    feed = {
        "x": x,
        "ratio": np.array(ratio, np.float32),
        "state": STATE.to_array(),
    }
    got = gallery.run("dropout_mask", runtime, **feed)
    kept = u >= np.float32(ratio)
    assert_all_same((got["mask"], got["next_state"]), (kept, after))
    scaled = x / np.float32(1 - ratio) if ratio < 1 else x
    expected = np.where(kept, scaled, 0)
    np.testing.assert_allclose(got["y"], expected, rtol=1e-6)
    assert abs(kept.mean() - (1 - ratio)) < 0.04
    # Whatever the precision of what follows it.
    assert_same_bits(gallery.run("dropout_mask", runtime, hint=None, **feed)["mask"], kept)


@pytest.mark.parametrize("runtime", RUNTIMES)
def test_latents_are_the_references_normals(gallery: Gallery, runtime: str) -> None:
    for image in (0, 1, 2**32 - 1):
        state = PhiloxState.for_run(42, image).to_array()
        got = gallery.run("latents", runtime, hint=None, state=state)
        expected = reference.random_normal([1, 4, 64, 64], 0, 1, "f32", state=state)
        assert_all_same((got["values"], got["next_state"]), expected)


@pytest.mark.parametrize("runtime", RUNTIMES)
def test_the_next_token_is_the_references_by_the_same_filters(
    gallery: Gallery, runtime: str
) -> None:
    generator = np.random.default_rng(1)
    state = STATE.to_array()
    for batch, vocabulary, temperature, top_k, top_p in (
        (1, 50257, 1.0, 0, 1.0),
        (3, 1000, 0.7, 40, 0.9),
        (8, 7, 1.3, 0, 0.5),
        (2, 7, 0.0, 0, 1.0),
    ):
        logits = generator.normal(scale=3, size=(batch, vocabulary)).astype(np.float32)
        filters = {
            "temperature": np.array(temperature, np.float32),
            "top_k": np.array(top_k),
            "top_p": np.array(top_p, np.float32),
        }
        got = gallery.run("next_token", runtime, logits=logits, **filters, state=state)
        expected = reference.random_token(logits, **filters, state=state)
        assert_all_same((got["token"], got["next_state"]), expected)
        state = expected[1]


@pytest.mark.parametrize("runtime", RUNTIMES)
@pytest.mark.parametrize(
    "size",
    [
        (8, 8),
        (9, 30),
        (100, 12),
    ],
)
def test_the_random_crop_is_cut_at_the_references_offset(
    gallery: Gallery, runtime: str, size: tuple[int, int]
) -> None:
    image = np.arange(3 * size[0] * size[1], dtype=np.float32).reshape(3, *size)
    state = STATE.to_array()
    for _ in range(3):
        (top, after), (left, _) = (
            reference.random_uniform([], 0, n - 7, "i32", op_seed=op_seed, state=state)
            for op_seed, n in enumerate(size)
        )
        got = gallery.run("random_crop", runtime, image=image, state=state)
        cut = image[:, top : top + 8, left : left + 8]
        assert got["offset"].tolist() == [top, left]
        assert_all_same((got["crop"], got["next_state"]), (cut, after))
        state = after


def test_the_random_crop_of_too_small_an_image_is_refused_with_the_bounds(gallery: Gallery) -> None:
    image = np.zeros((3, 8, 7), np.float32)
    words = "RandomUniform: input 'minval' must be less than maxval: got 0 with maxval 0"
    with pytest.raises(Exception, match=words):
        gallery.run("random_crop", "onnxruntime", image=image, state=STATE.to_array())


def backend(run: Any) -> type[Backend]:
    """ONNX's interface of a runtime."""

    class Runtime(Backend):
        @classmethod
        def prepare(cls, model: onnx.ModelProto, *_: Any, **__: Any) -> Any:
            names = [i.name for i in model.graph.input]
            return SimpleNamespace(
                run=lambda arrays, **_: run(model, dict(zip(names, arrays, strict=True)))
            )

        @classmethod
        def supports_device(cls, device: str) -> bool:
            return device == "CPU"

    return Runtime


STANDARD = {
    "reference": lambda model, feeds: ReferenceEvaluator(model).run(None, feeds),
    "onnxruntime": lambda model, feeds: loaded_in_onnxruntime(model, optimised=True)(feeds),
    "openvino": lambda model, feeds: loaded_in_openvino(model, optimised=True)(feeds),
}


def cases(runtime: str) -> list[Any]:
    """To the last bit: no tolerance. What is made for OpenVINO runs everywhere."""
    found = load_model_tests(str(GALLERY), CASES.name)
    names = ("test_openvino_", *["test_onnxruntime_"] * (runtime != "openvino"))
    return [dataclasses.replace(c, rtol=0.0, atol=0.0) for c in found if c.name.startswith(names)]


@pytest.mark.parametrize("runtime", STANDARD)
def test_onnx_s_own_runner_passes_every_case(runtime: str, monkeypatch: pytest.MonkeyPatch) -> None:
    chosen = cases(runtime)
    assert len(chosen) >= 8
    # The runner loads ONNX's own cases by kind; these are ours, under one of the kinds.
    monkeypatch.setattr(
        "onnx.backend.test.runner.load_model_tests", lambda kind: chosen if kind == "simple" else []
    )
    suite = Runner(backend(STANDARD[runtime]), __name__).exclude("_cuda").test_suite
    result = unittest.TestResult()
    suite.run(result)
    assert result.testsRun >= len(chosen)
    assert result.errors == []
    assert result.failures == []
    skipped = [name for name, _ in result.skipped if "_cpu" in str(name)]
    assert skipped == []


def test_the_folder_stays_small() -> None:
    files = [f for f in CASES.rglob("*") if f.is_file()]
    assert sum(f.stat().st_size for f in files) < 10**6
