"""The plan of the house: which room may use which, no circles, no private doors, short files."""

from __future__ import annotations

import ast
import graphlib
import re
import runpy
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path

import mpmath
import pytest

from onnx_philox import _parts
from tests.house.sums import GENERATED

ROOT = Path(__file__).parents[2]
SOURCES = ROOT / "src"
PACKAGE = "onnx_philox"
MAX_LINES = 500

PAGE = ROOT / "docs" / "design.md"


def rooms_of_the_page() -> dict[str, set[str]]:
    """What each room may import, by the page; the package itself is the room without a name.

    Public modules are rooms, too: they are doors, which hold what users import and little else.
    """
    section = PAGE.read_text("utf-8").partition("\n## What each room imports\n")[2]
    table = section.partition("\n## ")[0]
    rooms = {}
    for row in re.findall(r"^\| (`.*) \|$", table, re.MULTILINE):
        names = [name.removeprefix(PACKAGE) for name in re.findall("`(.*?)`", row)]
        rooms[names[0]] = set(names[1:])
    return rooms


ROOMS = rooms_of_the_page()

GENERATORS = (
    *("custom_ops/core/make_operators.py", "custom_ops/core/kernels/make_coefficients.py"),
    "custom_ops/core/torch/make_mt19937_jumps.py",
    *("docs/make_known_page.py", "docs/make_operators_page.py", "docs/make_pictures.py"),
    "docs/make_torch_calls_page.py",
    *("graphs/backend_tests/make.py", "src/make_functions.py"),
)


def modules() -> dict[str, Path]:
    """Every module by its name, compiled ones too; a package is its `__init__`."""
    files = [f for f in (SOURCES / PACKAGE).rglob("*.py*") if f.suffix in (".py", ".pyi")]
    names = (".".join(f.relative_to(SOURCES).with_suffix("").parts) for f in sorted(files))
    return dict(zip((n.removesuffix(".__init__") for n in names), sorted(files), strict=True))


MODULES = modules()


@cache
def imports(name: str) -> list[str]:
    """What a module imports of the package, wherever in the file: modules, and names in them."""
    found = []
    for node in ast.walk(ast.parse(MODULES[name].read_text())):
        if isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{name} imports relatively"
            found += [f"{node.module}.{alias.name}" for alias in node.names]
        elif isinstance(node, ast.Import):
            found += [alias.name for alias in node.names]
    return [imported for imported in found if imported.split(".")[0] == PACKAGE]


def module_of(imported: str) -> str:
    """The module that an imported name is, or is in."""
    return imported if imported in MODULES else imported.rpartition(".")[0]


def room(module: str) -> str:
    """The part of a module's name below the package; empty for the package itself."""
    return [*module.split("."), ""][1]


def arrows(
    beginning: str,
    part: Callable[[str], str],
) -> dict[str, set[str]]:
    """What the parts of all modules whose names begin so use of each other."""
    found: dict[str, set[str]] = {}
    for name in (name for name in MODULES if name.startswith(beginning)):
        used = {part(m) for m in map(module_of, imports(name)) if m.startswith(beginning)}
        found.setdefault(part(name), set()).update(used - {part(name)})
    return found


def circle(uses: dict[str, set[str]]) -> list[str]:
    """A circle among the arrows, or nothing."""
    try:
        graphlib.TopologicalSorter(uses).prepare()
    except graphlib.CycleError as error:
        return list(error.args[1])
    return []


def test_modules_and_rooms_use_each_other_in_no_circle() -> None:
    assert circle(arrows(PACKAGE, str)) == circle(ROOMS) == []


def test_each_room_imports_the_rooms_that_the_page_says() -> None:
    assert len(ROOMS) > 30
    assert arrows(PACKAGE, room) == ROOMS


# Who names a part that comes off, in an import or a string: the package itself, which registers
# what the rest asks of it, and a part's own doors.
NAMES_A_PART = {
    _parts.TORCH_PART: {PACKAGE, f"{PACKAGE}.torch"},
    _parts.COMMAND_PART: {f"{PACKAGE}.__main__"},
    _parts.GPU_PART: {PACKAGE},
    _parts.CUDA_PART: {PACKAGE},
}


