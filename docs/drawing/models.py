"""Pictures of the real models of tests/models, run in both runtimes."""

from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from drawing.canvas import ROOT, WIDTH, arrow, box, canvas, plot

if TYPE_CHECKING:
    import numpy as np
    from matplotlib.figure import Figure

VAE = ROOT / "tests" / "models" / "vae_decoder.onnx"
DROPOUT = ROOT / "tests" / "models" / "mc_dropout.onnx"

# One file in two runtimes

F32 = {"INFERENCE_PRECISION_HINT": "f32"}


def _of_runtimes(here: Any, there: Any) -> list[tuple[str, str, Any]]:
    """Two rows of images: their titles, colours and pixels."""
    return [("ONNX Runtime", "onnxruntime", here), ("OpenVINO", "openvino", there)]


def images_before() -> dict[str, Any]:
    """Eight images that each runtime samples, as exported, but for a seed: it does not help."""
    import numpy as np
    import onnx
    import onnxruntime
    import openvino

    feed = {name: np.zeros((8, 4), np.float32) for name in ("mean", "log_variance")}
    model = onnx.load(VAE)
    (node,) = (n for n in model.graph.node if n.op_type == "RandomNormalLike")
    node.attribute.append(onnx.helper.make_attribute("seed", 42.0))
    file = model.SerializeToString()
    core = openvino.Core()
    return {
        "title": "Before: a VAE whose noise has the seed 42",
        "rows": _of_runtimes(
            onnxruntime.InferenceSession(file).run(["images"], feed)[0],
            core.compile_model(core.read_model(file), "CPU", F32)(feed)["images"],
        ),
    }


def images_after() -> dict[str, Any]:
    """The same, rewritten."""
    import numpy as np
    import openvino

    import onnx_philox

    feed = {name: np.zeros((8, 4), np.float32) for name in ("mean", "log_variance")}
    feed["random_state"] = onnx_philox.PhiloxState.for_run(seed=42).to_array()
    model = onnx_philox.make_reproducible(VAE)
    session = onnx_philox.onnxruntime.InferenceSession(model)
    core = onnx_philox.openvino.register(openvino.Core())
    read = core.read_model(model.SerializeToString())
    return {
        "title": "After: the same VAE, rewritten, with the seed 42",
        "rows": _of_runtimes(
            session.run(["images"], feed)[0],
            core.compile_model(read, "CPU", F32)(feed)["images"],
        ),
    }


def images_of_torch() -> dict[str, Any]:
    """Eight images of the noise that diffusers draws in torch, and of the same seed here.

    It needs torch and diffusers, as the other pictures do not.
    """
    import numpy as np
    import onnx
    import torch
    from diffusers.utils.torch_utils import randn_tensor
    from onnx import numpy_helper
    from torch.nn import functional

    import onnx_philox

    weights = {
        tensor.name: torch.from_numpy(numpy_helper.to_array(tensor).copy())
        for tensor in onnx.load(VAE).graph.initializer
    }
    of_layer = [(weights[f"layers.{i}.weight"], weights[f"layers.{i}.bias"]) for i in (0, 3, 5)]
    noise = randn_tensor((8, 4), generator=torch.Generator().manual_seed(42))
    x = functional.linear(noise, *of_layer[0]).relu().reshape(8, 16, 4, 4)
    x = functional.conv_transpose2d(x, *of_layer[1], stride=2, padding=1).relu()
    x = functional.conv_transpose2d(x, *of_layer[2], stride=2, padding=1).sigmoid()
    pipe = onnx_philox.Pipeline(VAE, alignment="pytorch")
    feed = {name: np.zeros((8, 4), np.float32) for name in ("mean", "log_variance")}
    return {
        "title": "The same VAE and seed 42, with the noise of torch.manual_seed",
        "rows": [
            ("diffusers", "ink", x.numpy()),
            ("ONNX Runtime", "onnxruntime", pipe(feed, seed=42)["images"]),
        ],
    }


