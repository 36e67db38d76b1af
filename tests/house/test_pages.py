"""The pages in `docs/`, and the examples: run as a reader runs them.

A page's blocks of `python` are one program, those of `sh` are commands. They run in a folder that
looks like the clone, and print what the block of `text` after them says; `...` stands for any.
Blocks of `py` and `bash` need what the tests do without; those of engines run `py` of some pages.
"""

from __future__ import annotations

import contextlib
import doctest
import functools
import io
import re
import shlex
import shutil
import subprocess
import xml.etree.ElementTree as ET
from collections.abc import Callable
from pathlib import Path

import numpy as np
import onnx
import onnxruntime as ort
import pytest

import onnx_philox
from onnx_philox import PhiloxState, graphs, reference
from tests.common import child, cli
from tests.common.runtimes import save_ir

ROOT = Path(__file__).parents[2]
PAGES = (
    "make-my-model-reproducible",
    "serve-it",
    "mc-dropout",
    "install",
    "specification",
    "export-from-pytorch",
    "torchs-numbers",
    "where-no-plugin-can-go",
    "record-and-replay",
    "seeds-and-states",
    "exporters-and-tools",
    "same-numbers-and-law",
    "proved",
)
# Whose blocks of `py` the tests of engines run.
ENGINES = ("export-from-pytorch", "torchs-numbers", "exporters-and-tools")
# A command of ours without an expansion, and what a shell does with what it says.
OURS = re.compile(r"onnx-philox ([^|&;$`>]*)(.*)")
OTHERS = {"cpp", "js", "csharp", "pbtxt", "json"}  # languages that are read, not run
BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.DOTALL | re.MULTILINE)


def run_commands(commands: str) -> str:
    """What the commands print on stdout. The first that fails ends them."""
    lines = commands.replace("\\\n", "").splitlines()
    return "".join(run_here(line) if OURS.fullmatch(line) else run_in_bash(line) for line in lines)


def run_here(line: str) -> str:
    """Our command in this process, which has loaded the runtimes; what is around it, in a shell."""
    command, rest = OURS.fullmatch(line).groups()
    words = shlex.split(command)
    done = cli.invoke(*words, env={"COLUMNS": "100"}, catch_exceptions=False)
    out, errors = map(shlex.quote, (done.stdout, done.stderr))
    said = f"printf %s {out}; printf %s {errors} >&2; return {done.exit_code}"
    return run_in_bash(f"said() {{ {said}; }}; said {rest}")


def run_in_bash(line: str) -> str:
    environment = {**child.HERE, "COLUMNS": "100", "PYTHONWARNINGS": "error"}
    bash = ("bash", "-euo", "pipefail", "-c", line)
    return child.run(*bash, env=environment, timeout=300).stdout


def is_as_said(printed: str, said: str) -> bool:
    flags = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
    return doctest.OutputChecker().check_output(said, printed, flags)


def blocks_of(name: str, run: set[str]) -> list[tuple[str, str]]:
    """A page's blocks of these languages, each with the block of `text` after it."""
    found = []
    is_run = False
    for language, text in BLOCK.findall((ROOT / "docs" / f"{name}.md").read_text()):
        assert language in {"python", "py", "sh", "bash", "text", *OTHERS}
        is_run = is_run if language == "text" else language in run
        if is_run:
            found.append((language, text))
    return found


WITH_ENGINES = [pytest.param(f"{name} py", marks=pytest.mark.engines) for name in ENGINES]