@pytest.mark.parametrize("part", NAMES_A_PART, ids=lambda part: part.folder)
def test_nobody_names_a_part_that_comes_off_but_its_doors(part: _parts.OptionalPart) -> None:
    inside = f"{part.package}."
    rest = [name for name in MODULES if not f"{name}.".startswith(inside)]
    assert len(rest) < len(MODULES)
    naming = {name for name in rest if part.package in MODULES[name].read_text()}
    assert naming == NAMES_A_PART[part]


def test_only_the_part_of_torch_has_files_named_so_and_its_rooms_are_in_no_circle() -> None:
    files = [f for f in (SOURCES / PACKAGE).rglob("*torch*") if f.suffix not in ("", ".pyc")]
    assert [f for f in files if "_torch" not in f.parts] == []
    inside = f"{_parts.TORCH_PART.package}."
    assert circle(arrows(inside, lambda module: module.split(".")[2])) == []


def test_shared_rewriting_code_imports_no_format_and_the_formats_not_each_other() -> None:
    frame = f"{PACKAGE}._rewriting."
    formats = ("in_onnx", "in_openvino")

    def part(module: str) -> str:
        """A file or folder of a format, with its format; else the file of the frame."""
        parts = module.removeprefix(frame).split(".")
        return ".".join(parts[: 2 if parts[0] in formats else 1])

    uses = arrows(frame, part)
    assert circle(uses) == []
    wrong = [
        f"{user}: {used}"
        for user, all_used in uses.items()
        for used in all_used
        if user not in ("api", "look")
        and used.startswith(formats)
        and used.split(".")[0] != user.split(".")[0]
    ]
    assert wrong == []
    # What nodes are does not depend on what takes their place.
    assert {"in_onnx.replacements", "in_onnx.passes"}.isdisjoint(uses["in_onnx.inferred_types"])


def test_no_private_name_is_imported_from_another_package() -> None:
    wrong = []
    for name, file in MODULES.items():
        package = name if file.name == "__init__.py" else name.rpartition(".")[0]
        for imported in imports(name):
            parts = imported.split(".")
            for i, part in enumerate(parts):
                owner = ".".join(parts[:i])
                # A private name of a module is the module's own; one of a package, the package's.
                inside = package == owner or package.startswith(f"{owner}.")
                if part.startswith("_") and not part.startswith("__") and not inside:
                    wrong.append(f"{name}: {imported}")
    assert wrong == []


# The same for models of ONNX and of OpenVINO: a name in one of them is that of its twin.
TWINS = ("_models", "_openvino_models", "_rewriting")


def test_no_two_classes_have_one_name() -> None:
    places: dict[str, set[str]] = {}
    for name, file in MODULES.items():
        twins = room(name) in TWINS
        for node in ast.parse(file.read_text()).body:
            if isinstance(node, ast.ClassDef) and file.suffix == ".py":
                place = "a model" if twins else name
                places.setdefault(node.name.lstrip("_"), set()).add(place)
    assert len(places) > 150
    assert {name: found for name, found in places.items() if len(found) > 1} == {}


def includes(file: Path) -> set[Path]:
    """The files of this project that a C++ file includes, wherever the compiler finds them."""
    named = re.findall(r'^#include "(.+)"', file.read_text(), re.MULTILINE)
    core = ROOT / "custom_ops" / "core"
    folders = [file.parent, core, core / "kernels", core / "torch"]
    return {(f / n).resolve() for n in named for f in folders if (f / n).is_file()}


def cpp_files() -> list[Path]:
    return sorted(f for f in (ROOT / "custom_ops").rglob("*") if f.suffix in (".h", ".cpp"))


def test_headers_include_in_no_circle() -> None:
    uses = {str(f): {*map(str, includes(f))} for f in cpp_files()}
    assert sum(map(len, uses.values())) > 50
    assert circle(uses) == []


