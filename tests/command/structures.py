"""Models, and what is said of their nodes by their structure alone."""

from __future__ import annotations


def shape_of(count: int, *attributes: str) -> str:
    return f"<{', '.join([f'shape = [{count}]', *attributes])}> ()"


def pair(one: str, other: str, seeds: tuple[int, int]) -> str:
    first, second = (shape_of(4, f"seed = {seed}.0") for seed in seeds)
    return f"a = {one} {first}  b = {other} {second}"


ROWS_OF_X = "s = Constant <value_ints = [8, 8]> ()  l = Reshape (x, s)"


# Logits of a mask of eight classes, and what is said of one that leaves none.
LEAST = f"{ROWS_OF_X}  i = Constant <value = float {{-inf}}> ()"
NONE_OF_8 = "0, 0, 0, 0, 0, 0, 0, 0"
FIVE_OF_8 = "1, 1, 1, 1, 1, 0, 0, 0"
CHOSEN = "m = Where (k, l, i)  y = Multinomial (m)"
SOFTENED = "m = Where (k, l, i)  p = Softmax (m)  h = MatMul (p, l)  y = Multinomial (h)"
LOWER = "m = Min (l, t)  y = Multinomial (m)"
HIGHER = "m = Max (l, t)  y = Multinomial (m)"
WRONG = [
    "Of a row that is -inf throughout it draws a class one past the last; a class of +inf it never "
    "draws."
]

