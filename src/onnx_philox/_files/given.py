"""What a user gives as a model: told apart here, once, and read where it is needed."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from enum import Enum, auto
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import onnx
from google.protobuf.message import DecodeError  # type: ignore[import-untyped]

from onnx_philox._contract.refusal import refuse, shown
from onnx_philox._files import openvino_ir, ort_format
from onnx_philox._files.text import check_path

if TYPE_CHECKING:
    # It loads onnx-ir, and so SymPy, which a pipeline of a session does without.
    from onnx_philox._files.model_file import ModelFile


class Form(Enum):
    """What a model is given as."""

    FILE = auto()
    """The path of a file of ONNX."""
    BYTES = auto()
    """Such a file's content."""
    PROTO = auto()
    ONNX_IR = auto()
    """An `onnx_ir.Model`."""
    IR = auto()
    """The path of an OpenVINO IR."""
    OPENVINO = auto()
    """An `openvino.Model`."""
    SESSION = auto()
    """An `onnxruntime.InferenceSession`."""
    COMPILED = auto()
    """An `openvino.CompiledModel`."""


# By names, so that nothing need be installed, or loaded, to tell them apart.
_CLASSES = {
    ("onnx_ir", "Model"): Form.ONNX_IR,
    ("openvino", "Model"): Form.OPENVINO,
    ("onnxruntime", "InferenceSession"): Form.SESSION,
    ("openvino", "CompiledModel"): Form.COMPILED,
}


@dataclass(frozen=True)
class Taken:
    """What a function takes as a model."""

    forms: Collection[Form]
    words: str
    """They in a message."""
    remedy: str = "Pass one of these."


PATHS = frozenset({Form.FILE, Form.IR})
A_FILE = Taken(PATHS, "a path")
TO_REWRITE = Taken(
    {*PATHS, Form.PROTO, Form.ONNX_IR, Form.OPENVINO},
    "an onnx.ModelProto, an onnx_ir.Model, an openvino.Model, or a path",
)
TO_SERVE = Taken(
    {*PATHS, Form.BYTES, Form.PROTO, Form.OPENVINO, Form.SESSION, Form.COMPILED},
    "a path, bytes, an onnx.ModelProto, an openvino.Model, an onnxruntime.InferenceSession or "
    "an openvino.CompiledModel",
)
TO_CONVERT = Taken(
    {*PATHS, Form.PROTO, Form.ONNX_IR},
    "an onnx.ModelProto, an onnx_ir.Model, or a path",
    "Pass one of these: the ONNX model, where OpenVINO has read one.",
)
SOURCE = Taken(
    {*PATHS, Form.BYTES, Form.PROTO, Form.OPENVINO},
    "a path, bytes, an onnx.ModelProto or an openvino.Model",
)


class InMemory:
    """A model of ONNX that came from no file, in the place of a `ModelFile`."""

    folder = None

    def __init__(self, proto: onnx.ModelProto) -> None:
        self.proto = proto

    def load_weights(self, model: onnx.ModelProto, *, keeps_external: bool = False) -> None:
        """Nothing: they are here."""


