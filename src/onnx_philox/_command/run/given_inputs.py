"""Reads the arrays that a user gives for the inputs of a model, and carries its state."""

from __future__ import annotations

import json
import shlex
import zipfile
import zlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from onnx_philox import _runtime_errors, row_states
from onnx_philox._command import paths
from onnx_philox._command.wanted import RowSeeds, Seed
from onnx_philox._contract import feeds, given_arrays
from onnx_philox._contract.feeds import shape_name
from onnx_philox._contract.generators import Generator
from onnx_philox._contract.streams import Streams
from onnx_philox._contract.types import BF16
from onnx_philox._runtimes import first_state
from onnx_philox._runtimes.port import ArgumentError, Arrays, Port, refusing_as_argument

_NAME = "run"
_BFLOAT16 = BF16.dtype
# What NumPy makes of a bfloat16 array in a file: two bytes without a type.
_BFLOAT16_IN_FILES = np.dtype("V2")
_SHOWN = 100  # characters of a wrong value
_LONG_PATH = 1024
_DAMAGED = (zipfile.BadZipFile, zlib.error)


def read_inputs(
    given: Sequence[str],
    ports: Sequence[Port],
    state: str | None,
) -> Arrays:
    """Reads `name=file.npy`, `name=value` (JSON) and `file.npz`, and checks them.

    `state` is the port that a seed can fill.

    Raises:
        ArgumentError: A file cannot be read, its array does not suit the model, or an input is
            given twice.
    """
    by_name = {port.name: port for port in ports}
    taken: Arrays = {}
    for argument in given:
        for name, array in _arrays(argument, by_name, state).items():
            port = by_name[_known(name, by_name, state)]
            if name in taken:
                raise ArgumentError(
                    f"{feeds.title(name)} must be given once: got another in {_shown(argument)!r}. "
                    "Leave one of them out."
                )
            taken[name] = _suited(port, array)
    return taken


def check_all_given(
    ports: Sequence[Port],
    given: Mapping[str, Any],
    state: str | None,
) -> None:
    """Refuses feeds that lack a required input; `state` is the port that a seed can fill.

    Raises:
        ArgumentError: One is missing; the text lists all inputs of the model.
    """
    missing = [port for port in ports if port.is_required and port.name not in given]
    if missing:
        options = [f"--input {shlex.quote(port.name)}=FILE.npy" for port in missing[:2]]
        example = " ".join(options)
        more = " ..." if missing[2:] else ""
        remedy = (
            f"Pass {example}{more}, or all in one file: --input FILE.npz, or --fill to make them "
            f"up. The model takes:\n{_listed(ports, state)}"
        )
        with refusing_as_argument():
            feeds.refuse_missing(_NAME, [port.name for port in missing], remedy)


def _arrays(
    argument: str,
    by_name: Mapping[str, Port],
    state: str | None,
) -> Arrays:
    """The arrays of one `--input`."""
    if argument.endswith(".npz"):
        loaded = _load(argument)
        if isinstance(loaded, np.ndarray):
            raise ArgumentError(
                f"{_shown_path(argument)} holds one array. Write it with numpy.savez."
            )
        with loaded:
            arrays: Arrays = _read(argument, lambda: dict(loaded))
            return arrays
    # The name may hold a "=", and so may the file: the longest name of the model's wins.
    names = [n for n in by_name if argument.startswith(f"{n}=")]
    name, _, value = argument.partition("=")
    if names:
        name = max(names, key=len)
        value = argument[len(name) + 1 :]
    if not value:
        raise ArgumentError(
            "--input must be NAME=FILE.npy, NAME=NUMBERS such as x=[1,2], or FILE.npz: got "
            f"{_shown(argument)!r}. Pass one of these."
        )
    _known(name, by_name, state)
    if value.endswith(".npy"):
        loaded = _load(value)
        if not isinstance(loaded, np.ndarray):
            loaded.close()
            raise ArgumentError(f"{_shown_path(value)} holds no array. Write it with numpy.save.")
        return {name: loaded}
    return {name: _numbers(name, value, by_name[name])}


def _load(path: str) -> Any:
    return _read(path, lambda: np.load(path, allow_pickle=False))


