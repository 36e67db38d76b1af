"""The parts that come off: with the folder of one deleted, the rest of the package works.

The rest imports no part. Whoever needs something of one asks here, and gets it or a sentence that
says what is not installed. `onnx_philox/__init__.py`, which stands above all rooms and is loaded
before them, says how each thing is imported. So this imports little: dataclasses would take as
long as all else that `import onnx_philox` loads.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

REINSTALL = "pip install --force-reinstall --no-deps onnx-philox"


class PartNotInstalledError(ImportError):
    """The folder of a part is missing: whoever made this install left it out."""


class OptionalPart(NamedTuple):
    """A folder that the rest works without.

    Attributes:
        folder: Its place in the package.
        what: What it is, with its verb, as in "torch's numbers are".
    """

    folder: str
    what: str

    @property
    def package(self) -> str:
        """Its name for `import`."""
        return f"onnx_philox.{self.folder.replace('/', '.')}"

    def has(self, module: str) -> bool:
        """Whether a module that is missing is one of its own, it, or the folder that it is in."""
        missing = f"{module}."
        package = f"{self.package}."
        return missing.startswith(package) or package.startswith(missing)

    def not_installed(self, asked: str) -> PartNotInstalledError:
        """The error for who asks for something of it where the folder is missing."""
        return PartNotInstalledError(
            f"{asked}: {self.what} not installed, since the folder onnx_philox/{self.folder} is "
            f"missing: {REINSTALL}",
            name=self.package,
        )

    @contextmanager
    def importing(self, asked: str) -> Iterator[None]:
        """A block that imports something of it, for who asked for that.

        Raises:
            PartNotInstalledError: The folder is missing.
        """
        try:
            yield
        except ModuleNotFoundError as error:
            if not self.has(str(error.name)):
                raise
            raise self.not_installed(asked) from error


TORCH_PART = OptionalPart("_torch", "torch's numbers are")
COMMAND_PART = OptionalPart("_command", "the command is")
GPU_PART = OptionalPart("_experimental/openvino_gpu", "the kernels for OpenVINO's device GPU are")
CUDA_PART = OptionalPart("_experimental/cuda", "sessions on NVIDIA's cards alone are")


class FromPart(NamedTuple):
    """Something of a part, which is imported when somebody asks for it.

    Attributes:
        part: The part.
        imports: Imports it, and returns it.
    """

    part: OptionalPart
    imports: Callable[[], Any]

    def get(self, asked: str) -> Any:
        """It, for who asked in these words.

        Raises:
            PartNotInstalledError: The folder of the part is missing.
        """
        with self.part.importing(asked):
            return self.imports()


GENERATORS: dict[str, FromPart] = {}
"""The records of generators that parts draw by, by their alignment."""

OTHERS: dict[str, FromPart] = {}
"""What else other rooms ask for, by a name."""
