"""Pictures of numbers: speed, as benchmarks/README.md has it, and what the operators draw."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from types import SimpleNamespace
from typing import TYPE_CHECKING, NamedTuple

from drawing.canvas import ROOT, WIDTH, canvas, plot

if TYPE_CHECKING:
    import numpy as np
    from matplotlib.figure import Figure

BENCHMARKS = ROOT / "benchmarks" / "README.md"

PEERS = {
    "ONNX Runtime": [
        ("uniform", "ONNX Runtime f32, state", "its RandomUniform", "2^24"),
        ("normal", "ONNX Runtime RandomNormal, rewritten", "its RandomNormal", "2^24"),
        ("Bernoulli", "ONNX Runtime Bernoulli, rewritten", "its Bernoulli", "2^24"),
        ("Multinomial", "ONNX Runtime Multinomial, rewritten", "its Multinomial", "2^24"),
        ("Dropout", "ONNX Runtime Dropout, rewritten", "its Dropout", "2^24"),
        ("uniform, 2¹⁰ values", "ONNX Runtime f32, state", "its RandomUniform", "2^10"),
    ],
    "OpenVINO": [
        ("uniform", "OpenVINO f32, state", "its RandomUniform", "2^24"),
        ("normal", "OpenVINO RandomNormal, rewritten", "its RandomNormal", "2^24"),
        ("Bernoulli", "OpenVINO Bernoulli, rewritten", "its Bernoulli", "2^24"),
        ("Multinomial", "OpenVINO Multinomial, rewritten", "its Multinomial", "2^24"),
        ("uniform, 2¹⁰ values", "f32, state", "its RandomUniform", "2^10"),
    ],
    "NumPy, generate": [
        ("NumPy, SFC64", "generate float32", "NumPy SFC64", "2^24 w"),
        ("NumPy, Philox4x64", "generate float32", "NumPy Philox (4x64)", "2^24 w"),
        ("randomgen, Philox4x32", "generate float32", "randomgen Philox4x32", "2^24 w"),
        ("MKL, Philox4x32", "generate float32", "MKL Philox4x32", "2^24 w"),
    ],
}
AROUND_KERNELS = {
    "torch, generate": [
        ("permutation of 10⁴", "RandomPermutation of 10,000, torch.randperm"),
        (
            "10³ samples of 10³ classes",
            "RandomCategorical, 1,000 samples of 1,000, torch.multinomial",
        ),
        (
            "token, top 50 of 32,000",
            "RandomToken, top_k 50 of 32,000, torch's topk, softmax, multinomial",
        ),
        ("token of 32,000", "RandomToken, plain, of 32,000, torch's softmax, multinomial"),
    ],
}
"""Rows of the table of `around_the_kernels.py`, which has ratios alone."""


class Bar(NamedTuple):
    """One bar of the picture of speed."""

    group: str
    label: str
    ratio: float
    """How many times as fast, on one thread."""
    times: str
    """Ours and theirs; empty where the table has the ratio alone."""


def speed_rows() -> Iterator[Bar]:
    """The bars, from the tables of the page."""
    table = [
        [cell.strip() for cell in line.strip("|").split("|")]
        for line in BENCHMARKS.read_text().splitlines()
        if line.startswith("|")
    ]
    for group, bars in PEERS.items():
        for label, what, against, size in bars:
            (row,) = (r for r in table if r[:4] == [what, against, "1", size])
            yield Bar(group, label, float(row[6]), f"{row[4]} : {row[5]}")
    for group, named in AROUND_KERNELS.items():
        for label, what in named:
            (row,) = (r for r in table if r[0] == what)
            yield Bar(group, label, float(row[3]), "")


def draw_speed(rows: list[Bar], palette: SimpleNamespace) -> Figure:
    """Bars of ratios, on a logarithmic axis, with the line at 1."""
    import math

    step, first = 23, 82
    groups = len({row.group for row in rows})
    height = first + step * len(rows) + 34 * groups + 24
    figure, page = canvas(height, palette)
    page.text(
        20,
        26,
        "One draw, beside the peer's own",
        color=palette.ink,
        fontsize=14,
        fontweight="bold",
    )
    page.text(
        20,
        47,
        "how many times as fast, on one thread; draws of 2²⁴ values unless it says otherwise",
        color=palette.muted,
        fontsize=12,
    )

    def x(ratio: float) -> float:
        return 262 + 72 * math.log2(ratio)

    for ratio in (0.5, 1, 2, 4, 8, 16):
        page.plot([x(ratio)] * 2, [64, height - 40], color=palette.line, linewidth=0.8, zorder=0)
        page.text(
            x(ratio),
            height - 20,
            f"{ratio:g}\N{MULTIPLICATION SIGN}" if ratio != 1 else "as fast",
            color=palette.muted,
            fontsize=12,
            ha="center",
        )
    page.plot([x(1)] * 2, [64, height - 40], color=palette.muted, linewidth=1.4, zorder=3)
    y, group = first - 20.0, ""
    for name, label, ratio, times in rows:
        if name != group:
            group = name
            y += 18
            page.text(20, y, group, color=palette.ink, fontsize=13, fontweight="bold")
            y += 20
        faster = ratio >= 1
        colour = palette.good if faster else palette.bad
        page.barh(y, x(ratio) - x(1), 14, x(1), color=colour, zorder=2)
        page.text(20, y, label, color=palette.ink, fontsize=12, va="center")
        page.text(
            max(x(ratio), x(1)) + 8,
            y,
            f"{ratio:.3g}\N{MULTIPLICATION SIGN}",
            color=colour,
            fontsize=12,
            fontweight="bold",
            va="center",
            bbox={"facecolor": palette.page, "edgecolor": "none", "pad": 1},
        )
        page.text(
            WIDTH - 18,
            y,
            times,
            color=palette.muted,
            fontsize=11,
            ha="right",
            va="center",
            bbox={"facecolor": palette.page, "edgecolor": "none", "pad": 1},
        )
        y += step
    page.set(xlim=(0, WIDTH), ylim=(height, 0))
    return figure


# How far normals are from their exact values


def errors_of_normals() -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Of each type the drawn normals, and how far they are from the exact ones.

    f32 beside float64, and f64 beside mpmath with 40 digits: of the same uniforms.
    """
    import mpmath
    import numpy as np

    from onnx_philox import PhiloxState, reference

    state = PhiloxState.for_run(seed=42).to_array()
    found = {}
    for type_, count in (("f32", 2**18), ("f64", 2**13)):
        values, _ = reference.random_normal([count], 0, 1, type_, state=state)
        uniforms, _ = reference.random_uniform([count], 0, 1, type_, state=state)
        u, v = uniforms.astype(np.float64).reshape(-1, 2).T
        if type_ == "f32":
            r = np.sqrt(-2 * np.log(np.maximum(u, 1e-7)))
            exact = np.stack([r * np.sin(2 * np.pi * v), r * np.cos(2 * np.pi * v)], axis=1)
            found[type_] = values, values - exact.ravel()
            continue
        errors = []
        with mpmath.workdps(40):
            for pair, (a, b) in zip(values.reshape(-1, 2), zip(u, v, strict=True), strict=True):
                r = mpmath.sqrt(-2 * mpmath.log(max(mpmath.mpf(a), mpmath.mpf("1e-7"))))
                turns = 2 * mpmath.mpf(b)
                errors += [
                    float(mpmath.mpf(pair[0]) - r * mpmath.sinpi(turns)),
                    float(mpmath.mpf(pair[1]) - r * mpmath.cospi(turns)),
                ]
        found[type_] = values, np.array(errors)
    return found


