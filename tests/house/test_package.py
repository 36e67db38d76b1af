"""The package as a whole: public names, imports without effect, and what the documents claim."""

from __future__ import annotations

import dataclasses
import doctest
import importlib
import inspect
import pkgutil
import re
import tomllib
from collections.abc import Callable
from pathlib import Path

import onnx
import onnxruntime as ort
import openvino as ov
import pytest

import onnx_philox
from onnx_philox import _parts, graphs
from onnx_philox._rewriting.asked import Asked, AskedWords
from tests.common import child, missing_part
from tests.common.cases import pattern_of
from tests.common.foreign import parse
from tests.common.operators import OPERATORS
from tests.common.runtimes import save_ir

pytestmark = pytest.mark.installed
ROOT = Path(__file__).parents[2]

# The contract's names. A name that is missing here is new: document it, then list it.
DRAWS = """random_bernoulli random_categorical random_dropout random_exponential random_gamma
    random_generator random_normal random_permutation random_poisson random_token random_uniform"""
NAMES = {
    "onnx_philox": """PhiloxState Pipeline RefusedInputError TorchState __version__ diffusers
        generate graphs make_reproducible onnx_reference onnxruntime openvino reference
        register_schemas rewriting row_states split_states to_standard_nodes torch
        torch_cuda_states torch_noise""",
    "onnx_philox.diffusers": "generator latents",
    "onnx_philox.torch": "ProgramDraw Ran Verdict check_export export translations verify_export",
    "onnx_philox.reference": DRAWS,
    "onnx_philox.graphs": DRAWS,
    "onnx_philox.onnxruntime": "InferenceSession RefusalText library_path register",
    "onnx_philox.openvino": f"""{DRAWS} compile_model genai_generator library_path make_stateful
        pytorch_extensions register""",
    "onnx_philox.onnx_reference": "OPS",
    "onnx_philox.rewriting": """RandomNode Report find_random_nodes make_reproducible
        rewrite rewrite_file to_standard_file to_standard_nodes""",
}
PUBLIC = {module: set(names.split()) for module, names in NAMES.items()}


@pytest.mark.parametrize("module", PUBLIC)
def test_the_public_names_are_the_documented_ones(module: str) -> None:
    names = importlib.import_module(module)
    assert set(names.__all__) == PUBLIC[module]
    for name in PUBLIC[module]:
        assert getattr(names, name) is not None
    if module == "onnx_philox.torch":
        assert inspect.signature(names.verify_export).parameters["seed"].default == 42


WORDS = "seed keep_unknown per_row batch alignment keep_seeds invert_bernoulli draw"


@pytest.mark.parametrize(
    ("door", "names"),
    [
        (onnx_philox.make_reproducible, f"model {WORDS}"),
        (onnx_philox.rewriting.rewrite, f"model {WORDS}"),
        (onnx_philox.rewriting.rewrite_file, f"source target {WORDS} progress"),
        (
            onnx_philox.Pipeline,
            "model runtime per_row batch alignment keep_seeds invert_bernoulli draw source options",
        ),
    ],
    ids=lambda given: getattr(given, "__name__", ""),
)
def test_a_signature_names_each_word_of_a_rewrite(
    door: Callable[..., object],
    names: str,
) -> None:
    signature = inspect.signature(door)
    assert list(signature.parameters) == names.split()
    for name in WORDS.split():
        if name in signature.parameters:
            word = signature.parameters[name]
            in_all = inspect.signature(onnx_philox.make_reproducible).parameters[name]
            assert (word.kind, word.default, word.annotation) == (
                word.KEYWORD_ONLY,
                in_all.default,
                in_all.annotation,
            )


def test_the_typed_words_of_a_rewrite_are_those_of_asked() -> None:
    assert list(AskedWords.__annotations__) == [each.name for each in dataclasses.fields(Asked)]


def test_every_operator_has_its_functions_and_classes_and_the_package_no_other_name() -> None:
    for op in OPERATORS.values():
        for module in (onnx_philox.reference, graphs, onnx_philox.openvino):
            assert op.function in module.__all__
    assert [c.__name__ for c in onnx_philox.onnx_reference.OPS] == list(OPERATORS)
    for name in ("onnx_philox", "onnx_philox.openvino", "onnx_philox._command"):
        with pytest.raises(AttributeError, match=f"'{name}' has no attribute 'tensorrt'"):
            _ = importlib.import_module(name).tensorrt