def _read(path: str, load: Callable[[], Any]) -> Any:
    try:
        return load()
    except FileNotFoundError:
        raise paths.no_such_file("the input", _shown_path(path)) from None
    except OSError as error:
        why = error.strerror or str(error)
        raise ArgumentError(
            f"{_shown_path(path)} cannot be read: {why}. Check the path."
        ) from error
    except (MemoryError, OverflowError, ValueError, EOFError, *_DAMAGED) as error:
        is_too_large = isinstance(error, MemoryError | OverflowError)
        if is_too_large or "array is too big" in str(error):
            raise ArgumentError(
                f"{_shown_path(path)} cannot be read: its header tells of more numbers than memory "
                "can hold. If the array is smaller, the file is damaged: write it again with "
                "numpy.save or numpy.savez."
            ) from error
        # The rest of NumPy's text is for programmers.
        why = _runtime_errors.first_line(error)
        raise ArgumentError(
            f"{_shown_path(path)} cannot be read: {why}. Write a plain array with numpy.save or "
            "numpy.savez, one of strings as array.astype(str)."
        ) from error


def _shown(text: str) -> str:
    """The beginning of a text, which may be long."""
    if len(text) <= _SHOWN:
        return text
    return f"{text[:_SHOWN]}..."


def _shown_path(path: str) -> str:
    """A path unchanged, but without the middle of one that is too long for any system."""
    if len(path) <= _LONG_PATH:
        return path
    return f"{path[:_SHOWN]}...{path[-_SHOWN:]}"


def _numbers(name: str, text: str, port: Port) -> NDArray[Any]:
    try:
        value = json.loads(text)
        array = np.array(value)
        exact = array if port.is_text else array.astype(port.dtype)
        # The user accepts a number that the type rounds, such as 0.1, but not one that becomes
        # another number.
        if array.dtype.kind not in ("U" if port.is_text else "biuf") or (
            exact.dtype.kind in "biu" and (exact != array).any()
        ):
            raise ValueError
    except (ValueError, TypeError, OverflowError, RecursionError, MemoryError):
        raise ArgumentError(
            f"{feeds.title(name)} must be a file that ends in .npy, or "
            f"""{'strings such as ["a","b"]' if port.is_text else "numbers such as 0.5 or [1,2]"}"""
            f", of {port}: got {_shown(text)!r}. Pass one of these."
        ) from None
    return exact


def _known(
    name: str,
    by_name: Mapping[str, Port],
    state: str | None,
) -> str:
    if name not in by_name:
        listed = _listed(by_name.values(), state)
        remedy = feeds.RENAME
        if listed:
            remedy = f"{feeds.RENAME} The model takes:\n{listed}"
        with refusing_as_argument():
            feeds.refuse_unknown(_NAME, repr(_shown(name)), by_name, remedy)
    return name


def _suited(port: Port, array: NDArray[Any]) -> NDArray[Any]:
    """The array in the port's type, if its type and shape fit."""
    port.check_array()
    assert port.dtype is not None
    suited = given_arrays.plain(_NAME, feeds.title(port.name), array)
    if port.dtype == _BFLOAT16:
        suited = _as_bfloat16(suited)
    with refusing_as_argument():
        if suited.dtype != port.dtype and not (port.is_text and suited.dtype.kind == "U"):
            remedy = f"Save it as array.astype({port.type_name!r})."
            if port.dtype == _BFLOAT16:
                remedy = "Save it as float32 with values that bfloat16 holds exactly."
            feeds.refuse_type(_NAME, port.name, suited.dtype.name, port.type_name, remedy)
        if not port.takes(suited.shape):
            feeds.refuse_shape(_NAME, port.name, shape_name(suited.shape), port.shape_name)
    return suited


def _as_bfloat16(array: NDArray[Any]) -> NDArray[Any]:
    """A bfloat16 array from a file, which holds its bytes or its values as float32."""
    if array.dtype == _BFLOAT16_IN_FILES:
        return array.view(_BFLOAT16)
    if array.dtype == np.float32:
        cast = array.astype(_BFLOAT16)
        if np.array_equal(cast.astype(np.float32), array, equal_nan=True):
            return cast
    return array


def _note(port: Port, state: str | None) -> str:
    """What a list of inputs says about one."""
    if port.name == state:
        return "made of --seed"
    if port.is_required:
        return ""
    return "optional"


def _listed(ports: Iterable[Port], state: str | None) -> str:
    rows = []
    for port in ports:
        note = _note(port, state)
        rows.append((port.name, port.type_name, port.shape_name, note))
    columns = zip(*rows, strict=True)
    widths = [max(map(len, column)) for column in columns]
    lines = []
    for row in rows:
        cells = [cell.ljust(width) for cell, width in zip(row, widths, strict=True)]
        line = "  ".join(cells)
        lines.append(f"  {line}".rstrip())
    return "\n".join(lines)


