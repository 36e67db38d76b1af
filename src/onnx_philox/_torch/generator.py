"""The record of torch's generator: what the rest of the package asks of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from onnx_philox._contract import refusal
from onnx_philox._contract import sentences as say
from onnx_philox._contract.declaration import Operator
from onnx_philox._contract.generators import Generator
from onnx_philox._contract.inputs import PYTORCH, STATE_WORDS
from onnx_philox._torch import torch_sentences as torch_says
from onnx_philox._torch.numbers import torch_state as states
from onnx_philox._torch.numbers.torch_state import TORCH_STATE_WORDS, TorchState

MOST_INTEGERS = (2**32 - 1) // 20
"""From so many on, torch permutes by another rule."""


class TorchGenerator(Generator):
    """MT19937, as torch draws with it on a CPU. What loads more is loaded when it is asked."""

    def check_seed(self, owner: str, name: str, given: Any) -> int:
        return states.torch_seed(owner, name, given)

    def of_seed(self, owner: str, seed: Any, run: int = 0) -> NDArray[np.uint32]:  # noqa: ARG002
        checked = self.check_seed(owner, "seed", seed)
        return TorchState.from_seed(checked).to_array()

    def of_seeds(self, seeds: NDArray[Any]) -> NDArray[np.uint32]:
        return states.words_of_seeds(seeds)

    def check_node(self, op: Operator, attributes: Mapping[str, Any], has_state: bool) -> None:
        def refuse(name: str, allowed: str, remedy: str) -> None:
            what = say.ATTRIBUTE.format(repr(name))
            refusal.refuse(op.name, what, attributes[name], allowed, remedy)

        if attributes["op_seed"] != 0:
            refuse("op_seed", torch_says.NO_OP_SEED, torch_says.SET_GLOBAL_SEED)
        if has_state and attributes["global_seed"] != 0:
            refuse("global_seed", torch_says.NO_SEED_BESIDE_A_STATE, torch_says.REMOVE_ONE_OF_BOTH)
        if attributes.get("replacement", 0) and attributes["sample_size"] > 1:
            refuse("sample_size", torch_says.ONE_SAMPLE, torch_says.DRAW_ONE_SAMPLE)
        if not has_state and attributes["global_seed"] == 0:
            what = say.INPUT.format("state")
            allowed = torch_says.CONNECTED_WITHOUT_SEED
            refusal.refuse(op.name, what, say.NOTHING, allowed, torch_says.NAME_A_SEED)

    def check_words(self, owner: str, words: NDArray[np.uint32]) -> None:
        states.check_states(owner, words)

    def check_integers(self, op: Operator, what: str, count: int) -> None:
        if count >= MOST_INTEGERS:
            allowed = torch_says.FEWER_INTEGERS.format(MOST_INTEGERS)
            refusal.refuse(op.name, what, count, allowed, torch_says.DRAW_AS_TENSORFLOW)

    def remedy_for(self, shape: Sequence[int | None], remedy: str = "") -> str:
        is_other = shape and shape[-1] == STATE_WORDS
        if is_other:
            return torch_says.NOT_A_PHILOX_STATE
        return remedy or self.remedy

    def about_input(self, name: str, *, per_row: bool) -> str:
        if per_row:
            made = f"{self.seeding} for each row"
            says = "a generator of torch's for each row"
            rows = f"uint32[batch, {self.words}]: {made}"
            return f"The input {name} ({rows}) is {says} of the batch"
        made = f"{self.seeding}, which is torch.manual_seed(seed)"
        return f"The input {name} (uint32[{self.words}]: {made}) is the generator at first"

    def take_bytes(self, count: int | None) -> str:
        if count != states.TORCH_BYTES:
            return ""
        return "Bytes of get_state() become a state by TorchState.from_torch(state)."

    def fill_from(self) -> Any:
        from onnx_philox._torch.numbers import torch_draw

        # A state has seeds of its own, and no rule of Philox fills.
        return lambda state, _seeds, values, distribution, _fill, *outs: torch_draw.draw_from(
            state,
            values,
            distribution,
            *outs,
        )

    def rewriting(self) -> Any:
        from onnx_philox._torch.rewriting.torch_in_onnx import AsTorch

        return AsTorch(self)

    def after_words(self, seed: int, words: int) -> NDArray[np.uint32]:
        """The state after so many words, by NumPy's own MT19937."""
        numpy_s = np.random.RandomState(seed & 0xFFFFFFFF)
        numpy_s.randint(0, 2**32, words, np.uint32)
        _, block, place, *_ = numpy_s.get_state()
        # One that has given no word has none left to give, and counts from 0.
        after = int(place) if words else 0
        left = 625 - after if words else 1
        start = [
            seed & 0xFFFFFFFF,
            seed >> 32,
            left,
            1,
            after,
        ]
        numbers = np.asarray(block).tolist()
        return np.array([*start, *numbers, 0, 0, 0], np.uint32)

    def names_random(self, domain: str, name: str) -> bool:
        from onnx_philox._torch.calls import table

        return table.names_random(domain, name)

    def noise(
        self,
        owner: str,
        seed: Any,
        like: Any,
        gpu: Any,
    ) -> Any:
        from onnx_philox._torch.numbers import torch_noise

        return torch_noise.noise_of(owner, seed, like, gpu)


GENERATOR = TorchGenerator(
    alignment=PYTORCH,
    owner="torch",
    state=TorchState,
    words=TORCH_STATE_WORDS,
    is_counter_based=False,
    least_exponent=-103.9,  # its weights are f32: the least one above 0 is 2^-149
    seed_bits=32,  # torch draws by these of a seed
    seed_at=slice(0, 2),
    made="TorchState.from_seed(seed).to_array()",
    remedy=torch_says.PASS_A_TORCH_STATE,
    mistaken=torch_says.NOT_A_TORCH_STATE,
    of_bytes=torch_says.TAKE_TORCH_BYTES,
    seeding="TorchState.from_seed(seed).to_array()",
)
