"""One look at a model: it is read once, and who wants to know what it draws asks here.

Nothing is computed before somebody asks for it, and nothing twice. `look` chooses the class by what
a user gives; in a block of `given.kept_open()` the file is opened once at most.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

import onnx
import onnx_ir as ir

from onnx_philox._backends import AUTO
from onnx_philox._contract.generators import Generator
from onnx_philox._contract.streams import METADATA_KEY, Streams
from onnx_philox._files.given import Form, Given
from onnx_philox._models.untouched import Originals
from onnx_philox._rewriting.asked import Asked
from onnx_philox._rewriting.drawn_inputs import ASKED_SHAPES, Sizes, asked_shapes
from onnx_philox._rewriting.in_onnx import earlier, rewrite_onnx, unrun
from onnx_philox._rewriting.report import RandomNode, Report, wants_rewrite

if TYPE_CHECKING:
    import openvino

    from onnx_philox._rewriting.in_openvino import openvino_earlier


class ModelLook(ABC):
    """What a model says of its draws.

    Args:
        given: The model as a user gives it.
        backend: The backend of our operators with which OpenVINO reads an IR.

    Raises:
        ValueError: (from all that is asked) It is no such model, or not whole.
        OSError: (likewise) It cannot be read.
        ImportError: (likewise) It is OpenVINO's, and that is not installed.
    """

    def __init__(self, given: Given, backend: str = AUTO) -> None:
        self.given = given
        self.backend = backend

    @property
    @abstractmethod
    def model(self) -> Any:
        """Itself: an `onnx.ModelProto`, perhaps without large weights, or an `openvino.Model`."""

    @property
    @abstractmethod
    def inputs(self) -> Mapping[str, bool]:
        """The inputs that a run must be given, the state too, and whether each is text."""

    @property
    @abstractmethod
    def random_nodes(self) -> list[RandomNode]:
        """The random nodes that a rewrite would replace, in the order of their streams."""

    @property
    def own(self) -> list[RandomNode]:
        """Those of them that each runtime draws in its own way."""
        return [node for node in self.random_nodes if not node.is_reproducible]

    @property
    @abstractmethod
    def state(self) -> str:
        """The input that its random nodes read as their state; empty where they read none."""

    @property
    @abstractmethod
    def next_state(self) -> str | None:
        """The output with the next state, if it has one."""

    @property
    @abstractmethod
    def states(self) -> list[str]:
        """The inputs that are its states: several if it was merged of rewritten models."""

    @property
    @abstractmethod
    def generator(self) -> Generator:
        """The generator by which it draws."""

    @property
    @abstractmethod
    def streams(self) -> Streams | None:
        """What it draws, as records list it; None where it says nothing of that."""

    @property
    @abstractmethod
    def has_state(self) -> bool | None:
        """Whether it takes a state; None where that is unknown."""

    @property
    @abstractmethod
    def has_seed(self) -> bool:
        """Whether a rewrite put a seed into it."""

    @property
    def variable(self) -> str:
        """The variable that holds its state, if one does."""
        return ""

    @property
    def of_no_runtime(self) -> Sequence[str]:
        """The operators that no runtime has."""
        return ()

    @property
    def missing_functions(self) -> Sequence[str]:
        """What nodes call that is no function of the model, and no known operator."""
        return ()

    @property
    @abstractmethod
    def asked_shapes(self) -> Mapping[str, Sizes]:
        """The inputs that say the shapes of draws, and the sizes that are known of those."""

    @property
    def read_by_openvino(self) -> openvino.Model | None:
        """A model of its own for a runtime to change, if OpenVINO has read it already."""
        return None

    @abstractmethod
    def must_be_rewritten(self, asked: Asked) -> bool:
        """Whether a pipeline serves not the model itself, but what a rewrite makes of it."""

    @abstractmethod
    def rewritten(self, asked: Asked, *, keeps_external: bool = False) -> ModelLook:
        """A look at what a rewrite makes of the model, with its weights.

        Args:
            asked: What is asked for.
            keeps_external: Whether weights of external data stay where they are: a ModelProto holds
                at most 2 GB.

        Raises:
            TypeError: A random node is of a type that is not allowed.
            ValueError: A random node breaks its rules or has no replacement, or the model cannot be
                given what is asked for.
        """


class OnnxLook(ModelLook):
    """What a model of ONNX says of its draws.

    Args:
        given: As in `ModelLook`.
        originals: The same model for surgery, where somebody has it already.
    """

    def __init__(self, given: Given, originals: Originals | None = None) -> None:
        super().__init__(given)
        self._searched: rewrite_onnx.Search | None = None
        if originals is not None:
            self.originals = originals
            self.graph = originals.model

    @property
    def model(self) -> onnx.ModelProto:
        return self.given.proto

    @cached_property
    def originals(self) -> Originals:
        """The model for surgery. A user's own `onnx_ir.Model` is copied for it."""
        folder = self.given.path.parent if self.given.is_file else None
        return Originals(self.given.proto, folder, owner=self.given.owner)

    @cached_property
    def graph(self) -> ir.Model:
        """The model to look at; the contents of the large tensors of a file stay there."""
        if self.given.form is Form.ONNX_IR:
            model: ir.Model = self.given.model
            return model
        return self.originals.model

    @cached_property
    def inputs(self) -> Mapping[str, bool]:
        required = (value for value in self.graph.graph.inputs if not value.is_initializer())
        return {value.name or "": str(value.dtype) == "STRING" for value in required}

    @property
    def searched(self) -> rewrite_onnx.Search:
        """The random nodes as they were found; the model is not changed."""
        if self._searched is None:
            self._searched = rewrite_onnx.search(self.graph)
        return self._searched

    @cached_property
    def random_nodes(self) -> list[RandomNode]:
        return [found.record() for found in self.searched.found]

    @cached_property
    def draws(self) -> earlier.OnnxDraws:
        """What its nodes draw, and from which state."""
        return earlier.OnnxDraws(self.graph)

    @property
    def state(self) -> str:
        if self.draws.state is None:
            return ""
        return self.draws.state.name or ""

    @property
    def next_state(self) -> str | None:
        return self.draws.next_state

    @property
    def states(self) -> list[str]:
        return self.draws.states

    @property
    def generator(self) -> Generator:
        return self.draws.generator

    @property
    def streams(self) -> Streams | None:
        return self.draws.streams

    @property
    def has_state(self) -> bool:
        return self.draws.state is not None

    @cached_property
    def has_seed(self) -> bool:
        return earlier.read(self.graph).seed is not None

    @cached_property
    def of_no_runtime(self) -> Sequence[str]:
        return unrun.operators_of_no_runtime(self.graph)

    @cached_property
    def missing_functions(self) -> Sequence[str]:
        return unrun.missing_functions(self.graph)

    @property
    def asked_shapes(self) -> Mapping[str, Sizes]:
        return asked_shapes(self.graph.metadata_props.get(ASKED_SHAPES))

    def must_be_rewritten(self, asked: Asked) -> bool:
        if asked.invert_bernoulli or asked.draw:
            return True
        if self.streams is None:
            return bool(self.searched.found)
        return wants_rewrite(self.random_nodes, self.streams)

    def rewrite(self, asked: Asked) -> Report:
        """Rewrites the model for surgery in place; another look says what became of it."""
        return rewrite_onnx.rewrite(self.originals.model, asked, self._searched)

    def rewritten(self, asked: Asked, *, keeps_external: bool = False) -> OnnxLook:
        report = self.rewrite(asked)
        with self.given.opened() as file:
            result = self.originals.to_proto() if report.is_changed else file.proto
            file.load_weights(result, keeps_external=keeps_external)
        given = Given(self.given.owner, result, Form.PROTO, self.given.what)
        return OnnxLook(given, self.originals)


