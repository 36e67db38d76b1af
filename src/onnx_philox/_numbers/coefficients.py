"""The coefficients of ln, sin, cos and exp, lowest power first.

Made by custom_ops/core/kernels/make_coefficients.py; do not edit.
"""

from typing import Any

import numpy as np


def _f64(text: str) -> tuple[Any, ...]:
    return tuple(np.float64(float.fromhex(word)) for word in text.split())


def _f32(text: str) -> tuple[Any, ...]:
    return tuple(map(np.float32, _f64(text)))


# below it, u counts as it
SMALLEST_UNIFORM_F32 = np.float32(float.fromhex("0x1.ad7f2a0000000p-24"))
# mantissas begin at it
SQRT_HALF_F32 = np.float32(float.fromhex("0x1.6a09e60000000p-1"))
# -2 ln 2
MINUS_TWO_LN2_F32 = np.float32(float.fromhex("-0x1.62e4300000000p+0"))
# added, it leaves the nearest integer in the low bits
MAGIC_F32 = np.float32(float.fromhex("0x1.8000000000000p+23"))
# below it, u counts as it
SMALLEST_UNIFORM_F64 = np.float64(float.fromhex("0x1.ad7f29abcaf48p-24"))
# mantissas begin at it
SQRT_HALF_F64 = np.float64(float.fromhex("0x1.6a09e667f3bcdp-1"))
# -2 ln 2
MINUS_TWO_LN2_F64 = np.float64(float.fromhex("-0x1.62e42fefa39efp+0"))
# added, it leaves the nearest integer in the low bits
MAGIC_F64 = np.float64(float.fromhex("0x1.8000000000000p+52"))
# 1 / ln 2
LOG2_E = np.float64(float.fromhex("0x1.71547652b82fep+0"))
# the first 32 bits of ln 2
LN2_HIGH = np.float64(float.fromhex("0x1.62e42ff000000p-1"))
# the rest of ln 2
LN2_LOW = np.float64(float.fromhex("-0x1.718432a1b0e26p-35"))
# below it, exp counts as 0
SMALLEST_EXPONENT = np.float64(float.fromhex("-0x1.6200000000000p+9"))
# (1 + ln(2 pi)) / 2
STIRLING_CONSTANT = np.float64(float.fromhex("0x1.6b3f8e4325f5ap+0"))
# 1 / 12
STIRLING_FIRST = np.float64(float.fromhex("0x1.5555555555555p-4"))
# 1 / 360
STIRLING_SECOND = np.float64(float.fromhex("0x1.6c16c16c16c17p-9"))

# -2 ln((1 + s) / (1 - s)) = s * (-4 + z * P(z)), z = s * s
LOGARITHM_F32 = _f32("-0x1.5546a20000000p+0 -0x1.a5f9f80000000p-1")

# sin(2 pi t) = t * P(z), z = t * t, t in turns, |t| <= 1/8
SINE_F32 = _f32(
    "0x1.921fb60000000p+2 -0x1.4abbec0000000p+5 0x1.466b220000000p+6 -0x1.2f5a1e0000000p+6"
)

# cos(2 pi t) = 1 + z * P(z)
COSINE_F32 = _f32("-0x1.3bd3a00000000p+4 0x1.03b1320000000p+6 -0x1.4ea1ae0000000p+6")

# -2 ln((1 + s) / (1 - s)) = s * (-4 + z * P(z)), z = s * s
LOGARITHM_F64 = _f64(
    "-0x1.55555555538a1p+0 -0x1.999999a2b7a4ap-1 -0x1.24924164de0c4p-1 "
    "-0x1.c722810d4b6c5p-2 -0x1.732b263d809a4p-2 -0x1.588246c9ef5fep-2"
)

# sin(2 pi t) = t * P(z), z = t * t, t in turns, |t| <= 1/8
SINE_F64 = _f64(
    "0x1.921fb54442d18p+2 -0x1.4abbce625be09p+5 0x1.466bc67754ffbp+6 "
    "-0x1.32d2ccdfe8d0ap+6 0x1.50782d5e89456p+5 -0x1.e2fe766f665bap+3 "
    "0x1.e357bb6294ae5p+1"
)

# cos(2 pi t) = 1 + z * P(z)
COSINE_F64 = _f64(
    "-0x1.3bd3cc9be45dep+4 0x1.03c1f081b5a65p+6 -0x1.55d3c7e3c2d7bp+6 "
    "0x1.e1f5067b057f8p+5 -0x1.a6d1e6b52f412p+4 0x1.f9c840cb57470p+2 "
    "-0x1.b14b5b3de0d19p+0"
)

# exp(r) = 1 + r * P(r), |r| <= ln(2) / 2
EXPONENTIAL_F64 = _f64(
    "0x1.0000000000000p+0 0x1.000000000000cp-1 0x1.555555555555cp-3 "
    "0x1.555555554fe06p-5 0x1.111111110e9eep-7 0x1.6c16c18606fabp-10 "
    "0x1.a01a01b44bb2bp-13 0x1.a01995bb3bea8p-16 0x1.71ddee5f22b42p-19 "
    "0x1.28b0f602407a6p-22 0x1.af6ea400fd05cp-26"
)