@dataclass(frozen=True, eq=False)
class Given:
    """A model as a user gives it.

    Attributes:
        owner: The function that the messages name.
        model: What it is given as.
        form: What that is.
    """

    owner: str
    model: Any
    form: Form

    @classmethod
    def of(
        cls, owner: str, model: Any, takes: Taken = TO_REWRITE, what: str = "the model"
    ) -> Given:
        """What a user gives to a function, as the argument that a message calls so.

        Raises:
            TypeError: The function takes no such thing.
        """
        form = _form_of(model)
        if form not in takes.forms:
            kind = type(model)
            package = kind.__module__.partition(".")[0]
            name = kind.__name__ if package == "builtins" else f"{package}.{kind.__name__}"
            refuse(owner, what, name, takes.words, takes.remedy, TypeError)
        assert form is not None
        return cls(owner, model, form)

    def by(self, owner: str) -> Given:
        """The same, of another function."""
        return Given(owner, self.model, self.form)

    @property
    def is_file(self) -> bool:
        """Whether it is a path."""
        return self.form in PATHS

    @property
    def of_openvino(self) -> bool:
        """Whether it is OpenVINO's own: an IR, or what OpenVINO has read or converted."""
        return self.form in (Form.IR, Form.OPENVINO)

    @property
    def runtime(self) -> str | None:
        """The runtime in which a user has loaded it; None of what is in none yet."""
        names = (name for (name, _), form in _CLASSES.items() if form is self.form)
        return next(names, None) if self.form in (Form.SESSION, Form.COMPILED) else None

    @property
    def path(self) -> Path:
        """Where its file is."""
        assert self.is_file
        return Path(self.model)

    @property
    def name(self) -> str:
        """What a message calls it."""
        return str(self.model) if self.is_file else type(self.model).__name__

    @property
    def reads(self) -> dict[Path, str]:
        """The files that hold it, and what each is.

        Raises:
            ValueError: It is a file that is no model.
            OSError: It cannot be read.
        """
        if self.form is Form.FILE:
            with self.opened_file() as file:
                return file.reads
        weights = openvino_ir.weights_of(self.path)
        return {self.path: f"the model {self.name!r}", weights: f"the weights {str(weights)!r}"}

    @cached_property
    def proto(self) -> onnx.ModelProto:
        """A model of ONNX; the contents of the large tensors of a file stay there.

        Raises:
            ValueError: It is not one.
            OSError: It cannot be read.
        """
        if self.form is Form.PROTO:
            model: onnx.ModelProto = self.model
            return model
        if self.form is Form.BYTES:
            return _parsed(self.owner, self.model)
        if self.form is Form.ONNX_IR:
            import onnx_ir as ir

            proto: onnx.ModelProto = ir.to_proto(self.model)
            return proto
        with self.opened() as file:
            return file.proto

    @contextmanager
    def opened(self) -> Iterator[ModelFile | InMemory]:
        """A model of ONNX for as long as its weights may be needed.

        Raises:
            ValueError: It is not one.
            OSError: It cannot be read.
        """
        if not self.is_file:
            yield InMemory(self.proto)
            return
        with self.opened_file() as file:
            yield file

    def opened_file(self) -> AbstractContextManager[ModelFile]:
        """The same of a file, which can also be saved as another."""
        from onnx_philox._files.model_file import opened

        return opened(self.model, self.owner)

    def check(self) -> None:
        """Refuses what is no whole model, or whose other files are not beside it.

        Raises:
            ValueError: It is such a thing.
            OSError: It cannot be read.
        """
        _ = self.for_runtime if self.form is Form.IR else self.proto

    @cached_property
    def for_runtime(self) -> str:
        """The path that a runtime opens; an IR is whole, with its weights beside it.

        Raises:
            ValueError: The path is not UTF-8, or it is no such IR.
            OSError: An IR cannot be read.
        """
        check_path(self.owner, self.model)
        if self.form is Form.IR:
            openvino_ir.check_ir(self.owner, self.path)
        path: str = os.fspath(self.model)
        return path


def _form_of(model: Any) -> Form | None:
    if isinstance(model, str | os.PathLike):
        return Form.IR if openvino_ir.is_ir(model) else Form.FILE
    if isinstance(model, bytes):
        return Form.BYTES
    if isinstance(model, onnx.ModelProto):
        return Form.PROTO
    bases = ((base.__module__.partition(".")[0], base.__name__) for base in type(model).__mro__)
    return next((_CLASSES[base] for base in bases if base in _CLASSES), None)


def _parsed(owner: str, given: bytes) -> onnx.ModelProto:
    """The model in these bytes."""
    try:
        return onnx.load_from_string(given)
    except DecodeError:
        what, allowed = shown(given), "the bytes of a serialised ONNX model"
        remedy = "Pass these, or the path of a file as a str."
        if ort_format.is_ort(given):
            what, remedy = ort_format.GIVEN, ort_format.REMEDY
        return refuse(owner, "the model", what, allowed, remedy)