def draw_images(drawn: dict[str, Any], palette: SimpleNamespace) -> Figure:
    """Two rows of images, and between them whether the two of a column are equal."""
    import numpy as np
    from matplotlib.colors import LinearSegmentedColormap

    figure, page = canvas(236, palette)
    colours = LinearSegmentedColormap.from_list("", palette.image)
    for top, (label, name, images) in zip((42, 146), drawn["rows"], strict=True):
        colour = getattr(palette, name)
        page.text(20, top + 41, label, color=colour, fontsize=14, fontweight="bold")
        for i, image in enumerate(images):
            left = 148 + 81 * i
            place = (left, left + 72, top + 72, top)
            limits = {"vmin": 0, "vmax": 1, "aspect": "auto", "interpolation": "nearest"}
            page.imshow(image[0], colours, extent=place, **limits)
    page.set(xlim=(0, WIDTH), ylim=(236, 0))
    # Each runtime rounds what it computes from the noise.
    above, below = (images for *_, images in drawn["rows"])
    same = np.isclose(above, below, rtol=0, atol=1e-6)
    signs = [bool(image.all()) for image in same]
    assert all(signs) or not any(signs), "some images are equal, others are not"
    colour = palette.good if all(signs) else palette.bad
    for i in range(8):
        page.text(
            184 + 81 * i,
            130,
            "=" if all(signs) else "≠",
            color=colour,
            fontsize=19,
            fontweight="bold",
            ha="center",
            va="center",
        )
    verdict = "eight pairs, all equal" if all(signs) else "eight pairs, none equal"
    page.text(20, 26, drawn["title"], color=palette.ink, fontsize=14, fontweight="bold")
    page.text(787, 26, verdict, color=colour, fontsize=14, fontweight="bold", ha="right")
    return figure


# MC dropout


def draws_of_dropout() -> dict[str, np.ndarray]:
    """What the model answers for 121 x: as exported, and 500 masks for each in both runtimes."""
    import numpy as np
    import onnxruntime
    import openvino

    import onnx_philox

    x = np.linspace(-6, 6, 121, dtype=np.float32)[:, None]
    many = np.repeat(x, 500, axis=0)
    exported = onnxruntime.InferenceSession(DROPOUT).run(["y"], {"x": many})[0]
    model = onnx_philox.make_reproducible(DROPOUT)
    feed = {"x": many, "random_state": onnx_philox.PhiloxState.for_run(seed=42).to_array()}
    here = onnx_philox.onnxruntime.InferenceSession(model).run(["y"], feed)[0]
    core = onnx_philox.openvino.register(openvino.Core())
    read = core.read_model(model.SerializeToString())
    there = core.compile_model(read, "CPU", F32)(feed)["y"]
    drawn = {"exported": exported, "onnxruntime": here, "openvino": there}
    return {"x": x[:, 0]} | {name: y.reshape(121, 500) for name, y in drawn.items()}