LOADS = """
import sys
from pathlib import Path

def loaded(*names):
    return {name for name in names if name in sys.modules}

import onnx_philox
assert issubclass(onnx_philox.RefusedInputError, ValueError)
assert not loaded("numpy", "onnx", "onnxruntime", "openvino"), "import onnx_philox"

from onnx_philox._command.app import app
try:
    app(["--help"])
except SystemExit:
    pass
assert not loaded("numpy", "rich", "logging"), "--help"

from onnx_philox.onnxruntime import InferenceSession
InferenceSession(sys.argv[1]).run(None, {})
assert not loaded("onnx", "onnx_ir", "rich", "openvino", "torch"), "a session"

onnx_philox.Pipeline(InferenceSession(sys.argv[3]))({})
assert not loaded("onnx_ir", "sympy", "rich", "openvino", "torch"), "a pipeline of a session"

import onnx
assert not onnx.defs.has("RandomUniform", "onnx_philox")

try:
    app(["inspect", "--json", sys.argv[2]])
except SystemExit:
    pass
assert loaded("onnx_ir"), "inspect"
assert not loaded("sympy.core", "jinja2", "openvino", "torch"), "inspect"
"""


def test_nothing_is_loaded_or_registered_before_it_is_needed(tmp_path: Path) -> None:
    missing_part.needs(_parts.COMMAND_PART)
    drawing = graphs.random_uniform([3], 0, 1, "f32", op_seed=1)
    onnx.save(drawing, tmp_path / "drawing.onnx")
    model = ROOT / "tests" / "models" / "mc_dropout.onnx"
    noise = parse("g () => (float[3] noise) { noise = RandomNormal <shape = [3]> () }")
    onnx.save(onnx_philox.make_reproducible(noise), tmp_path / "rewritten.onnx")
    files = [tmp_path / "drawing.onnx", model, tmp_path / "rewritten.onnx"]
    child.python("-c", LOADS, *map(str, files))


def test_a_big_endian_processor_is_refused() -> None:
    program = "import sys; sys.byteorder = 'big'; import onnx_philox"
    done = child.python("-c", program, code=None)
    assert done.returncode
    assert "the processor must be little-endian: got a big-endian one" in done.stderr


PACKAGE = Path(onnx_philox.__file__).parent
MODULES = [
    m.name
    for m in pkgutil.walk_packages(onnx_philox.__path__, "onnx_philox.")
    if "worker" not in m.name
]
WITH_EXAMPLES = [
    ".".join(file.relative_to(PACKAGE.parent).with_suffix("").parts).removesuffix(".__init__")
    for file in sorted(PACKAGE.rglob("*.py"))
    if ">>> " in file.read_text("utf-8")
]


@pytest.mark.parametrize("module", WITH_EXAMPLES)
def test_the_examples_in_docstrings_print_what_they_say(module: str) -> None:
    failed, _ = doctest.testmod(importlib.import_module(module))
    assert failed == 0


def test_every_module_is_imported_and_those_with_examples_are_known() -> None:
    modules = {name: importlib.import_module(name) for name in ["onnx_philox", *MODULES]}
    assert len(modules) > 200
    assert set(WITH_EXAMPLES) <= modules.keys()
    tests = [t for name in WITH_EXAMPLES for t in doctest.DocTestFinder().find(modules[name])]
    assert sum(len(test.examples) for test in tests) > 10


def test_the_readme_s_examples_print_what_they_say() -> None:
    failed, tried = doctest.testfile(str(ROOT / "README.md"), module_relative=False)
    assert tried > 10
    assert failed == 0


def _headings(page: Path) -> set[str]:
    """The names that code hosts give them."""
    text = re.sub(
        r"^```.*?^```$",
        "",
        page.read_text(),
        flags=re.DOTALL | re.MULTILINE,
    )
    found = re.findall(r"^#+ (.+)$", text, re.MULTILINE)
    return {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in found}


def test_links_in_documents_lead_somewhere() -> None:
    pages = [page for depth in ("*", "*/*", "*/*/*") for page in ROOT.glob(f"{depth}.md")]
    dead = []
    for page in pages:
        if page.is_relative_to(ROOT / "build"):
            continue
        for to, anchor in re.findall(r"\]\(([^)#\s]*)(?:#([^)]*))?\)", page.read_text()):
            target = page.parent / to if to else page
            is_page = target.suffix == ".md" and target.exists()
            is_there = anchor in _headings(target) if anchor and is_page else target.exists()
            if "://" not in to and not is_there:
                dead.append(f"{page.relative_to(ROOT)}: {to}#{anchor}")
    assert not dead, dead


