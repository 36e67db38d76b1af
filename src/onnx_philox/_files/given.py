"""What a user gives as a model: told apart here, once, and read where it is needed."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator, Mapping, Set
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass, field
from enum import Enum
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import onnx
from google.protobuf.message import DecodeError  # type: ignore[import-untyped]

from onnx_philox._contract.refusal import refuse, shown
from onnx_philox._contract.shown import listed
from onnx_philox._files import openvino_ir, ort_format, target
from onnx_philox._files.stamp import Stamp, stamp_of
from onnx_philox._files.utf8_path import check_path

if TYPE_CHECKING:
    # It loads onnx-ir, and so SymPy, which a pipeline of a session does without.
    from onnx_philox._files.model_file import ModelFile


class Form(Enum):
    """What a model is given as, in the words of a message."""

    FILE = "the path of an ONNX file"
    IR = "the path of an OpenVINO IR"
    BYTES = "bytes"
    PROTO = "an onnx.ModelProto"
    ONNX_IR = "an onnx_ir.Model"
    OPENVINO = "an openvino.Model"
    SESSION = "an onnxruntime.InferenceSession"
    COMPILED = "an openvino.CompiledModel"


# By names, so that nothing need be installed, or loaded, to tell them apart.
_CLASSES = {
    ("onnx_ir", "Model"): Form.ONNX_IR,
    ("openvino", "Model"): Form.OPENVINO,
    ("onnxruntime", "InferenceSession"): Form.SESSION,
    ("openvino", "CompiledModel"): Form.COMPILED,
}


PATHS = frozenset({Form.FILE, Form.IR})
ONNX = frozenset({Form.FILE, Form.BYTES, Form.PROTO, Form.ONNX_IR})
TO_REWRITE = ONNX | {Form.IR, Form.OPENVINO}
TO_SERVE = TO_REWRITE | {Form.SESSION, Form.COMPILED}


class InMemory(AbstractContextManager["InMemory"]):
    """A model of ONNX that came from no file, in the place of a `ModelFile`."""

    folder = None
    stamp: Stamp = ()

    def __init__(self, proto: onnx.ModelProto) -> None:
        self.proto = proto

    def __exit__(self, *_: object) -> None:
        """Nothing is open."""

    def load_weights(self, model: onnx.ModelProto, *, keeps_external: bool = False) -> None:
        """Nothing: they are here."""


class _ReadFile:
    """The file of a model as it was read, and whether it is still open."""

    file: ModelFile | None = None
    """The file as it was last read; None before that."""
    is_open: bool = False
    block: ExitStack | None = None
    """What closes it, in a block of `Given.kept_open`."""


@dataclass(frozen=True, eq=False)
class Given:
    """A model as a user gives it; its file is read when that is first needed, and then known.

    Attributes:
        owner: The function that the messages name.
        model: What it is given as.
        form: What that is.
        what: What a message calls the argument.

    Raises:
        ValueError: (from all that reads it) It is no such model, or not whole.
        OSError: (likewise) It cannot be read.
    """

    owner: str
    model: Any
    form: Form
    what: str = "the model"
    _read: _ReadFile = field(default_factory=_ReadFile, init=False, repr=False)

    @classmethod
    def of(
        cls,
        owner: str,
        model: Any,
        takes: Set[Form] = TO_REWRITE,
        what: str = "the model",
        also: str = "",
    ) -> Given:
        """What a user gives to a function, as the argument that a message calls so.

        Args:
            owner: The function.
            model: What it is given.
            takes: The forms that it takes.
            what: What a message calls the argument.
            also: What else it takes, which is told apart before.

        Raises:
            TypeError: The function takes no such thing.
            ValueError: It takes paths of ONNX files alone, or it is no path of a file's.
        """
        form = _form_of(model)
        if form in PATHS:
            path = os.fspath(model)
            if not path or "\0" in path:
                refuse(owner, what, repr(path), "the path of a file", "Pass such a path.")
        if form is not None and form in takes:
            return cls(owner, model, form, what)
        words = [each.value for each in Form if each in takes]
        if also:
            words.append(also)
        if takes >= PATHS:
            words = ["a path", *words[2:]]
        allowed = listed(words)
        remedy = _remedy(form, takes)
        if form is Form.IR:
            return refuse(owner, what, f"{str(model)!r}, an OpenVINO IR", allowed, remedy)
        return refuse(owner, what, _kind_of(model), allowed, remedy, TypeError)

    def by(self, owner: str) -> Given:
        """The same, of another function."""
        return Given(owner, self.model, self.form, self.what)

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
        if self.form not in (Form.SESSION, Form.COMPILED):
            return None
        return next(names, None)

    @property
    def path(self) -> Path:
        """Where its file is."""
        assert self.is_file
        return Path(self.model)

    @property
    def name(self) -> str:
        """What a message calls it."""
        if self.is_file:
            return str(self.model)
        return type(self.model).__name__

    @cached_property
    def stamp(self) -> Stamp:
        """What tells whether the files that hold it are what they were when it was read.

        Nothing of a model in memory, and of files that are gone or hold no model.
        """
        try:
            if self.form is Form.FILE:
                return self._file.stamp
            return self._stamp_now()
        except (OSError, ValueError):
            return ()

    def is_still(self, stamp: object) -> bool:
        """Whether the files that hold it have this stamp now."""
        try:
            return self._stamp_now() == stamp
        except (OSError, ValueError):
            return stamp == ()

    def _stamp_now(self) -> Stamp:
        if not self.is_file:
            return ()
        return stamp_of(map(os.stat, self.reads))

    @property
    def sha256(self) -> str:
        """The hash of its file's bytes."""
        if self.form is Form.IR:
            return hashlib.sha256(self._text_of_ir).hexdigest()
        with self.opened_file() as file:
            return file.sha256()

    @cached_property
    def reads(self) -> Mapping[Path, str]:
        """The files that hold it, and what each is."""
        if self.form is Form.FILE:
            return self._file.reads
        weights = openvino_ir.weights_of(self.path)
        return {self.path: f"the model {self.name!r}", weights: f"the weights {str(weights)!r}"}

    @cached_property
    def proto(self) -> onnx.ModelProto:
        """A model of ONNX; the contents of the large tensors of a file stay there."""
        if self.form is Form.PROTO:
            model: onnx.ModelProto = self.model
            return model
        if self.form is Form.BYTES:
            return _parsed(self.owner, self.what, self.model)
        if self.form is Form.ONNX_IR:
            import onnx_ir as ir

            proto: onnx.ModelProto = ir.to_proto(self.model)
            return proto
        return self._file.proto

    @property
    def _file(self) -> ModelFile:
        """Its file as it was read, whether or not it is still open."""
        if self._read.file is None:
            with self.opened_file() as file:
                return file
        return self._read.file

    @contextmanager
    def opened(self) -> Iterator[ModelFile | InMemory]:
        """A model of ONNX for as long as its weights may be needed."""
        if not self.is_file:
            yield InMemory(self.proto)
            return
        with self.opened_file() as file:
            yield file

    @contextmanager
    def opened_file(self) -> Iterator[ModelFile]:
        """The same of a file, which can also be saved as another.

        In a block of `kept_open` it is opened once, and stays open until the end of that block.
        """
        from onnx_philox._files.model_file import ModelFile

        read = self._read
        with self.kept_open() as block:
            if read.file is None or not read.is_open:
                read.file = block.enter_context(ModelFile(self.model, self.owner))
                read.is_open = True
            yield read.file

    @contextmanager
    def kept_open(self) -> Iterator[ExitStack]:
        """A block in which its file is opened once at most, however much of it is asked for.

        It stays open until the end of the outermost of such blocks.
        """
        read = self._read
        if read.block is not None:
            yield read.block
            return
        with ExitStack() as block:
            read.block = block
            try:
                yield block
            finally:
                read.block = None
                read.is_open = False

    def target(self, given: Any, *, converts: bool = False, for_ir: str = "") -> Path:
        """Where a user wants the model that is made of this one: what `target.check` allows.

        Args:
            given: What a function or command is given.
            converts: Whether that name may ask for an IR of a model of ONNX.
            for_ir: What does so where this does not, for the message.

        Raises:
            TypeError: It is no path.
            ValueError: It is no name for such a file.
        """
        return target.check(
            self.owner,
            given,
            of_openvino=self.of_openvino,
            converts=converts,
            for_ir=for_ir,
        )

    def check(self) -> None:
        """Refuses what is no whole model, or whose other files are not beside it."""
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
            openvino_ir.check_ir(self.owner, self.path, self._text_of_ir)
        path: str = os.fspath(self.model)
        return path

    @cached_property
    def _text_of_ir(self) -> bytes:
        """What the file of an IR holds, without the weights beside it."""
        return self.path.read_bytes()


