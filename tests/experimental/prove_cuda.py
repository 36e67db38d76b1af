"""Draws 10^7 values with the CUDA kernels, and compares them with the reference.

    python -m tests.experimental.prove_cuda
        kernels.ptx
    python -m tests.experimental.prove_cuda --fused
        the kernels with products and sums contracted: must differ
    python -m tests.experimental.prove_cuda --card
        on an NVIDIA card, by its driver; needs no ONNX Runtime

Without a card the kernels run on this processor (ptx_to_c.py). Counters carry through 32, 64 and
128 bits, rows have odd lengths, memory is not aligned. It exits with 1 if a bit differs. `--fused`
needs NVRTC.
"""

from __future__ import annotations

import argparse
import runpy
import sys
from collections.abc import Iterator

import numpy as np

from tests.experimental.card import Card
from tests.experimental.cuda_kernels import (
    CUDA,
    PTX,
    Draw,
    data_of,
    library,
    names,
    numbers_of,
    wrong,
)

FULL = 2**32 - 1
EACH_KERNEL = 400_000  # of 25 kernels
RNG = np.random.default_rng(0)
STATES = [
    np.array(words, np.uint32)
    for words in (
        [FULL - 5000, 0, 0, 0, 1, 2],
        [FULL - 5000, FULL, 0, 0, 0xDEADBEEF, 3],
        [FULL - 5000, FULL, FULL, FULL, FULL, FULL],
    )
]


def draws(
    distribution: str,
    kind: str,
) -> Iterator[tuple[Draw, int]]:
    """Draws of as many values as each kernel is to draw, and how many elements each begins past an
    aligned address."""
    parameters = list(numbers_of(distribution, kind))
    share = EACH_KERNEL // len(parameters)
    for number_kind, numbers in parameters:
        for i, part in enumerate((0.4, 0.2, 0.2, 0.2)):
            elements = int(share * part) + 1
            state = STATES[i] if i < 3 else RNG.integers(0, 2**32, 6, dtype=np.uint32)
            if i == 3:  # rows
                elements = 1001
                state = RNG.integers(
                    0,
                    2**32,
                    (int(share * part) // 1001 + 1, 6),
                    dtype=np.uint32,
                )
            count = elements * (len(state) if state.ndim == 2 else 1)
            data = data_of(distribution, kind, count)
            yield (
                Draw(
                    distribution,
                    kind,
                    elements,
                    state,
                    numbers,
                    number_kind,
                    data,
                    global_seed=5,
                    op_seed=2**33 + 5,
                ),
                i % 4,
            )


def main() -> None:
    parser = argparse.ArgumentParser(description="Prove the CUDA kernels, with or without a card")
    how = parser.add_mutually_exclusive_group()
    how.add_argument("--fused", action="store_true", help="must differ")
    how.add_argument("--card", action="store_true", help="on an NVIDIA card")
    options = parser.parse_args()
    is_fused = options.fused
    ptx = PTX.read_text()
    if is_fused:
        make = runpy.run_path(str(CUDA / "make_ptx.py"))
        ptx = make["compiled"](tuple(o for o in make["OPTIONS"] if o != "--fmad=false"))
        ptx = "\n".join(make["lines_of"](ptx)) + "\n"
    kernels = Card(ptx) if options.card else library(ptx, may_fuse=is_fused, level=1)
    if isinstance(kernels, Card):
        print(kernels.name)
    different = drawn = 0
    for distribution, kind in names():
        of_kernel = count = 0
        for draw, shift in draws(distribution, kind):
            of_kernel += wrong(kernels, draw, shift=shift, blocks=97)
            count += draw.count
        print(f"{distribution:12} {kind:5} {of_kernel:8} of {count:8} differ", flush=True)
        different = different + of_kernel
        drawn = drawn + count
    print(f"{different} of {drawn} differ")
    sys.exit(int((different > 0) != is_fused))


if __name__ == "__main__":
    main()
