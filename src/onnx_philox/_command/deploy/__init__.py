"""`onnx-philox deploy`: writes a folder that a model server serves a model from.

`triton` and `ovms` write what these servers read; the rest is here.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import onnx

from onnx_philox import _native_library
from onnx_philox._command import paths, rewritten
from onnx_philox._command.deploy import ovms, triton
from onnx_philox._command.deploy.sequences import begin_sequences
from onnx_philox._command.deploy.served import Served
from onnx_philox._command.run import files_read
from onnx_philox._files.new_files import NewFiles, check_apart
from onnx_philox._runtimes.port import ArgumentError

__all__ = ["ArgumentError", "Deployed", "Site", "deploy"]


@dataclass(frozen=True)
class _Server:
    runtime: str
    """Whose native library it loads."""
    configuration: Callable[[Served, Path], tuple[Path, str]]
    """The configuration's file in this folder of models, and its text."""
    start: Callable[[Served], str]
    """The command that starts it."""
    merges: bool = False
    """Whether the configuration keeps what is there."""
    no_sequences: str = ""
    """Why it cannot keep states; empty where it can."""


# The name that Triton's backend expects.
_MODEL = "model.onnx"
_SERVERS = {
    "triton": _Server("onnxruntime", triton.configuration, triton.start),
    "ovms": _Server(
        "openvino",
        ovms.configuration,
        ovms.start,
        merges=True,
        no_sequences=ovms.NO_SEQUENCES,
    ),
}


@dataclass(frozen=True)
class Deployed:
    """What was written."""

    files: list[Path]
    start: str
    """The command that starts the server."""


@dataclass(frozen=True)
class Site:
    """What the server calls the model, where it finds things, and what it keeps.

    Attributes:
        name: The model's; None for the file's.
        library: The native library; None for where it is here.
        served_from: The folder of models; None for where it is here.
        sequences: Whether the server keeps a state for each sequence of requests.
        overwrites: Whether a configuration that is there gives way to another one.
    """

    name: str | None = None
    library: Path | None = None
    served_from: Path | None = None
    sequences: bool = False
    overwrites: bool = False


def deploy(server: str, model: Path, output: Path, there: Site) -> Deployed:
    """Writes a copy of a model, and the configuration of a server ("triton" or "ovms") for it.

    Raises:
        ArgumentError: An argument is wrong, or the model cannot be served.
        ImportError: There is no native library here, and no other place is given.
        OSError: A file cannot be read or written.
    """
    if server not in _SERVERS:
        allowed = " or ".join(_SERVERS)
        raise ArgumentError(f"SERVER must be {allowed}: got {server!r}. Choose one of these.")
    rewritten.check(model)
    paths.check_output(output)
    if model.suffix != ".onnx":
        raise ArgumentError(f"the model must be an ONNX file (.onnx): got {model}. Pass that.")
    how = _SERVERS[server]
    library = there.library or _native_library.find(how.runtime)
    if library is None:
        raise ImportError(_native_library.missing(how.runtime))
    name = there.name or model.stem
    if Path(name).name != name or name in (".", ".."):
        raise ArgumentError(f"the name must be that of a file: got {name!r}. Pass another --name.")
    folder = (there.served_from or output).absolute()
    _check_text({"the name": name, "the library": str(library), "the folder": str(folder)})
    proto = onnx.load(model, load_external_data=False)
    changed = None
    if there.sequences:
        if how.no_sequences:
            raise ArgumentError(how.no_sequences)
        proto, changed = begin_sequences(proto)
    served = Served(name, proto, library, folder, changed)

    version = output / name / "1"
    copies = {version / _MODEL: model}
    for path in files_read.files(model, ()):
        if path != model:
            copies[version / path.relative_to(model.parent)] = path
    configuration, text = how.configuration(served, output)
    files = [configuration, *copies]
    for target in files:
        _check_file(target)
    if not (how.merges or there.overwrites):
        _check_same(configuration, text)
    check_apart("deploy", dict.fromkeys(files, "the output"), files_read.files(model, ()))
    with NewFiles() as new:
        for target in files:
            new.make_folder(target.parent)
        for target, source in copies.items():
            with new.open(target) as opened, source.open("rb") as read:
                if source is model and changed:
                    opened.write(proto.SerializeToString())
                else:
                    shutil.copyfileobj(read, opened)
        with new.open(configuration) as opened:
            opened.write(text.encode())
    return Deployed(files, how.start(served))


def _check_text(given: Mapping[str, str]) -> None:
    """Refuses what no configuration can hold."""
    for what, text in given.items():
        try:
            text.encode()
        except UnicodeEncodeError:
            raise ArgumentError(f"{what} must be UTF-8: got {text!r}. Choose another.") from None


def _check_file(target: Path) -> None:
    """Refuses to put a file in the place of something else."""
    what = "a folder" if target.is_dir() else "a link to nothing"
    if target.is_dir() or (target.is_symlink() and not target.exists()):
        raise ArgumentError(f"{target} must be a file, or absent: got {what}. Move it away.")


def _check_same(configuration: Path, text: str) -> None:
    """Refuses to overwrite a configuration that says something else."""
    if configuration.exists() and configuration.read_bytes() != text.encode():
        raise ArgumentError(
            f"{configuration} must be absent, or the same as before: got one that differs. "
            "Move it away, or overwrite it with --overwrite."
        )
