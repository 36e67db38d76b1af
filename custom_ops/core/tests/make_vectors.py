"""Write vectors.txt, the known answers that the core's C++ tests read.

Two sources: the published vectors (Random123, DirectML, OpenVINO's documentation, TensorFlow) in
JSON, and a model of the specification in exact arithmetic, independent of the C++ code, for what
nobody published: carries, ranges near the ends of each type, ties, subnormals.

    python make_vectors.py FOLDER > vectors.txt        # src/onnx_philox/_command/verify/vectors
"""

import json
import pathlib
import random
import struct
import sys
from fractions import Fraction

M32, M64, M128 = (1 << 32) - 1, (1 << 64) - 1, (1 << 128) - 1


def philox(counter, key):
    """One block: four words."""
    c = [counter >> s & M32 for s in (0, 32, 64, 96)]
    k0, k1 = key & M32, key >> 32
    for _ in range(10):
        p0, p2 = c[0] * 0xD2511F53, c[2] * 0xCD9E8D57
        c = [p2 >> 32 ^ c[1] ^ k0, p2 & M32, p0 >> 32 ^ c[3] ^ k1, p0 & M32]
        k0, k1 = (k0 + 0x9E3779B9) & M32, (k1 + 0xBB67AE85) & M32
    return c


def words(counter, key, count):
    stream = []
    for block in range(-(-count // 4)):
        stream += philox((counter + block) & M128, key)
    return stream[:count]


# Significant bits with the hidden one, smallest exponent of a subnormal's last bit, bytes.
FLOATS = {"f16": (11, -24, 2), "bf16": (8, -133, 2), "f32": (24, -149, 4), "f64": (53, -1074, 8)}


def decode(bits, kind):
    """The finite number that a bit pattern stands for."""
    precision, least, size = FLOATS[kind]
    fraction_bits = precision - 1
    fraction = bits & ((1 << fraction_bits) - 1)
    exponent = bits >> fraction_bits & ((1 << (8 * size - precision)) - 1)
    if exponent:
        fraction |= 1 << fraction_bits
        exponent -= 1
    value = Fraction(fraction) * Fraction(2) ** (least + exponent)
    return -value if bits >> (8 * size - 1) else value


def encode(value, kind):
    """The bit pattern nearest to a number, ties to even; 0 is +0."""
    precision, least, size = FLOATS[kind]
    sign = int(value < 0)
    value = abs(value)
    exponent = least
    while value >= Fraction(2) ** (exponent + precision):
        exponent += 1
    steps = value / Fraction(2) ** exponent
    whole = steps.numerator // steps.denominator
    rest = steps - whole
    if rest > Fraction(1, 2) or (rest == Fraction(1, 2) and whole & 1):
        whole += 1
    # A carry into the next binade falls out of this sum by itself.
    return sign << (8 * size - 1) | (((exponent - least) << (precision - 1)) + whole)


def draw(kind, counter, key, count, low, high):
    """Elements as bit patterns; low and high are bit patterns too."""
    if kind == "bits":
        return words(counter, key, count)
    if kind == "i32":
        return [(w % ((high - low) & M32) + low) & M32 for w in words(counter, key, count)]
    if kind == "i64":
        w = words(counter, key, 2 * count)
        return [
            ((w[i + 1] << 32 | w[i]) % ((high - low) & M64) + low) & M64
            for i in range(0, 2 * count, 2)
        ]
    precision = FLOATS[kind][0]
    if kind == "f64":
        w = words(counter, key, 2 * count)
        integers = [(w[i] & 0xFFFFF) << 32 | w[i + 1] for i in range(0, 2 * count, 2)]
    else:
        integers = [w & ((1 << (precision - 1)) - 1) for w in words(counter, key, count)]
    minval = decode(low, kind)
    width = decode(encode(decode(high, kind) - minval, kind), kind)
    result = []
    for k in integers:
        scaled = decode(encode(Fraction(k, 1 << (precision - 1)) * width, kind), kind)
        # Never -0: that would need a product and a minval of -0, and the width is -0 only beside a
        # minval of +0.
        result.append(encode(scaled + minval, kind))
    return result


SIZES = {"bits": 4, "i32": 4, "i64": 8, "f32": 4, "f64": 8, "f16": 2, "bf16": 2}
FORMATS = {2: "<H", 4: "<I", 8: "<Q"}


def draw_line(kind, counter, key, count, low, high, values):
    state = [counter >> s & M32 for s in (0, 32, 64, 96)] + [key & M32, key >> 32]
    return "draw {} {} {} {:x} {:x} {}".format(
        kind, " ".join(f"{w:08x}" for w in state), count, low, high, values
    )


def pack(values, kind):
    return b"".join(struct.pack(FORMATS[SIZES[kind]], v) for v in values).hex()


def bits_of(number, kind):
    """A Python number as a bit pattern of the type."""
    if kind == "i32":
        return number & M32
    if kind == "i64":
        return number & M64
    return encode(Fraction(number), kind)


def from_words(state):
    c = sum(w << (32 * i) for i, w in enumerate(state[:4]))
    return c, state[4] | state[5] << 32


def vectors_of(file, family=""):
    """The vectors of a file, or of one family there, each with the type of its values."""
    for case in file["cases"]:
        if case["family"].startswith(family):
            yield from ((case["type"], vector) for vector in case["vectors"])


def published(random123, directml, openvino, tensorflow):
    print("# Random123: counter words, key words, output words")
    for _, row in vectors_of(random123):
        out = struct.unpack("<4I", bytes.fromhex(row["outputs"]["bits"]))
        print("block", *(f"{word:08x}" for word in (*row["state"], *out)))

    print(
        "# DirectML: state counter before, blocks, counter after, as 128-bit numbers. "
        "The page's own example is the"
    )
    print("# wrong way round; both directions of it follow the rule.")
    for _, row in vectors_of(directml):
        before, after = (from_words(row[name])[0] for name in ("state", "next_state"))
        print("advance", f"{before:032x}", after - before, f"{after:032x}")

    print(
        "# OpenVINO's documentation: type, global_seed, op_seed, bounds as bits, "
        "values as printed there"
    )
    for kind, row in vectors_of(openvino):
        values = [v for line in row["printed"] for v in line]
        low, high = (bits_of(bound, kind) for bound in row["arguments"].values())
        seeds = row["global_seed"], row["op_seed"]
        print("seeds", kind, *seeds, f"{low:x} {high:x}", len(values), *values)

    print("#", tensorflow["source"])
    for family, kinds in (("TensorFlow bits", "bits"), ("TensorFlow uniform", "")):
        for type_, row in vectors_of(tensorflow, family):
            kind, (count,) = kinds or type_, row["shape"]
            counter, key = from_words(row["state"])
            bounds = row.get("arguments", {"minval": 0, "maxval": 0}).values()
            low, high = (bits_of(x, kind) for x in bounds) if not kinds else (0, 0)
            (drawn,) = row["outputs"].values()
            # The model and TensorFlow must agree before the model is believed on anything else.
            assert pack(draw(kind, counter, key, count, low, high), kind) == drawn, row
            print(draw_line(kind, counter, key, count, low, high, drawn))


# Ranges that reach each type's corners, as bit patterns: zeros of both signs, subnormals, one value
# only, the widest, an offset that swallows the width, widths next to powers of two.
RANGES = {
    "f16": [
        (0, 1),
        (0x8000, 0x3C00),
        (0, 0x03FF),
        (0x8003, 0x0005),
        (0x5640, 0x5650),
        (0x7800, 0x7BFF),
        (0xF7FF, 0x77FF),
        (0x4200, 0x4200),
        (0x8000, 0x0000),
        (0x1400, 0x3C01),
        (0xBC00, 0x0000),
        (0x0001, 0x0400),
    ],
    "bf16": [
        (0, 1),
        (0x8000, 0x3F80),
        (0, 0x007F),
        (0x8003, 0x0005),
        (0x42C8, 0x42CA),
        (0x7F00, 0x7F7F),
        (0xFE80, 0x7E80),
        (0x4200, 0x4200),
        (0x8000, 0x0000),
        (0x3D4D, 0x3F81),
        (0xBF80, 0x0000),
        (0x0001, 0x0080),
        (0x007F, 0x0135),
    ],
    "f32": [
        (0, 1),
        (0x80000000, 0x3F800000),
        (0, 0x007FFFFF),
        (0x80000003, 0x00000005),
        (0x42C80000, 0x42CA0000),
        (0xFE800000, 0x7E800000),
        (0x7F000000, 0x7F7FFFFF),
        (0x42000000, 0x42000000),
        (0x3DCCCCCD, 0x3F8CCCCD),
        (0xBF800000, 0),
        (0x00000001, 0x00800000),
        (0x3F800000, 0x40000000),
    ],
    "f64": [
        (0, 1),
        (1 << 63, 0x3FF0000000000000),
        (0, 0x000FFFFFFFFFFFFF),
        ((1 << 63) + 3, 5),
        (0x3FB999999999999A, 0x3FF3333333333333),
        (0xFFD0000000000000, 0x7FD0000000000000),
        (0x4040000000000000, 0x4040000000000000),
        (0xBFF0000000000000, 0),
        (1, 0x0010000000000000),
    ],
    "i32": [
        (0, 1),
        (0x80000000, 0x7FFFFFFF),
        (0, 0x7FFFFFFF),
        (0xFFFFFFFF, 0x7FFFFFFF),
        (0x80000000, 0),
        (0x80000000, 1),
        (5, 8),
        (0, 0x10000),
        (0, 0x10001),
        (0xFFFFFF00, 0xFFFFFFFF),
        (0, 0x55555556),
    ],
    "i64": [
        (0, 1),
        (1 << 63, (1 << 63) - 1),
        (0, (1 << 63) - 1),
        (M64, (1 << 63) - 1),
        (1 << 63, 0),
        (1 << 63, 1),
        (5, 8),
        (0, 1 << 16),
        (0, (1 << 16) + 1),
        (0, (1 << 32) - 1),
        (0, 1 << 32),
        (0, (1 << 32) + 1),
        (0, 0x5555555555555556),
        (M64 - 255, M64),
        (0, (1 << 53) + 1),
        (0, 0x7FFFFFFFFFFFFC01),
    ],
    "bits": [(0, 0)],
}
# The last blocks before each word of the counter carries into the next.
COUNTERS = [0, (1 << 32) - 5, (1 << 64) - 3, (1 << 96) - 7, (1 << 128) - 2]


def modelled():
    print("# The model in make_vectors.py")
    rng = random.Random(20)
    for kind, ranges in RANGES.items():
        for i, (low, high) in enumerate(ranges):
            counter, key = COUNTERS[i % len(COUNTERS)], rng.getrandbits(64)
            count = rng.randrange(30, 60)
            print(
                draw_line(
                    kind,
                    counter,
                    key,
                    count,
                    low,
                    high,
                    pack(draw(kind, counter, key, count, low, high), kind),
                )
            )
        for counter in COUNTERS:
            key = rng.getrandbits(64)
            low, high = ranges[rng.randrange(len(ranges))]
            print(
                draw_line(
                    kind,
                    counter,
                    key,
                    75,
                    low,
                    high,
                    pack(draw(kind, counter, key, 75, low, high), kind),
                )
            )


if __name__ == "__main__":
    print(
        "# Known answers, written by make_vectors.py. "
        "Numbers without a unit are hexadecimal but for counts and seeds;"
    )
    print(
        "# words are least significant first; "
        "a draw is: type, six state words, elements, bounds, output bytes."
    )
    folder = pathlib.Path(sys.argv[1])
    names = ("random123", "directml", "openvino", "tensorflow")
    published(*(json.loads((folder / f"{name}.json").read_text("utf-8")) for name in names))
    modelled()