def test_kernels_know_only_kernels() -> None:
    kernels, wing = (ROOT / "custom_ops" / "core" / folder for folder in ("kernels", "torch"))
    for loops, known in ((kernels.glob("*.*"), {kernels}), (wing.glob("k*.cpp"), {kernels, wing})):
        reached = {f for f in loops if f.suffix in (".h", ".cpp")}
        while more := {i for f in reached for i in includes(f)} - reached:
            reached |= more
        assert len(reached) > 5
        assert {f.name for f in reached if f.parent not in known} == set()


def test_the_core_knows_no_runtime_and_no_runtime_another() -> None:
    custom_ops = ROOT / "custom_ops"
    for part in ("core", "onnxruntime", "openvino"):
        for file in (f for f in cpp_files() if f.is_relative_to(custom_ops / part)):
            used = {i.relative_to(custom_ops).parts[0] for i in includes(file)}
            assert used <= {"core", part}, file


def test_no_file_is_longer_than_a_reader_s_patience() -> None:
    files = [f for f in cpp_files() if "tests" not in f.relative_to(ROOT).parts]
    files += [f for folder in ("src", "docs", "graphs") for f in (ROOT / folder).rglob("*.py")]
    lengths = {str(f.relative_to(ROOT)): len(f.read_text().splitlines()) for f in files}
    assert len(lengths) > 150
    long = {name: n for name, n in lengths.items() if n > MAX_LINES and name not in GENERATED}
    assert long == {}


@pytest.mark.parametrize("generator", GENERATORS)
def test_generated_files_are_what_their_script_makes(
    generator: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = ROOT / generator
    # One of them works with more digits.
    monkeypatch.setattr(mpmath.mp, "dps", mpmath.mp.dps)
    monkeypatch.setattr(sys, "argv", [str(path), "--check"])
    # Where Python looks first when it runs a script.
    monkeypatch.syspath_prepend(str(path.parent))
    # It ends with what is wrong.
    runpy.run_path(str(path), run_name="__main__")


FOLDERS_THAT_NO_WHEEL_HAS = re.compile(r"\b(?:docs|examples|graphs|benchmarks|tests)/\w")


def messages(tree: ast.Module) -> set[str]:
    """The texts of a module that are no docstrings."""
    docstrings = {id(e.value) for e in ast.walk(tree) if isinstance(e, ast.Expr)}
    texts = (e for e in ast.walk(tree) if isinstance(e, ast.Constant) and isinstance(e.value, str))
    return {str(text.value) for text in texts if id(text) not in docstrings}


def test_a_message_names_no_page_that_a_wheel_has_not() -> None:
    named = {
        text
        for file in MODULES.values()
        if file.suffix == ".py"
        for text in messages(ast.parse(file.read_text()))
        if FOLDERS_THAT_NO_WHEEL_HAS.search(text)
    }
    for file in cpp_files():
        texts = re.findall(r'(?<!#include )"([^"\n]*)"', file.read_text())
        named |= {text for text in texts if FOLDERS_THAT_NO_WHEEL_HAS.search(text)}
    assert {text for text in named if "of this project's sources" not in text} == set()


def test_the_page_of_the_tests_names_every_room_of_them() -> None:
    page = (ROOT / "tests" / "README.md").read_text()
    rooms = {file.parent for file in (ROOT / "tests").rglob("test_*.py")}
    assert len(rooms) > 12
    assert [room.name for room in rooms if f"`{room.name}/`" not in page] == []


# What a room of the tests may import, beside itself and `common`.
TESTS_USE = {
    "core": {"files", "in_onnxruntime"},
    "engines": {"house"},
    "in_openvino": {"contract"},
    "rewriting": {"rows", "torch_numbers"},
    "standard_nodes": {"numbers"},
    "torch_numbers": {"numbers"},
}


def test_a_room_of_the_tests_imports_only_what_it_may() -> None:
    tests = ROOT / "tests"
    used: dict[str, set[str]] = {}
    for file in tests.glob("*/**/*.py"):
        room_ = file.relative_to(tests).parts[0]
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("tests."):
                used.setdefault(room_, set()).add(str(node.module).split(".")[1])
    beside = {name: rooms - {name, "common"} for name, rooms in used.items()}
    assert {name: rooms for name, rooms in beside.items() if rooms} == TESTS_USE