def draw_dropout(drawn: dict[str, np.ndarray], palette: SimpleNamespace) -> Figure:
    """On the left one line, on the right a band."""
    import numpy as np

    figure, page = canvas(334, palette)
    x = drawn["x"]
    panels = (
        ((46, 72, 352, 226), "As exported, in ONNX Runtime"),
        ((434, 72, 352, 226), "Rewritten, in both runtimes"),
    )
    left, right = (plot(figure, palette, place, title) for place, title in panels)
    for axes in (left, right):
        axes.axvspan(-2, 2, color=palette.box, zorder=0)
        axes.plot(x, np.sin(2 * x), color=palette.muted, linewidth=1.2, linestyle=(0, (4, 3)))
        axes.set(xlim=(-6, 6), ylim=(-6, 6), xticks=range(-6, 7, 2), yticks=range(-4, 5, 2))
    assert not np.ptp(drawn["exported"], axis=1).any(), (
        "ONNX Runtime keeps the dropout: the pages say otherwise"
    )
    left.plot(x, drawn["exported"].mean(axis=1), color=palette.bad, linewidth=2)
    left.text(0, -5.3, "500 answers, all the same", color=palette.bad, fontsize=12, ha="center")
    y = drawn["onnxruntime"]
    for low, alpha in ((5, 0.25), (25, 0.35)):
        lower, upper = np.percentile(y, [low, 100 - low], axis=1)
        right.fill_between(x, lower, upper, color=palette.onnxruntime, alpha=alpha, linewidth=0)
    right.plot(x, y.mean(axis=1), color=palette.onnxruntime, linewidth=2)
    for edge in np.percentile(drawn["openvino"], [5, 95], axis=1):
        right.plot(x, edge, color=palette.openvino, linewidth=1.4, linestyle=(0, (1, 1.4)))
    right.set_yticklabels([])
    right.text(
        0, -5.3, "500 masks: mean, 50%, 90%", color=palette.onnxruntime, fontsize=12, ha="center"
    )
    right.text(0, 5, "dotted: OpenVINO's 90%", color=palette.openvino, fontsize=12, ha="center")
    left.text(
        0,
        5,
        "shaded: training data, dashed: sin(2x)",
        color=palette.muted,
        fontsize=12,
        ha="center",
    )
    page.text(
        20,
        26,
        "MC dropout: a network that learnt sin(2x) from \N{MINUS SIGN}2 to 2",
        color=palette.ink,
        fontsize=14,
        fontweight="bold",
    )
    return figure


# A graph before and after

# Where the values of the VAE lie: column and row. Constants and the decoder's inside are left out.
BEFORE = {
    "log_variance": (0, 0), "mul": (1, 0), "exp": (2, 0), "randn_like": (3.1, 1),
    "mul_7": (4.3, 0), "add_12": (5.3, 0), "mean": (5.3, 1),
    "linear": (6.5, 0), "images": (7.75, 0),
}  # fmt: skip
AFTER = BEFORE | {
    "onnx_philox.0.shape": (2, 1), "mean": (5.3, 1), "randn_like": (3.1, 1),
    "random_state": (0, 2), "onnx_philox.words": (1, 2), "onnx_philox.runs": (2, 2),
    "onnx_philox.this_run": (3.1, 2), "onnx_philox.state": (4.3, 2),
    "onnx_philox.next_run": (3.1, 3), "next_random_state": (4.3, 3), "out": (5.75, 3),
}  # fmt: skip
DECODER = ("linear", "relu", "view", "convolution", "relu_1", "convolution_1")


def graphs_of_the_vae() -> list[list[tuple[str, str, list[str], bool]]]:
    """Of both models each node: type, output, what it reads, and whether it is new."""
    import onnx

    import onnx_philox

    before = onnx.load(VAE).graph
    known = {(node.op_type, node.name) for node in before.node}
    after = onnx_philox.make_reproducible(VAE).graph
    return [
        [
            (node.op_type, node.output[0], list(node.input), (node.op_type, node.name) not in known)
            for node in graph.node
            if node.op_type != "Constant"
        ]
        for graph in (before, after)
    ]


