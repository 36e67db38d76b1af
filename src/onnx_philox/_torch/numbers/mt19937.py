"""MT19937, the generator of torch's CPU draws: from 624 words of state to words of 32 bits.

The generator of Matsumoto and Nishimura, "Mersenne Twister" (1998). NumPy has the same one, and
makes the words here. It knows nothing of types, shapes or torch.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

BLOCK = 624
"""How many words of state there are, each of which gives one word before they are all renewed."""


def seeded(seed: int) -> NDArray[np.uint32]:
    """The words of state that the authors' `init_genrand` makes of a seed of 32 bits."""
    _, words, *_ = np.random.RandomState(seed).get_state()
    return np.asarray(words, np.uint32)


class MersenneTwister:
    """Draws words, each once, from the words of state.

    `used` is how many of them have given their word; after `BLOCK` they are renewed.
    """

    def __init__(self, words: NDArray[np.uint32], used: int) -> None:
        # The seed does not matter: the state is replaced.
        self._numpy = np.random.MT19937(0)
        self._numpy.state = {"bit_generator": "MT19937", "state": {"key": words, "pos": used}}

    def draw(self, count: int) -> NDArray[np.uint32]:
        """The next words."""
        return self._numpy.random_raw(count).astype(np.uint32)

    def state(self) -> tuple[NDArray[np.uint32], int]:
        """The words of state, and how many of them have given theirs."""
        state = self._numpy.state["state"]
        return state["key"].astype(np.uint32, copy=False), int(state["pos"])
