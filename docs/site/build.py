"""Builds the site of docs/, with an API reference of the docstrings and the notebooks as they run.

    python docs/site/build.py            # build/site/html; a warning is an error
    python docs/site/build.py --serve    # shows it, at the address that it prints
    python docs/site/build.py --save     # also keeps the notebooks' new outputs

Needs the extra `docs`. The pages stay what a code host shows: this script copies them to
build/site, where a link to a page of the site leads to that page, and any other link to the
repository that `[project.urls]` names (without one, the link is left out).
"""

from __future__ import annotations

import argparse
import logging
import os
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import griffe
import notebooks
import yaml

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
BUILD = ROOT / "build" / "site"
PAGES = BUILD / "pages"

# What else is a page, beside docs/*.md.
OTHERS = {
    "README.md": "index.md",
    "CHANGELOG.md": "changelog.md",
    "docs/README.md": "pages.md",
    "benchmarks/README.md": "benchmarks.md",
    "custom_ops/README.md": "custom-ops.md",
    "graphs/README.md": "recipes.md",
    "tests/README.md": "tests.md",
}
# What public functions return, and nobody makes.
RETURNED = {
    "onnx_philox": (
        "onnx_philox._pipeline.result.Result",
        "onnx_philox._pipeline.request.Request",
    )
}

# Blocks of code, whose text is not for us.
CODE = re.compile(r"^```.*?^```$", re.DOTALL | re.MULTILINE)
LINK = re.compile(r"(?P<before>\[(?P<name>[^\[\]]*)\]\()(?P<to>[^)\s]+)(?P<after>\))")
ATTRIBUTE = re.compile(r'(?P<before>(?P<name>\b(?:href|src|srcset)=)")(?P<to>[^"]+)(?P<after>")')
PICTURE = re.compile(
    r'<picture>\s*<source media="\(prefers-color-scheme: dark\)" srcset="([^"]+)">\s*'
    r'(<img [^>]*?src="[^"]+)("[^>]*>)\s*</picture>'
)
SESSION = re.compile(r"^```python(?=\n>>> )", re.MULTILINE)


class Site:
    """Which file is which page, and where everything else is."""

    def __init__(self) -> None:
        self.pages = {file: file.name for file in sorted((ROOT / "docs").glob("*.md"))}
        self.pages |= {ROOT / file: page for file, page in OTHERS.items()}
        for notebook in notebooks.ALL:
            self.pages[notebook] = f"notebooks/{notebook.stem}.md"
        urls = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"].get("urls", {})
        self.repository = next((urls[n] for n in ("Repository", "Source") if n in urls), "")

    def write(self) -> None:
        """Writes every page, and the files that they show."""
        for file, page in self.pages.items():
            text = notebooks.read(file, PAGES / page) if file in notebooks.ALL else file.read_text()
            write(page, self.linked(text, file, page))
        shutil.copy(HERE / "style.css", PAGES)

    def linked(self, text: str, file: Path, page: str) -> str:
        """The text of a page with its links as the site needs them."""
        parts, end = [], 0
        for block in CODE.finditer(text):
            parts += [self._relinked(text[end : block.start()], file, page), block[0]]
            end = block.end()
        parts.append(self._relinked(text[end:], file, page))
        return SESSION.sub("```pycon", "".join(parts))

    def _relinked(self, text: str, file: Path, page: str) -> str:
        def relink(link: re.Match[str]) -> str:
            target = self._target(link["to"], file, page)
            # Without an address of the repository, what it was called.
            return link["before"] + target + link["after"] if target else link["name"]

        return themed(ATTRIBUTE.sub(relink, LINK.sub(relink, text)))

    def _target(self, link: str, file: Path, page: str) -> str:
        """Where the site has what a link leads to; empty if nowhere."""
        link = self._without_repository(link, file)
        path, hash_, anchor = link.partition("#")
        if not path or re.match(r"[a-z]+:", path):
            return link
        found = (file.parent / path).resolve()
        readme = found / "README.md"
        found = readme if readme in self.pages else found
        if found in self.pages:
            return os.path.relpath(self.pages[found], Path(page).parent) + hash_ + anchor
        if not found.exists() and (PAGES / page).parent.joinpath(path).exists():
            return link  # a picture of a notebook
        if not found.exists():
            raise SystemExit(f"{file.relative_to(ROOT)}: nothing is at {link}")
        inside = found.relative_to(ROOT)
        if found.suffix in (".png", ".svg", ".webp"):
            copied = PAGES / "pictures" / inside
            copied.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(found, copied)
            return os.path.relpath(copied, (PAGES / page).parent)
        if not self.repository:
            return ""
        kind = "tree" if found.is_dir() else "blob"
        return f"{self.repository}/{kind}/main/{inside}{hash_}{anchor}"

    def _without_repository(self, link: str, file: Path) -> str:
        """A link that names the repository, as one of a package index must, as one within it."""
        host = self.repository.replace("//github.com/", "//raw.githubusercontent.com/")
        for start in (f"{self.repository}/{kind}/main/" for kind in ("blob", "raw", "tree")):
            if self.repository and link.startswith(start):
                return os.path.relpath(ROOT / link.removeprefix(start), file.parent)
        if host and link.startswith(f"{host}/main/"):
            return os.path.relpath(ROOT / link.removeprefix(f"{host}/main/"), file.parent)
        return link