def test_pages_that_code_names_are_there_and_the_version_is_in_the_changelog() -> None:
    found = child.run("git", "grep", "-hoE", r"docs/[a-z-]+\.md", cwd=ROOT).stdout.split()
    assert [name for name in sorted({*found}) if not (ROOT / name).exists()] == []
    assert f"## {onnx_philox.__version__}" in (ROOT / "CHANGELOG.md").read_text()


def _needed_by(extra: str) -> set[str]:
    """What an extra installs, with the extras of ours that it refers to."""
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"][
        "optional-dependencies"
    ]
    needed = set()
    for requirement in extras[extra]:
        own = re.fullmatch(r"onnx-philox\[(.*)\]", requirement)
        if own:
            needed.update(*(_needed_by(name) for name in own[1].split(",")))
        else:
            needed.add(requirement)
    return needed


def test_the_tests_requirements_are_those_of_the_extra() -> None:
    lines = (ROOT / "tests" / "requirements.txt").read_text().splitlines()
    assert [line for line in lines if not line.startswith("#")] != []
    assert {line for line in lines if not line.startswith("#")} == _needed_by("test")


# A command, on its own line or in backquotes. What stands in other quotes is a message of ours.
INSTALLATION = re.compile(
    r"""(?<!["'])\b(?:pip3?|uv|uvx|pipx|poetry)\s+(?:add|download|install|run|tool|wheel)\b"""
    r"[^\n`;&|#]*"
)
OUR_NAME = re.compile(r"onnx[-_.]philox\b(?!/)", re.IGNORECASE)


def _from_a_registry(text: str) -> list[str]:
    """The commands of a text that would ask a registry for a package of our name."""
    found = []
    for command in INSTALLATION.findall(text.replace("\\\n", " ")):
        words = re.split(r"""[\s'"]+""", command)
        # A path to a wheel begins with its folder.
        is_ours = any(OUR_NAME.match(word) for word in words)
        if is_ours and "--no-index" not in words:
            found.append(command)
    return found


@pytest.mark.parametrize(
    ("text", "is_found"),
    [
        ("pip install onnx-philox", True),
        ("quietly pip install 'onnx-philox[test]' # for what is there", True),
        ("run: pip install -U \\\n  numpy onnx_philox==0.1", True),
        ("Install it: `python -m pip install 'onnx-philox[torch]'`.", True),
        ("uv pip install onnx-philox", True),
        ("pip install '.[torch]' onnxruntime", False),
        ('pip install "${wheel}[test]" dist/onnx_philox-0.1-py3-none-any.whl', False),
        ("pip install --no-index --find-links dist onnx-philox", False),
        ("pip install -r tests/requirements.txt && onnx-philox verify", False),
        ("""assert "pip install 'onnx-philox[openvino]'" in said""", False),
    ],
)
def test_a_command_that_asks_a_registry_for_our_name_is_found(text: str, is_found: bool) -> None:
    assert bool(_from_a_registry(text)) == is_found


def test_no_page_and_no_script_installs_our_name_from_a_registry() -> None:
    """Until it is published there, another's package may have it."""
    kinds = ("*.md", "*.ipynb", "*.yml", "*.toml", ".ci", "examples", "docs", "benchmarks")
    names = child.run("git", "ls-files", "-z", *kinds, cwd=ROOT).stdout.split("\0")
    found = {}
    for name in filter(None, names):
        text = (ROOT / name).read_text(errors="replace")
        commands = _from_a_registry(text)
        if commands:
            found[name] = commands
    assert found == {}


# The titles of the troubleshooting page are the texts that users see.

TROUBLESHOOTING = (ROOT / "docs" / "troubleshooting.md").read_text()


def test_models_without_the_extension_fail_as_the_page_says(tmp_path: Path) -> None:
    model = graphs.random_uniform([3], 0, 1, "f32", op_seed=1)
    file = save_ir(model, tmp_path / "m.xml")
    data = model.SerializeToString()
    no_rule = "No conversion rule found for operations: onnx_philox.RandomUniform"
    no_layer = "Cannot create RandomUniform layer ... from unsupported opset: extension"
    unknown = "onnx_philox:RandomUniform(-1) is not a registered function/op"
    read = ov.Core().read_model
    for load, given, title in (
        (read, file, no_layer),
        (read, data, no_rule),
        (ort.InferenceSession, data, unknown),
    ):
        assert f"`{title}`" in TROUBLESHOOTING
        with pytest.raises(Exception, match=pattern_of(title)):
            load(given)
    cured = onnx_philox.openvino.register(ov.Core()).read_model(file)
    assert cured.get_output_size() == 1