class OpenvinoLook(ModelLook):
    """What a model of OpenVINO's says of its draws.

    Args:
        given: As in `ModelLook`.
        backend: As in `ModelLook`.
        model: The model, where somebody has read it already.
    """

    def __init__(
        self,
        given: Given,
        backend: str = AUTO,
        model: openvino.Model | None = None,
    ) -> None:
        super().__init__(given, backend)
        self._model = model

    @property
    def model(self) -> openvino.Model:
        if self._model is None:
            from onnx_philox._rewriting.in_openvino import files

            # Before it is read: what comes later is another file.
            _ = self.given.stamp
            self._model = files.openvino_model_of(self.given, self.backend)
        return self._model

    @cached_property
    def recorded(self) -> openvino_earlier.Recorded:
        """What an earlier rewrite left."""
        from onnx_philox._rewriting.in_openvino import openvino_earlier

        return openvino_earlier.read(self.model)

    @cached_property
    def inputs(self) -> Mapping[str, bool]:
        from onnx_philox._openvino_models.ports import input_names

        inputs = {}
        names = input_names(self.model.inputs, None)
        for name, port in zip(names, self.model.inputs, strict=True):
            inputs[name] = port.get_element_type().get_type_name() == "string"
        return inputs

    @cached_property
    def random_nodes(self) -> list[RandomNode]:
        from onnx_philox._rewriting.in_openvino import rewrite_openvino

        return rewrite_openvino.find_random_nodes(self.model)

    @property
    def state(self) -> str:
        return self.recorded.state_name if self.recorded.is_input else ""

    @property
    def next_state(self) -> str | None:
        return self.recorded.next_state

    @cached_property
    def states(self) -> list[str]:
        from onnx_philox._rewriting.in_openvino import openvino_earlier

        return openvino_earlier.states_in(self.model, self.recorded)

    @property
    def generator(self) -> Generator:
        return self.recorded.generator

    @cached_property
    def streams(self) -> Streams | None:
        return Streams.from_json(self.metadata(METADATA_KEY) or "")

    @property
    def served_streams(self) -> Streams | None:
        """The same for who serves it; None of a model that does not take and give a state."""
        return self.streams or self.recorded.served_streams

    @property
    def asked_shapes(self) -> Mapping[str, Sizes]:
        return asked_shapes(self.metadata(ASKED_SHAPES))

    def metadata(self, key: str) -> str | None:
        """A property that a rewrite wrote into the model, or into the ONNX model that it was."""
        from onnx_philox._openvino_models import openvino_graphs

        return openvino_graphs.metadata(self.model, key)

    @property
    def has_seed(self) -> bool:
        return self.recorded.seed is not None and not self.recorded.variable

    @property
    def has_state(self) -> bool | None:
        if self.recorded.is_input:
            return True
        if self.own or self.has_seed or self.variable:
            return False
        # Standard nodes draw too, and nothing here knows them.
        return None

    @property
    def variable(self) -> str:
        return self.recorded.variable

    @property
    def read_by_openvino(self) -> openvino.Model | None:
        if not self.given.is_file or self._model is None:
            return None
        return self._model.clone()

    def must_be_rewritten(self, asked: Asked) -> bool:
        # Of a model that was rewritten before, a rewrite knows whether seeds were kept.
        if asked.keep_seeds or asked.invert_bernoulli or asked.draw:
            return True
        return wants_rewrite(self.random_nodes, self.recorded.served_streams)

    def rewrite(self, asked: Asked) -> tuple[OpenvinoLook, Report]:
        """A look at what a rewrite makes of it, and what was done; the model stays as it is."""
        from onnx_philox._rewriting.in_openvino import rewrite_openvino

        model, report = rewrite_openvino.rewrite(self.model, asked)
        return OpenvinoLook(self.given, self.backend, model), report

    def rewritten(self, asked: Asked, *, keeps_external: bool = False) -> OpenvinoLook:  # noqa: ARG002
        return self.rewrite(asked)[0]


AnyLook = OnnxLook | OpenvinoLook


def look(given: Given, backend: str = AUTO) -> AnyLook:
    """A look at a model.

    Args:
        given: The model as a user gives it.
        backend: The backend of our operators with which OpenVINO reads an IR.
    """
    if given.of_openvino:
        return OpenvinoLook(given, backend)
    return OnnxLook(given)
