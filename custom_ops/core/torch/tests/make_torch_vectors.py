"""Write torch_vectors.txt: draws of torch's own, from tests/torch_numbers/torch_vectors/cpu.json.

cpu=../../../../tests/torch_numbers/torch_vectors/cpu.json
python make_torch_vectors.py $cpu > torch_vectors.txt
"""

import json
import sys
from pathlib import Path

SIZES = 7, 16, 17, 16384
NAMES = {"rand": "uniform", "uniform_": "uniform", "randn": "normal", "normal_": "normal"}


def line(seed, call, a, ends):
    """The call as a TorchFill has it, and the first and last three values."""
    first, second = (a[2:4] + [0, 1][len(a[2:4]) :]) if call in NAMES else (0, 0)
    match call:
        case "rand" | "uniform_" | "randn" | "normal_":
            words = [NAMES[call], a[1], a[0], first, second]
        case "randint":
            words = ["uniform", "i64", a[2], a[0], a[1]]
        case "randperm":
            words = ["permutation", "i64", a[0], 0, 0]
        case "exponential_":
            words = ["exponential", a[1], a[0], 1 / a[2], 0]
        case "bernoulli":
            words = ["each", "bool", a[0], 0, 0]
        case "bernoulli_":
            words = ["bernoulli", "bool", a[1], a[0], 0]
        case "dropout":
            words = ["bernoulli", "bool", a[1], 1 - a[0], 0]
    if words[2] not in SIZES:
        return None
    values = [int(v) if isinstance(v, bool) else v for v in ends["first"] + ends["last"]]
    return " ".join(map(str, [seed % 2**32, *words, *values]))


def main():
    cases = json.loads(Path(sys.argv[1]).read_text())["cases"]
    print("# What torch 2.14.1 drew: the seed, the call, and the first and last three values.")
    print("# Made by make_torch_vectors.py; do not edit.")
    for case in cases:
        (call, arguments), *others = case["steps"]
        if others or call == "multinomial":
            continue
        made = line(case["seed"], call, arguments, case["results"][0])
        if made:
            print(made)


if __name__ == "__main__":
    main()