@dataclass(frozen=True)
class StatePorts:
    """The input and the output of a model that hold its state."""

    port: Port
    next: str | None
    """The output that the next run takes; None where the model has none."""
    is_rewritten: bool
    """Whether it is a rewritten model's."""
    streams: Streams | None = None
    """What the model itself says of its draws, where that is known."""

    @property
    def name(self) -> str:
        """The input."""
        return self.port.name

    @property
    def generator(self) -> Generator:
        """The generator whose state it is."""
        return self.port.generator

    @property
    def counts_runs(self) -> bool:
        """Whether the number of the run is a part of it."""
        return self.is_rewritten and self.generator.is_counter_based

    @property
    def is_per_row(self) -> bool:
        """Whether each row of the batch has a state."""
        shape = self.port.shape or ()
        return len(shape) == 2 and not isinstance(shape[0], int) and self.is_rewritten

    def first(
        self,
        seed: Seed,
        run: int,
        ports: Iterable[Port],
        arrays: Arrays,
    ) -> NDArray[Any]:
        """The state of a seed in a run; in the first one, where its generator counts none.

        Of a state for each row that is one for each of rows 0, 1, ..., as many as the other inputs
        have; or of seeds, each of its own.

        Raises:
            ArgumentError: The inputs do not say how many rows there are, or there are no states of
                rows, or another number of them; or the generator does not number rows.
        """
        generator = self.generator
        try:
            if isinstance(seed, RowSeeds):
                rows = None
                if self.is_per_row:
                    rows = self._rows(ports, arrays)
                self._check_seeds(seed, rows)
                return first_state.of_seeds(generator, seed, run=run)
            if not self.is_per_row:
                owner = generator.seeding.partition("(")[0]
                words = generator.of_seed(owner, seed, run)
                return self.port.holding(words)
            if not generator.is_counter_based:
                raise ArgumentError(
                    f"{self.name} must be given, since {generator.owner} has no rule that numbers "
                    f"rows: got the seed {seed}. Pass --seeds, one for each row, or --input "
                    f"{self.name}=FILE.npy with {generator.seeding} for each row."
                )
            rows = self._rows(ports, arrays)
            if len(rows) != 1:
                raise ArgumentError(
                    f"the inputs must have one number of rows, since {self.name} has a state for "
                    f"each row: got {' or '.join(map(str, sorted(rows))) or 'an unknown number'}. "
                    f"Pass the states, too: --input {self.name}=FILE.npy with what "
                    "onnx_philox.row_states(seed, range(batch), run) gives."
                )
            return row_states(seed, range(rows.pop()), run)
        except ValueError as error:
            raise ArgumentError(str(error)) from error

    def _check_seeds(self, seeds: RowSeeds, rows: set[int] | None) -> None:
        if rows is None:
            raise ArgumentError(
                "--seeds must be left out for a model with one state for the whole batch: got "
                f"{len(seeds)}. Pass --seed N, or rewrite the model with --per-row."
            )
        if rows and len(seeds) not in rows:
            counts = " or ".join(map(str, sorted(rows)))
            raise ArgumentError(
                f"--seeds must be one for each row ({counts}): got {len(seeds)}. Pass as many."
            )

    def _rows(self, ports: Iterable[Port], arrays: Arrays) -> set[int]:
        """How many rows the other inputs may have."""
        fed = [port for port in ports if port.shape and port.name in arrays]
        carrying = []
        if self.streams is not None:
            carrying = first_state.carriers(fed, self.streams.batch, self.streams.batch_axis)
        name = (self.port.shape or (None,))[0]
        if not carrying and name is not None:
            # The file cannot be read here; the runtime knows what the dimensions are called.
            for port in fed:
                for i, size in enumerate(port.shape or ()):
                    if size == name:
                        carrying.append((port, i))
        if not carrying:
            # Nothing is known of the batch: it may be the first dimension of any input.
            for port in fed:
                first, *_ = port.shape or ()
                if not isinstance(first, int):
                    carrying.append((port, 0))
        counts = set()
        for port, axis in carrying:
            rows = first_state.rows_along(axis, arrays[port.name].shape)
            if rows is not None:
                counts.add(rows)
        return counts

    def words(self, array: NDArray[Any]) -> NDArray[Any]:
        """The state that a run was given, without dimensions that say nothing."""
        if self.is_per_row:
            return array
        return array.reshape(-1)