def draw_errors(
    found: dict[str, tuple[np.ndarray, np.ndarray]], palette: SimpleNamespace
) -> Figure:
    """A point for each normal, and half a unit in the last place beside them."""
    import numpy as np

    figure, page = canvas(376, palette)
    page.text(
        20,
        26,
        "How far a normal is from its exact value",
        color=palette.ink,
        fontsize=14,
        fontweight="bold",
    )
    panels = {
        "f32": ((56, 74, 330, 232), 1e-6, 1.3, 1.142, "f32, in 10⁻⁶", 0.5),
        "f64": ((456, 74, 330, 232), 1e-15, 2, 1.75, "f64, in 10⁻¹⁵", 1),
    }
    for type_, (values, errors) in found.items():
        place, unit, top, bound, title, tick = panels[type_]
        axes = plot(figure, palette, place, title)
        axes.plot(
            values,
            errors / unit,
            ".",
            color=palette.onnxruntime,
            markersize=1.6,
            alpha=0.35 if type_ == "f32" else 0.6,
            rasterized=True,
            markeredgewidth=0,
        )
        grid = np.linspace(-5.2, 5.2, 4001).astype(values.dtype)
        half = np.abs(np.spacing(grid)).astype(np.float64) / 2 / unit
        for sign in (-1, 1):
            axes.plot(grid, sign * half, color=palette.bad, linewidth=1.3)
            axes.axhline(sign * bound, color=palette.good, linewidth=1.4, linestyle=(0, (5, 3)))
        axes.set(
            xlim=(-5.2, 5.2), ylim=(-top, top), xticks=range(-4, 5, 2), yticks=(-tick, 0, tick)
        )
        axes.text(
            -5.1,
            bound - 0.05 * top,
            "no f32 normal is further off"
            if type_ == "f32"
            else "none of a million was further off",
            color=palette.good,
            fontsize=11,
            va="top",
        )
    page.text(
        20, 362, "points: normals as drawn, by their value", color=palette.onnxruntime, fontsize=12
    )
    page.text(
        420, 362, "half a unit in the last place of such a value", color=palette.bad, fontsize=12
    )
    return figure


# Histograms and exact curves

DRAWN = 2**20
P = 0.3
LOGITS = (0.0, 1.0, 2.0, 0.5, -1.0, 1.5)
ALPHA, RATE, SAMPLES = 2.5, 3.5, 3


