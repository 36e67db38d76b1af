"""The page of `examples/web`, and those of `--html`, in Node and headless Chromium: see .ci/web."""

from __future__ import annotations

import dataclasses
import functools
import hashlib
import itertools
import json
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from onnx.parser import parse_model

import onnx_philox
from onnx_philox import PhiloxState, reference, rewriting
from onnx_philox._command import inspect, verify
from onnx_philox._command.verify import cases
from tests.common import child, operators

pytestmark = pytest.mark.web

ROOT = Path(__file__).parents[2]
# Python computes those up to 255 by itself; the others are the largest, and halves of a key alone.
SEEDS = (0, 42, 255, 2**32 - 1, 2**32, 2**64 - 1)
COUNT = 256 * 256
NOISE = (36, 4)


def run(*command: str | Path, folder: Path) -> str:
    """What a command prints on stdout."""
    return child.run(
        *command,
        env=child.HERE,
        cwd=folder,
        timeout=600,
    ).stdout


@pytest.fixture(scope="module")
def clone(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What the example needs of the clone, prepared by the README's commands in a copy."""
    folder = tmp_path_factory.mktemp("clone")
    ignored = shutil.ignore_patterns("node_modules", "models", "package-lock.json")
    for part in ("examples/web", "tests/web"):
        shutil.copytree(ROOT / part, folder / part, ignore=ignored)
    shutil.copytree(
        ROOT / "examples" / "voice",
        folder / "examples" / "voice",
        ignore=ignored,
    )
    (folder / "tests" / "models").symlink_to(ROOT / "tests" / "models")
    example = folder / "examples" / "web"
    commands, _, printed = (example / "README.md").read_text().split("```")[1:4]
    commands = commands.removeprefix("sh\n")
    said = run("bash", "-euo", "pipefail", "-c", commands, folder=example)
    assert said.endswith(printed.removeprefix("text\n"))
    run("npm", "install", folder=folder / "tests" / "web")
    run("python", "prepare.py", *map(str, SEEDS), folder=example)
    return folder


@pytest.fixture(scope="module")
def address(clone: Path) -> Iterator[str]:
    """Where Python's own server serves the page."""
    server = subprocess.Popen(
        [sys.executable, "-u", "-m", "http.server", "0", "--bind", "127.0.0.1"],
        cwd=clone / "examples" / "web",
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    assert server.stdout is not None
    with server, server.stdout:
        found = re.search(r"http://\S+/", server.stdout.readline())
        assert found is not None
        yield found[0]
        server.terminate()


@functools.cache
def drawn(seed: int) -> dict[str, Any]:
    """What NumPy draws, without any runtime."""
    state = PhiloxState.for_run(seed).to_array()
    words, _ = reference.random_generator(state, [COUNT])
    model = onnx_philox.make_reproducible(ROOT / "tests/models/vae_decoder.onnx")
    (node,) = (node for node in model.graph.node if node.op_type == "RandomNormal")
    op_seed = sum(a.i for a in node.attribute if a.name == "op_seed")
    noise, _ = reference.random_normal(NOISE, 0, 1, "f32", op_seed=op_seed, state=state)
    return {
        "words": hashlib.sha256(words.astype("<u4").tobytes()).hexdigest(),
        "noise": hashlib.sha256(noise.astype("<f4").tobytes()).hexdigest(),
        "next": np.add(state, [0, 0, 0, 1, 0, 0]).tolist(),
    }


def test_node_draws_what_python_draws(clone: Path) -> None:
    seeds = map(str, SEEDS)
    example = clone / "examples" / "web"
    printed = json.loads(
        run("node", "in_node.mjs", example, *seeds, folder=clone / "tests" / "web")
    )
    assert printed == {str(seed): drawn(seed) for seed in SEEDS}


def test_a_voice_draws_in_node_what_its_page_says(clone: Path) -> None:
    example = clone / "examples" / "voice"
    (example / "node_modules").symlink_to(clone / "examples" / "web" / "node_modules")
    first, *_ = (example / "README.md").read_text().split("```")[1].splitlines()[1:]
    run("bash", "-c", first, folder=example)
    said = run("node", "speak.mjs", "voice-seed.onnx", "42", "node.raw", folder=example)
    run("python", "speak.py", "voice-seed.onnx", "42", "python.raw", folder=example)
    assert said == "draws: cfb02cf8a3a7ff65\nwav: 896 samples\n"
    here, python = (np.fromfile(example / f"{n}.raw", np.float32) for n in ("node", "python"))
    np.testing.assert_allclose(here, python, rtol=0, atol=1e-6)


def test_webassembly_draws_every_normal_exactly(clone: Path) -> None:
    name = "benchmarks/standard_normals.py"
    (clone / "benchmarks").mkdir()
    shutil.copy(ROOT / name, clone / name)
    given = ("--runtime", "onnxruntime-web", "--draws", str(2**22))
    printed = run("python", name, *given, folder=clone)
    assert len(re.findall(r" (8,388,608|4,194,304) +│ 0 +│ 0 ", printed)) == 4


@pytest.fixture(scope="module", params=["wasm", "webgpu"])
def visit(
    request: pytest.FixtureRequest,
    clone: Path,
    address: str,
) -> dict[str, Any]:
    """What a visitor of the page sees, with one of the providers."""
    command = ("node", "in_browser.mjs", address, request.param, *map(str, SEEDS))
    return json.loads(run(*command, folder=clone / "tests" / "web")) | {"provider": request.param}


def test_the_browser_draws_what_python_draws(visit: dict[str, Any]) -> None:
    assert list(visit["seeds"]) == [str(seed) for seed in SEEDS]
    for seed, page in visit["seeds"].items():
        assert page["shown"] == f"{visit['provider']} {seed}"
        for name in ("words", "noise"):
            expected = dict.fromkeys(("here", "python"), drawn(int(seed))[name])
            assert page[name] == expected | {"verdict": "✓ The same bits"}


def test_the_page_shows_pictures_fits_its_windows_reports_no_errors_and_refuses_other_seeds(
    visit: dict[str, Any],
) -> None:
    for page in [*visit["seeds"].values(), visit["narrow"]]:
        assert page["colours"]["words"] == 256
        assert page["colours"]["images"] > 100
    assert visit["seeds"]["42"]["overflow"] <= 0
    assert visit["narrow"]["overflow"] <= 0
    assert visit["errors"] == []
    assert visit["stepped"]["words"]["here"] == drawn(5)["words"]
    expected = f"A seed is a whole number from 0 to {2**64 - 1}."
    assert visit["refused"] == expected
    for name in ("words", "noise"):
        seen = visit["other"][name]
        expected = (drawn(3)[name], drawn(4)[name])
        assert (seen["here"], seen["python"]) == expected
        assert seen["verdict"] == "✗ Other bits"


@pytest.fixture(scope="module")
def dropped(clone: Path, address: str) -> dict[str, Any]:
    """What a visitor sees who drops models, and what the commands that the page shows print."""
    folder = clone / "dropped"
    folder.mkdir()
    models = clone / "tests" / "models"
    shutil.copy(models / "vae_decoder.onnx", folder / "an other.onnx")
    (folder / "bad.onnx").write_text("no model")
    target = ("--standard", "--target", "web")
    decoder = models / "vae_decoder.onnx"
    run("onnx-philox", "rewrite", decoder, "-o", "web.onnx", *target, folder=folder)
    rows = models / "mc_dropout.onnx"
    run("onnx-philox", "rewrite", rows, "-o", "rows.onnx", *target, "--per-row", folder=folder)
    names = ("an other.onnx", "bad.onnx", "web.onnx", "rows.onnx")
    paths = [folder / name for name in names]
    command = ("node", "drop.mjs", address, folder, *paths)
    seen = json.loads(run(*command, folder=clone / "tests" / "web"))
    pages = [page[key] for page in seen["models"].values() for key in ("wasm", "webgpu")]
    for page in [*pages, seen["given"]]:
        printed = run("bash", "-c", f"{page['command']} --json", folder=folder)
        outputs = json.loads(printed)["runs"][0]["outputs"]
        page["python"] = {output["name"]: output["sha256"] for output in outputs}
    return seen


def test_a_dropped_model_has_the_hashes_that_its_command_prints(dropped: dict[str, Any]) -> None:
    assert dropped["errors"] == []
    draws = {"web.onnx": 1, "rows.onnx": 2}
    for name, page in dropped["models"].items():
        for seen in (page["wasm"], page["webgpu"]):
            assert len(seen["draws"]) == draws[name]
            exact = [d.partition(": ")[2] for d in seen["draws"]] + ["next_random_state"]
            expected = {n: seen["python"][n] for n in exact}
            assert {n: seen["hashes"][n] for n in exact} == expected
            assert seen["hashes"].keys() == seen["python"].keys()
    assert dropped["models"]["web.onnx"]["wasm"]["pictures"] == ["images"]
    given = dropped["given"]
    drawn = [d.partition(": ")[2] for d in given["draws"]]
    expected = [given["python"][n] for n in drawn]
    assert [given["hashes"][n] for n in drawn] == expected
    assert "--input 'x=[[0.5],[1],[2]]'" in given["command"]


def test_the_page_says_what_to_do_with_other_files_and_fits(dropped: dict[str, Any]) -> None:
    assert all(page["overflow"] <= 0 for page in dropped["looks"].values())
    assert dropped["bad"]["status"].startswith("bad.onnx must be an ONNX file")
    command = "onnx-philox rewrite 'an other.onnx' -o 'an other-web.onnx' --standard --target web"
    assert dropped["other"]["status"].endswith(command)
    for page in dropped["models"].values():
        assert page["refused"].startswith("The seed must be a whole number from 0 to")


# An integer of 64 bits, which WebGPU's shaders cut where they are let.
WIDE = """<ir_version: 8, opset_import: ["": 17]>
wide (uint32[6] state) => (int64[6] y) <int64 large = {1099511627776}, int64 three = {3}> {
  words = Cast <to = 7> (state)
  less = Sub (words, large)
  y = Sub (less, three)
}"""
# In f64, and what computes in it, onnxruntime-web has no kernels at all.
IN_64_BITS = ("RandomGenerator", "RandomUniform", "RandomNormal", "RandomBernoulli")


def test_no_draw_is_cut_where_webgpu_takes_integers_of_64_bits(clone: Path, address: str) -> None:
    folder = clone / "examples" / "web" / "int64"
    folder.mkdir()
    state = PhiloxState(2**64 - 3, 2**63 + 12345).to_array()
    (folder / "state.json").write_text(json.dumps(state.tolist()))
    wide = parse_model(WIDE)
    (folder / "wide.onnx").write_bytes(wide.SerializeToString())
    wanted = {"wide": [(state.astype(np.int64) - 2**40 - 3).tobytes().hex()]}
    for case in (case for operator in IN_64_BITS for case in operators.cases(operator)):
        is_exact = operators.is_exact_as_standard_nodes(case, "onnxruntime", is_fed=False)
        types = {type_.name for type_ in (case.values, case.numbers) if type_}
        if not is_exact or case.has_16_bits or "f64" in types:
            continue
        # A GPU may take these for 0, and the software adapter does.
        if case.values.name == "f32" and any(0 < abs(x) < 2**-126 for x in case.setting.values()):
            continue
        inputs = case.inputs(case.shape())
        model = case.model(case.shape(), inputs, constant=True)
        name = f"{case.name.replace(' ', '-')}-{case.edge}"
        standard = rewriting.to_standard_nodes(model)
        (folder / f"{name}.onnx").write_bytes(standard.SerializeToString())
        drawn = case.oracle(case.shape(), state, inputs)
        wanted[name] = [np.asarray(array).tobytes().hex() for array in drawn]
    assert len(wanted) > 12
    command = ("node", "int64.mjs", address, clone / "examples" / "web")
    seen = json.loads(run(*command, folder=clone / "tests" / "web"))
    assert seen["as_built"] == wanted
    # The setting is on: it cuts what is no draw of ours.
    assert seen["int64"].pop("wide") != wanted.pop("wide")
    assert seen["int64"] == wanted
    for name in wanted:
        assert "cannot use the graph capture feature" in seen["captured"][name], name


# The pages that `--html` writes: light and dark, narrow and wide.
VIEWS = [f"{scheme} {width}" for scheme in ("light", "dark") for width in (360, 1200)]
PAGES = ("verified", "wrong", "inspected", "rewritten")


def wrong(case: cases.Case) -> cases.Case:
    """A case that expects another first value."""
    vector = case.vectors[0]
    values = vector.expected["values"].copy()
    values.flat[0] += 1
    expected = {**vector.expected, "values": values}
    return dataclasses.replace(
        case, vectors=(dataclasses.replace(vector, expected=expected, printed=None),)
    )


@pytest.fixture(scope="module")
def seen(clone: Path) -> dict[str, Any]:
    """What a visitor sees of each page, in each view."""
    folder = clone / "pages"
    folder.mkdir()
    chosen = [c for c in cases.load_cases() if "i64" in c.name or c.type.name == "bf16"]
    verify.write_page(verify.run(expected=chosen), folder / "verified.html")
    expected = [wrong(c) for c in chosen[:3]]
    report = verify.run(["onnxruntime"], expected=expected)
    verify.write_page(report, folder / "wrong.html")
    model = clone / "tests" / "models" / "mc_dropout.onnx"
    inspect.write_page(inspect.inspect(model), folder / "inspected.html")
    rewriting.rewrite_file(model, folder / "rewritten.onnx")
    inspect.write_page(inspect.inspect(folder / "rewritten.onnx"), folder / "rewritten.html")
    pages = [folder / f"{name}.html" for name in PAGES]
    found = json.loads(run("node", "pages.mjs", *pages, folder=clone / "tests" / "web"))
    expected = sorted(f"{page} {view}" for page in PAGES for view in VIEWS)
    assert sorted(found) == expected
    return found


def test_pages_load_nothing_fit_their_windows_and_are_light_or_dark(seen: dict[str, Any]) -> None:
    for view, page in seen.items():
        assert (not page["wrong"], page["overflow"] <= 0) == (True, True), (view, page["wrong"])
        is_dark = " dark " in view
        assert (channels(page["paper"]).mean() < 0.2) == is_dark
        assert (channels(page["ink"]).mean() > 0.8) == is_dark
        for cell in filter(None, page["colours"].values()):
            # WCAG's least for text of any size.
            assert contrast(cell["color"], cell["backgroundColor"]) >= 4.5
        # What colours say signs say too.
        signs = page["signs"]
        assert len(set(signs.values())) == len(signs) >= (not view.startswith("rewritten"))


def test_a_header_is_aligned_with_its_column(seen: dict[str, Any]) -> None:
    assert seen["rewritten light 1200"]["headers"]
    for view, page in seen.items():
        if view.endswith("1200"):
            # A table says "start" for what it does not align itself.
            aligned = [{a.replace("start", "left") for a in pair} for pair in page["headers"]]
            assert all(len(pair) == 1 for pair in aligned), (view, page["headers"])


VERDICTS = {
    "verified": ("Every number of onnx-philox is the published one", 9),
    "wrong": ("Some numbers are wrong", 4),
    "inspected": ("2 random nodes: no runtime draws them", 0),
}


def test_pages_say_their_verdict_and_have_pictures(seen: dict[str, Any]) -> None:
    for view, (name, (verdict, pictures)) in itertools.product(VIEWS, VERDICTS.items()):
        page = seen[f"{name} {view}"]
        assert page["verdict"] == verdict
        assert len(page["pictures"]) >= pictures
    assert all(all(page["pictures"]) for page in seen.values())


def test_pointing_at_a_cell_or_tabbing_to_it_shows_its_tip(seen: dict[str, Any]) -> None:
    for view, page in seen.items():
        if view.startswith("rewritten"):
            assert page["tips"] == [], "it has no such cell"
            continue
        *tips, by_key, escaped = page["tips"]
        assert len(tips) == 2
        assert all(tip["isShown"] and tip["isInside"] and len(tip["text"]) > 20 for tip in tips)
        assert (by_key, escaped) == ({"byKey": True}, {"afterEscape": False})


def channels(colour: str) -> np.ndarray:
    assert colour.startswith("rgb(")
    return np.array([int(part) / 255 for part in colour[4:-1].split(",")])


def contrast(one: str, other: str) -> float:
    """The contrast of two colours, as WCAG defines it."""

    def luminance(colour: str) -> float:
        c = channels(colour)
        linear = np.where(
            c <= 0.04045,
            c / 12.92,
            ((c + 0.055) / 1.055) ** 2.4,
        )
        return float(linear @ (0.2126, 0.7152, 0.0722))

    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)