# A model, the runtime, and the whole sentences about its nodes, in their order.
STRUCTURES = [
    (
        pair("RandomUniform", "RandomUniform", (2, 3)),
        "onnxruntime",
        [
            "It draws what seed 1 draws, times 2, modulo 1, as the RandomUniform that gives 'b' "
            "does times 3: their correlation is 0.17.",
            "It draws what seed 1 draws, times 3, modulo 1, as the RandomUniform that gives 'a' "
            "does times 2: their correlation is 0.17.",
        ],
    ),
    (
        pair("RandomUniform", "RandomUniform", (1, -3)),
        "onnxruntime",
        [
            "It draws what seed 1 draws, times 1, modulo 1, as the RandomUniform that gives 'b' "
            "does times -1: their correlation is -1.00.",
            "It draws what seed 1 draws, times -1, modulo 1, as the RandomUniform that gives 'a' "
            "does times 1: their correlation is -1.00.",
        ],
    ),
    (
        pair("RandomUniform", "RandomUniform", (0, 1)),
        "onnxruntime",
        [
            "It repeats the RandomUniform that gives 'b': seed 0 and seed 1 are the same seed "
            "there.",
            "It repeats the RandomUniform that gives 'a': seed 1 and seed 0 are the same seed "
            "there.",
        ],
    ),
    (
        pair("RandomUniform", "RandomUniform", (7, 7)),
        "onnxruntime",
        [],
    ),
    (
        pair("RandomUniform", "RandomUniform", (20, 21)),
        "onnxruntime",
        [],
    ),
    (
        "a = Bernoulli <seed = 2.0> (x)  b = Bernoulli <seed = 3.0> (x)",
        "onnxruntime",
        [
            "Its uniforms are those of seed 1, times 2, modulo 1, and the uniforms of the "
            "Bernoulli that gives 'b' are those times 3: for most probabilities the two depend on "
            "each other.",
            "Its uniforms are those of seed 1, times 3, modulo 1, and the uniforms of the "
            "Bernoulli that gives 'a' are those times 2: for most probabilities the two depend on "
            "each other.",
        ],
    ),
    ("a = Bernoulli <seed = 20.0> (x)  b = Bernoulli <seed = 21.0> (x)", "onnxruntime", []),
    ("a = Bernoulli <seed = 3.0> (x)  b = Bernoulli <seed = 3.0> (x)", "onnxruntime", []),
    (
        "a = RandomUniformLike <seed = 1.0> (x)  b = Bernoulli <seed = 0.0> (x)",
        "onnxruntime",
        [
            "It reads the uniforms that the Bernoulli that gives 'b' reads: a Bernoulli or a "
            "Multinomial compares them with probabilities, so the two depend on each other.",
            "It reads the uniforms that the RandomUniformLike that gives 'a' reads: a Bernoulli "
            "or a Multinomial compares them with probabilities, so the two depend on each other.",
        ],
    ),
    (
        f"{ROWS_OF_X}  a = Multinomial <seed = 1.0> (l)  b = Multinomial <seed = 2.0> (l)",
        "onnxruntime",
        [
            "Its uniforms are those of seed 1, times 1, modulo 1, and the uniforms of the "
            "Multinomial that gives 'b' are those times 2: for most probabilities the two depend "
            "on each other.",
            "Its uniforms are those of seed 1, times 2, modulo 1, and the uniforms of the "
            "Multinomial that gives 'a' are those times 1: for most probabilities the two depend "
            "on each other.",
        ],
    ),
    (
        pair("RandomNormal", "RandomNormal", (1, -3)),
        "onnxruntime",
        [
            "It draws what the RandomNormal that gives 'b' draws, times -1: their seeds add up to "
            "0 there.",
            "It draws what the RandomNormal that gives 'a' draws, times -1: their seeds add up to "
            "0 there.",
        ],
    ),
    (
        f"a = RandomNormal {shape_of(4, 'seed = 1.0')}  "
        f"b = RandomNormal {shape_of(4, 'seed = -3.0', 'dtype = 11')}",
        "onnxruntime",
        [],
    ),
    (
        f"a = RandomUniform {shape_of(4, 'seed = 1.0')}  "
        f"b = RandomUniform {shape_of(4, 'seed = 2.0', 'dtype = 11')}",
        "onnxruntime",
        # Those of f64 are others.
        ["Of f64 it draws every other number of the sequence that its seed has in f32."],
    ),
    (
        "y = Bernoulli <seed = 3.0> (x)",
        "openvino",
        ["OpenVINO loads a Bernoulli from bytes in memory; from a file's path it does not."],
    ),
    (
        pair("RandomUniform", "RandomNormal", (1, 2)),
        "onnxruntime",
        [],
    ),
    (
        "i = Constant <value = float {-inf}> ()  s = Constant <value_ints = [8, 8]> ()  "
        "m = Add (x, i)  l = Reshape (m, s)  y = Multinomial (l)",
        "onnxruntime",
        [
            "Of a row that is -inf throughout it draws a class one past the last; a class of +inf "
            "it never draws."
        ],
    ),
    (
        f"{ROWS_OF_X}  y = Multinomial (l)",
        "onnxruntime",
        [],
    ),
    (f"{LEAST}  k = Constant <value = bool[8] {{{NONE_OF_8}}}> ()  {CHOSEN}", "onnxruntime", WRONG),
    (f"{LEAST}  k = Constant <value = bool[8] {{{FIVE_OF_8}}}> ()  {CHOSEN}", "onnxruntime", []),
    (f"{LEAST}  k = Constant <value = bool[8] {{{NONE_OF_8}}}> ()  {SOFTENED}", "onnxruntime", []),
    (f"{ROWS_OF_X}  t = Constant <value = float {{inf}}> ()  {LOWER}", "onnxruntime", []),
    (f"{ROWS_OF_X}  t = Constant <value = float {{inf}}> ()  {HIGHER}", "onnxruntime", WRONG),
    (
        f"{LEAST}  k = Cast <to = 9> (l)  {CHOSEN}",
        "onnxruntime",
        [
            "Where its mask, which is an input, leaves no class of a row, it draws a class one "
            "past the last."
        ],
    ),
    (
        f"{LEAST}  t = ReduceMax <axes = [1]> (l)  k = Equal (l, t)  {CHOSEN}",
        "onnxruntime",
        [],
    ),
    (
        "n = RandomUniformLike (x)  t = Constant <value_float = 4294967296.0> ()  "
        "m = Mul (n, t)  f = Floor (m)  [bits] y = Cast <to = 12> (f)",
        "openvino",
        ["OpenVINO's uint32 holds 31 bits: Cast 'bits' makes one number, 2^31, of half of them."],
    ),
    (
        "n = RandomUniformLike (x)  t = Constant <value_float = 2.3283064365386963e-10> ()  "
        "m = Div (n, t)  [bits] y = Cast <to = 12> (m)",
        "openvino",
        ["OpenVINO's uint32 holds 31 bits: Cast 'bits' makes one number, 2^31, of half of them."],
    ),
    ("n = RandomUniformLike (x)  [dice] y = Cast <to = 12> (n)", "openvino", []),
    ("n = RandomUniformLike (x)  y = Cast <to = 6> (n)", "openvino", []),
    (
        f"y = RandomUniform {shape_of(4, 'seed = 7.0', 'dtype = 11')}",
        "onnxruntime",
        ["Of f64 it draws every other number of the sequence that its seed has in f32."],
    ),
    (f"y = RandomUniform {shape_of(4, 'dtype = 11')}", "onnxruntime", []),
    # Normals are drawn in pairs: of f64 they are others.
    (f"y = RandomNormal {shape_of(4, 'seed = 7.0', 'dtype = 11')}", "onnxruntime", []),
    (
        f"y = RandomNormal {shape_of(3, 'seed = 7.0')}",
        "onnxruntime",
        [
            "It draws normals in pairs, and drops the last of 3: two runs are not the first 6 "
            "numbers of the seed."
        ],
    ),
    (f"y = RandomNormal {shape_of(4, 'seed = 7.0')}", "onnxruntime", []),
    (f"y = RandomNormal {shape_of(3)}", "onnxruntime", []),
]