def themed(text: str) -> str:
    """Pictures for light and dark, which on the site its own switch chooses, not the system."""

    def both(found: re.Match[str]) -> str:
        dark, before, after = found.groups()
        light = f"{before}#only-light{after}"
        return light + re.sub(r'src="[^"]+"', f'src="{dark}#only-dark"', light)

    return PICTURE.sub(both, text)


def write(page: str, text: str) -> None:
    """Writes a page of the site."""
    file = PAGES / page
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)


def is_module(package: Any, name: str) -> bool:
    """Whether a public name is a module of the package."""
    return (Path(package.filepath).parent / f"{name}.py").exists() or (
        Path(package.filepath).parent / name / "__init__.py"
    ).exists()


def api_pages(package: Any) -> Iterator[tuple[str, str]]:
    """The pages of the API, a public module each, and their text."""
    names = [package.name]
    names += [f"{package.name}.{n}" for n in package.exports if is_module(package, n)]
    for name in names:
        module = package.modules_collection[name]
        public = [n for n in module.exports if not is_module(module, n) and n[0] != "_"]
        options = "    options:\n      members: false\n      show_root_toc_entry: false\n"
        parts = [f"# {name}\n", f"::: {name}\n{options}      show_root_heading: false\n"]
        parts += [f"::: {name}.{member}\n" for member in sorted(public, key=str.lower)]
        parts += [f"::: {member}\n" for member in RETURNED.get(name, ())]
        yield f"api/{name}.md", "\n".join(parts)


def read_package() -> Any:
    """The sources, not imported; a docstring with a section that does not fit is refused."""
    said: list[str] = []

    class Said(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            said.append(record.getMessage())

    logger = logging.getLogger("griffe")
    logger.addHandler(Said(logging.WARNING))
    package = griffe.load("onnx_philox", search_paths=[ROOT / "src"], resolve_aliases=True)

    def visit(thing: Any) -> None:
        if thing.docstring and thing.is_public:
            thing.docstring.parse("google")
        for member in thing.members.values():
            if not member.is_alias:
                visit(member)

    visit(package)
    if said:
        raise SystemExit("\n".join(said))
    return package


def configuration(site: Site, api: list[str]) -> dict[str, Any]:
    """What mkdocs.yml says, and what it leaves to this script."""
    config: dict[str, Any] = yaml.safe_load((HERE / "mkdocs.yml").read_text())
    config |= {"docs_dir": "pages", "site_dir": "html"}
    if site.repository:
        # In the footer. `repo_url` would have each reader fetch the repository's stars.
        link = {"icon": "fontawesome/brands/git-alt", "link": site.repository, "name": "Repository"}
        config["extra"] = {"social": [link]}
    named = set(fill(config["nav"], api))
    rest = sorted(page for page in site.pages.values() if page not in named)
    if rest:
        config["nav"].append({"More": rest})
    return config


def fill(nav: list[Any], api: list[str]) -> Iterator[str]:
    """Puts the pages of the API where nav says `api/`; yields every page that nav names."""
    if "api/" in nav:
        at = nav.index("api/")
        nav[at : at + 1] = [{Path(page).stem: page} for page in api]
    for entry in nav:
        for value in entry.values() if isinstance(entry, dict) else [entry]:
            if isinstance(value, list):
                yield from fill(value, api)
            else:
                yield value


def main() -> None:
    """Builds or serves the site."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--serve", action="store_true", help="show it")
    parser.add_argument("--save", action="store_true", help="keep the notebooks' new outputs")
    arguments = parser.parse_args()
    shutil.rmtree(BUILD, ignore_errors=True)
    api = dict(api_pages(read_package()))
    notebooks.run(is_saved=arguments.save)
    site = Site()
    site.write()
    for page, text in api.items():
        write(page, text)
    (BUILD / "mkdocs.yml").write_text(
        yaml.safe_dump(configuration(site, list(api)), sort_keys=False)
    )
    command = ["serve"] if arguments.serve else ["build", "--strict", "--clean"]
    zensical = Path(sys.executable).with_name("zensical")
    plain = os.environ if sys.stdout.isatty() else os.environ | {"NO_COLOR": "1"}
    done = subprocess.run(
        [zensical, *command, "-f", "mkdocs.yml"], cwd=BUILD, env=plain, check=False
    )
    sys.exit(done.returncode)


if __name__ == "__main__":
    main()