def _form_of(model: Any) -> Form | None:
    if isinstance(model, str | os.PathLike):
        if openvino_ir.is_ir(model):
            return Form.IR
        return Form.FILE
    if isinstance(model, bytes):
        return Form.BYTES
    if isinstance(model, onnx.ModelProto):
        return Form.PROTO
    bases = ((base.__module__.partition(".")[0], base.__name__) for base in type(model).__mro__)
    return next((_CLASSES[base] for base in bases if base in _CLASSES), None)


def _kind_of(model: Any) -> str:
    kind = type(model)
    package = kind.__module__.partition(".")[0]
    if package == "builtins":
        return kind.__name__
    return f"{package}.{kind.__name__}"


def _remedy(form: Form | None, takes: Set[Form]) -> str:
    """What to do with a model in a form that a function does not take."""
    if form is not None and takes <= PATHS and form is not Form.IR:
        return "Save the model, and pass the path."
    if form in (Form.IR, Form.OPENVINO):
        return (
            "Pass the ONNX model that it was converted from; a model that never was ONNX runs in "
            "OpenVINO only."
        )
    if form in (Form.SESSION, Form.COMPILED):
        return "Pass the model that it was made from."
    if takes == {Form.ONNX_IR}:
        return "Pass one, or call onnx_philox.make_reproducible, which takes others."
    if len(takes) > 1:
        return "Pass one of these."
    return "Pass such a path."


def _parsed(owner: str, argument: str, given: bytes) -> onnx.ModelProto:
    """The model in these bytes."""
    try:
        if given:
            return onnx.load_from_string(given)
    except DecodeError:
        pass
    what = shown(given)
    allowed = "the bytes of a serialised ONNX model"
    remedy = "Pass these, or the path of a file as a str."
    what, remedy = ort_format.known(given) or (what, remedy)
    return refuse(owner, argument, what, allowed, remedy)