@pytest.mark.parametrize("page", [*PAGES, *WITH_ENGINES])
# Of PyTorch's exporter.
@pytest.mark.filterwarnings("ignore:.*(LeafSpec|training mode):Warning")
def test_a_pages_examples_print_what_it_says(
    page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    name, *more = page.split()
    run = {"python", "sh", *more}
    (tmp_path / "tests").symlink_to(ROOT / "tests")
    monkeypatch.chdir(tmp_path)
    blocks = blocks_of(name, run)
    assert {language for language, _ in blocks} >= run - {"sh"}
    names: dict[str, object] = {"__name__": name}
    # Of each block: what it printed, and whether the page has said so.
    printed, is_said = "", True
    for language, text in [*blocks, ("", "")]:
        if language == "text":
            assert is_as_said(printed, text), f"the page says:\n{text}\nprinted is:\n{printed}"
            is_said = True
            continue
        assert is_said or not printed, f"the page does not say that this is printed: {printed}"
        if language in ("python", "py"):
            with contextlib.redirect_stdout(io.StringIO()) as out:
                # As doctest does: a page's later examples use the names of the earlier ones.
                exec(compile(text, f"{name}.md", "exec"), names)
            printed = out.getvalue()
        elif language == "sh":
            printed = run_commands(text)
        is_said = False


def test_every_page_for_a_task_is_tested_here() -> None:
    others = [
        "README",
        "cuda",
        "design",
        "json",
        "known-behaviours",
        "limits",
        "operators",
        "promise",
        "torchs-calls",
        "troubleshooting",
    ]
    assert {page.stem for page in (ROOT / "docs").glob("*.md")} == {*PAGES, *others}


# The pictures of README and docs: shown light and dark, and described.

PICTURES = ROOT / "docs" / "pictures"
NAMES = sorted({path.stem.rpartition("-")[0] for path in PICTURES.iterdir()})
ALL_PAGES = [*ROOT.glob("*.md"), *ROOT.glob("docs/*.md"), *ROOT.glob("benchmarks/*.md")]
PICTURE = re.compile(
    r"""<picture>
  <source media="\(prefers-color-scheme: dark\)" srcset="([^"]+)">
  <img alt="([^"]+)" src="([^"]+)" width="800">
</picture>"""
)


def shown() -> dict[str, Path]:
    """Each picture that a page shows, and the page."""
    found = {}
    for page in ALL_PAGES:
        text = page.read_text()
        blocks = PICTURE.findall(text)
        assert len(blocks) == text.count("<img") == text.count("<picture"), page
        for dark, alt, light in blocks:
            name = Path(light).stem.removesuffix("-light")
            assert (page.parent / light).resolve() == PICTURES / f"{name}-light.svg", page
            assert (page.parent / dark).resolve() == PICTURES / f"{name}-dark.svg", page
            assert len(alt) > 40, f"{page} does not describe {name}"
            found[name] = page
    return found


def texts_of(picture: str) -> list[str]:
    tree = ET.parse(PICTURES / picture)
    return ["".join(e.itertext()) for e in tree.iter("{http://www.w3.org/2000/svg}text")]


def test_every_picture_is_on_a_page_and_the_dark_one_says_what_the_light_one_says() -> None:
    assert sorted(shown()) == NAMES
    for name in NAMES:
        assert texts_of(f"{name}-dark.svg") == texts_of(f"{name}-light.svg") != [], name


def test_the_readme_is_short_and_says_above_the_equal_images_that_they_are_equal() -> None:
    readme = (ROOT / "README.md").read_text()
    assert len(readme.splitlines()) <= 100
    above = readme.partition("docs/pictures/after-dark.svg")[0].rpartition("<picture>")[0]
    last = above.rstrip().rpartition("\n\n")[2]
    assert "the same" in last
    assert "no image" not in last


# The examples in C and C++: built and run by the commands of their READMEs.

F32 = {"INFERENCE_PRECISION_HINT": "f32"}
WARNINGS = "-Wall -Wextra -Wconversion -Werror"
FLAGS = {"CFLAGS": f"{WARNINGS} -pedantic", "CXXFLAGS": WARNINGS, "CMAKE_GENERATOR": "Ninja"}
# Of OpenVINO's documentation.
UNIFORM = [0.7011236, 0.30539632, 0.93931055, 0.9456035, 0.11694777]
UNIFORM += [0.50770056, 0.5197197, 0.22727466, 0.991374]
EXAMPLES = {"c_onnxruntime": UNIFORM, "cpp_openvino": [65, 70, 56, 59, 82, 92]}


class Example:
    """One of the examples, in a copy of its folder alone: it needs nothing else of the clone."""

    def __init__(self, name: str, where: Path) -> None:
        folder = where / "examples" / name
        ignored = shutil.ignore_patterns("build*", "node_modules")
        shutil.copytree(ROOT / "examples" / name, folder, ignore=ignored)
        # What the README says to run, and what it says is printed.
        commands, printed = (folder / "README.md").read_text().split("```")[1:4:2]
        self.documented = printed.removeprefix("text").removeprefix("\n")
        bash = ("bash", "-euo", "pipefail", "-c", commands.removeprefix("sh\n"))
        self.readme = child.run(*bash, cwd=folder, env={**child.HERE, **FLAGS})
        self.program = folder / "build" / name

    def __call__(self, *arguments: str | Path) -> subprocess.CompletedProcess[str]:
        return child.run(self.program, *arguments, code=None)


Examples = Callable[[str], Example]


@pytest.fixture(scope="module")
def example(tmp_path_factory: pytest.TempPathFactory) -> Examples:
    """An example by its name, built once."""
    return functools.cache(lambda name: Example(name, tmp_path_factory.mktemp(name)))


def saved(model: onnx.ModelProto, folder: Path) -> Path:
    onnx.save(model, folder / "model.onnx")
    return folder / "model.onnx"


@pytest.mark.parametrize("name", EXAMPLES)
def test_an_example_prints_the_documented_numbers(example: Examples, name: str) -> None:
    made = example(name)
    assert made.readme.stdout.endswith(made.documented)
    numbers = [float(text) for text in made.documented.removeprefix("values: ").split()]
    assert numbers == pytest.approx(EXAMPLES[name], abs=5e-8)


def hash_of(data: bytes) -> str:
    """FNV-1a."""
    value = 14695981039346656037
    for byte in data:
        value = (value ^ byte) * 1099511628211 % 2**64
    return f"{value:016x}"


def latent(seed: int) -> np.ndarray:
    drawn = np.empty((1, 4, 64, 64), np.float32)
    state = PhiloxState.for_run(seed)
    onnx_philox.generate(state, out=drawn, mean=0, scale=1)
    return drawn


def test_c_without_a_session_draws_what_generate_draws(example: Examples) -> None:
    made = example("c_without_session")
    assert made.readme.stdout.endswith(made.documented)
    for seed in (0, 42, 2**64 - 1):
        told = made(str(seed)).stdout
        noise = latent(seed)
        assert told.split()[-1] == hash_of(noise.tobytes())


@pytest.mark.web
def test_node_without_a_session_draws_what_generate_draws(tmp_path: Path) -> None:
    for name in ("draw.mjs", "package.json"):
        shutil.copy(ROOT / "examples" / "c_without_session" / name, tmp_path)
    child.run("npm", "install", "--no-audit", "--no-fund", cwd=tmp_path)
    library = onnx_philox.onnxruntime.library_path()
    done = child.run("node", "draw.mjs", library, "42", cwd=tmp_path)
    noise = latent(42)
    assert done.stdout.split()[-1] == hash_of(noise.tobytes())


@pytest.mark.parametrize("name", EXAMPLES)
def test_an_example_says_what_is_wrong_with_a_model_or_which_library_is_not_there(
    example: Examples, name: str, tmp_path: Path
) -> None:
    run = example(name)
    libraries = [onnx_philox.openvino.library_path()]
    if name == "c_onnxruntime":
        (itself,) = (Path(ort.__file__).parent / "capi").glob("libonnxruntime.so*")
        libraries = [itself, onnx_philox.onnxruntime.library_path()]
    model = graphs.random_uniform([3, 3], 0, 1, "f32", op_seed=7)
    for at in range(len(libraries)):
        given = [*libraries]
        given[at] = tmp_path / "none.so"
        done = run(*given, saved(model, tmp_path))
        assert done.returncode == 1
        assert "none.so" in done.stderr
    (seed,) = (a for a in model.graph.node[0].attribute if a.name == "op_seed")
    seed.i = -1  # which no builder makes
    done = run(*libraries, saved(model, tmp_path))
    assert done.returncode == 1
    words = "RandomUniform: attribute 'op_seed' must be an integer from 0 to 2^63-1: got -1"
    assert words in done.stderr


def test_the_cpp_example_runs_ir_and_carries_a_state(example: Examples, tmp_path: Path) -> None:
    cpp_openvino = example("cpp_openvino")
    model = graphs.random_uniform([2, 3], 50, 100, "i32", global_seed=80, op_seed=100)
    done = cpp_openvino(onnx_philox.openvino.library_path(), save_ir(model, tmp_path / "m.xml"))
    assert (done.returncode, done.stdout) == (0, cpp_openvino.documented), done.stderr
    model = saved(graphs.random_generator([4]), tmp_path)
    done = cpp_openvino(onnx_philox.openvino.library_path(), model)
    assert done.returncode == 0, done.stderr
    bits, after = reference.random_generator(PhiloxState.from_seed(42).to_array(), [4])
    printed = [line.split(": ") for line in done.stdout.splitlines()]
    assert [name for name, _ in printed] == ["bits", "next_state"]
    expected = [[*map(str, x)] for x in (bits, after)]
    assert [values.split() for _, values in printed] == expected


def test_a_voice_draws_the_same_noise_in_python_and_cpp(tmp_path: Path) -> None:
    models = tmp_path / "tests" / "models"
    models.mkdir(parents=True)
    shutil.copy(ROOT / "tests" / "models" / "voice.onnx", models)
    voice = Example("voice", tmp_path)
    assert voice.readme.stdout.endswith(2 * voice.documented)
    one, other = (
        np.fromfile(voice.program.parents[1] / f"{name}.raw", np.float32)
        for name in ("python", "cpp")
    )
    np.testing.assert_array_equal(one, other)
    # OpenVINO rounds in its own way after the same draws.
    feed = {"text": np.array([[3, 1, 4, 1, 5, 9]]), "scales": np.float32([0.667, 1, 0.8])}
    pipeline = onnx_philox.Pipeline(models / "voice.onnx", runtime="openvino", config=F32)
    wav = pipeline(feed, seed=42)["wav"]
    np.testing.assert_allclose(wav.ravel(), one, rtol=0, atol=1e-6)