def draws_of_operators() -> dict[str, np.ndarray]:
    """A million of each distribution, by ONNX Runtime."""
    import numpy as np

    import onnx_philox

    graphs, one = onnx_philox.graphs, {"global_seed": 42}
    models = {
        "uniform": graphs.random_uniform([DRAWN], 0, 1, "f32", **one),
        "normal": graphs.random_normal([DRAWN], 0, 1, "f32", **one),
        "bernoulli": graphs.random_bernoulli([DRAWN], np.float32(P), **one),
        "categorical": graphs.random_categorical(np.float32([LOGITS]), sample_size=DRAWN, **one),
        "exponential": graphs.random_exponential([DRAWN], 1, "f32", **one),
        "gamma": graphs.random_gamma([DRAWN], ALPHA, "f32", **one),
        "poisson": graphs.random_poisson([DRAWN], RATE, "i32", **one),
        "once": graphs.random_categorical(
            np.tile(np.float32(LOGITS), (DRAWN, 1)), sample_size=SAMPLES, replacement=False, **one
        ),
    }
    return {
        name: onnx_philox.onnxruntime.InferenceSession(model).run(None, {})[0].ravel()
        for name, model in models.items()
    }


def shares_of_classes(weights: np.ndarray) -> list[float]:
    """How often each class is among `SAMPLES` that are drawn without replacement."""
    shares = [0.0] * len(weights)
    for order in itertools.permutations(range(len(weights)), SAMPLES):
        share, left = 1.0, 1.0
        for k in order:
            share *= weights[k] / left
            left -= weights[k]
        for k in order:
            shares[k] += share
    return shares


def draw_distributions(drawn: dict[str, np.ndarray], palette: SimpleNamespace) -> Figure:
    """Eight histograms; what is exact is drawn over them."""
    import numpy as np
    from scipy import stats

    figure, page = canvas(858, palette)
    page.text(
        20,
        26,
        "A million draws of each operator",
        color=palette.ink,
        fontsize=14,
        fontweight="bold",
    )
    page.text(
        WIDTH - 18, 26, "line: the exact distribution", color=palette.bad, fontsize=12, ha="right"
    )
    places = [(x, y, 334, 128) for y in (74, 274, 474, 674) for x in (56, 452)]
    titles = {
        "uniform": "RandomUniform",
        "normal": "RandomNormal",
        "exponential": "RandomExponential",
        "gamma": f"RandomGamma, alpha = {ALPHA}",
        "poisson": f"RandomPoisson, rate = {RATE}",
        "bernoulli": f"RandomBernoulli, p = {P}",
        "categorical": "RandomCategorical",
        "once": f"{SAMPLES} classes without replacement",
    }
    plots = {
        name: plot(figure, palette, place, title)
        for place, (name, title) in zip(places, titles.items(), strict=True)
    }
    bars = {"color": palette.onnxruntime, "alpha": 0.55, "linewidth": 0}
    exact = {"color": palette.bad, "linewidth": 2}

    for name, density, low, high, top in (
        ("uniform", stats.uniform.pdf, 0, 1, 1.25),
        ("normal", stats.norm.pdf, -4.5, 4.5, 0.45),
        ("exponential", stats.expon.pdf, 0, 6, 1.1),
        ("gamma", stats.gamma(ALPHA).pdf, 0, 10, 0.34),
    ):
        edges = np.linspace(low, high, 91)
        counts, _ = np.histogram(drawn[name], edges)
        plots[name].stairs(counts / DRAWN / (edges[1] - edges[0]), edges, fill=True, **bars)
        x = np.linspace(low, high, 181)
        plots[name].plot(x, density(x), **exact)
        plots[name].set(xlim=(low, high), ylim=(0, top))
    plots["uniform"].set(yticks=(0, 0.5, 1), xticks=(0, 0.25, 0.5, 0.75, 1))
    plots["normal"].set(yticks=(0, 0.2, 0.4), xticks=range(-4, 5, 2))
    plots["exponential"].set(yticks=(0, 0.5, 1))
    plots["gamma"].set(yticks=(0, 0.15, 0.3))

    weights = np.exp(LOGITS) / np.exp(LOGITS).sum()
    logits = [f"{x:g}" for x in LOGITS]
    counts_of = range(13)
    for name, labels, expected, ticks in (
        ("poisson", [str(k) for k in counts_of], stats.poisson(RATE).pmf(counts_of), (0, 0.1, 0.2)),
        ("bernoulli", ["false", "true"], [1 - P, P], (0, 0.3, 0.7)),
        ("categorical", logits, weights, (0, 0.2, 0.4)),
        ("once", logits, shares_of_classes(weights), (0, 0.4, 0.8)),
    ):
        axes = plots[name]
        counts = np.bincount(drawn[name].astype(int), minlength=len(labels)) / DRAWN
        axes.bar(labels, counts[: len(labels)], 0.7, **bars)
        for i, share in enumerate(expected):
            axes.plot([i - 0.42, i + 0.42], [share, share], **exact)
        axes.set(ylim=(0, 1.2 * max(expected)), xlim=(-0.6, len(labels) - 0.4), yticks=ticks)
    for right in (404, WIDTH - 18):
        page.text(
            right, 847, "the logit of each class", color=palette.muted, fontsize=12, ha="right"
        )
    return figure