def draw_rewrite(
    graphs: list[list[tuple[str, str, list[str], bool]]], palette: SimpleNamespace
) -> Figure:
    """The graph as exported above, rewritten below; what is new has the colour of good."""
    figure, page = canvas(396, palette)
    places = (
        ("As exported: each runtime makes noise of its own", BEFORE, 26),
        ("Rewritten: the noise comes from a state, an input of the model", AFTER, 176),
    )
    for (title, where, top), nodes in zip(places, graphs, strict=True):
        page.text(20, top, title, color=palette.ink, fontsize=14, fontweight="bold")
        kinds = {output: (op, new) for op, output, _, new in nodes}
        reads = {output: inputs for _, output, inputs, _ in nodes}
        boxes = {}
        for value, (column, row) in where.items():
            text, is_new = kinds.get(value, (value, value == "random_state"))
            is_value = value not in kinds
            if value == "linear":
                text = f"decoder:\n{len(DECODER) + 1} nodes"
            elif value == "images":
                text, is_value = value, True
            elif value == "out":
                text, is_new, is_value = "next_random_state", True, True
            is_draw = text.startswith("Random")
            style = {}
            if is_value:
                style = {"facecolor": "none", "edgecolor": "none"}
            elif is_new:
                style = {"edgecolor": palette.good, "linewidth": 1.4}
            if is_draw:
                colour = palette.good if is_new else palette.bad
                style = {
                    "facecolor": colour,
                    "edgecolor": colour,
                    "ink": palette.page,
                    "weight": "bold",
                }
            elif is_new:
                style["ink"] = palette.good
            width = 9 + 8.3 * max(map(len, text.split("\n")))
            tall = 42 if value == "linear" else 28
            at = (62 + 90 * column, top + 40 + 48 * row)
            boxes[value] = box(page, at, (width, tall), text, palette, **style)
        edges = [(i, output) for output, inputs in reads.items() for i in inputs]
        edges += [("linear", "images"), ("next_random_state", "out")]
        for start, end in edges:
            if start in boxes and end in boxes and (start, end) != ("convolution_1", "images"):
                is_new = kinds.get(start, ("", start == "random_state"))[1]
                is_new |= kinds.get(end, ("", end == "out"))[1] and end != "randn_like"
                colour = palette.good if is_new else palette.muted
                arrow(page, boxes[start], boxes[end], colour)
    return figure


# The state


def draw_state(_: None, palette: SimpleNamespace) -> Figure:
    """What its six words are, and what a draw of ten words takes of the stream."""
    figure, page = canvas(318, palette)

    def cells(left: float, top: float, width: float, texts: list[str], colour: str) -> None:
        for i, text in enumerate(texts):
            page.fill_between(
                [left + i * width, left + (i + 1) * width],
                top,
                top + 38,
                facecolor=colour,
                alpha=0.28 if colour != palette.box else 1,
                edgecolor=palette.page,
                linewidth=2,
            )
            page.text(
                left + (i + 0.5) * width,
                top + 19,
                text,
                color=palette.ink,
                fontsize=13,
                family="monospace",
                ha="center",
                va="center",
            )

    def say(x: float, y: float, text: str, colour: str = palette.muted, **style: str) -> None:
        page.text(x, y, text, **({"color": colour, "fontsize": 12} | style))

    say(20, 26, "state: uint32[6]", palette.ink, fontsize=14, fontweight="bold")
    cells(20, 40, 62, ["c0", "c1", "c2", "c3"], palette.onnxruntime)
    cells(288, 40, 62, ["k0", "k1"], palette.bad)
    say(20, 98, "128-bit counter: where in the stream", palette.onnxruntime)
    say(288, 98, "64-bit key: which stream", palette.bad)
    say(424, 63, "the least significant word comes first")
    say(
        20,
        146,
        "The stream of a key: four words for each counter",
        palette.ink,
        fontsize=14,
        fontweight="bold",
    )
    for i in range(5):
        say(
            96 + 152 * i, 174, "counter" + (f" + {i}" if i else ""), ha="center", family="monospace"
        )
    cells(20, 184, 38, [""] * 10, palette.good)
    cells(400, 184, 38, [""] * 2, palette.line)
    cells(476, 184, 38, [""] * 8, palette.box)
    for i in range(1, 5):
        page.plot([20 + 152 * i] * 2, [180, 226], color=palette.muted, linewidth=1.4)
    page.plot([22, 22, 398, 398], [230, 237, 237, 230], color=palette.good, linewidth=1.4)
    say(210, 256, "a draw of 10 words", palette.good, ha="center")
    say(438, 244, "dropped", ha="center")
    page.annotate(
        "",
        (476, 232),
        (476, 278),
        arrowprops={"arrowstyle": "-|>", "color": palette.bad, "linewidth": 1.8},
    )
    say(
        476,
        296,
        "next_state: counter + 3, the same key",
        palette.bad,
        ha="center",
        fontweight="bold",
    )
    return figure
