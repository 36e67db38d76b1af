"""What `run`, `compare` and `replay` print for some twenty models, errors too, and records.

    python tests/transcripts.py make FOLDER        # models, inputs and records, by this commit
    python tests/transcripts.py say FOLDER FILE    # what this commit prints of them, as JSON

Make them by one commit and say by two: where two files differ, a change was seen by users. It is no
test, but what to look at beside the tests when the rooms of `run` or of `Pipeline` are changed.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import cli
import numpy as np
import onnx
import onnx.compose
import openvino as ov
from onnx import parser
from openvino import opset8
from openvino_models import model, parameter, uniform

import onnx_philox
from onnx_philox import Pipeline, graphs

TESTS = Path(__file__).parent
NOISY = """<ir_version: 8, opset_import: ["": 17]>
noisy (float[batch, 3] x) => (float[batch, 3] y) { noise = RandomNormalLike(x) y = Add(x, noise) }
"""
COIN = """<ir_version: 8, opset_import: ["": 17]>
coin (float[n] p, float[n] scale) => (float[n] kept, bool[n] fell) {
  drawn = Bernoulli(p)
  fell = Cast<to = 9>(drawn)
  kept = Mul(drawn, scale)
}"""
RATES = """<ir_version: 8, opset_import: ["": 17, "onnx_philox": 1]>
rates (int64[k] shape, uint32[6] state) => (float[a, b] values, uint32[6] next_state) {
  low = Constant<value = float {0.0}>()
  high = Constant<value = float {1.0}>()
  values, next_state = onnx_philox.RandomUniform<output_type = "f32">(shape, low, high, state)
}"""
PLAIN = """<ir_version: 8, opset_import: ["": 17]>
plain (float[batch, 3] x) => (float[batch, 3] y) { y = Exp(x) }"""
OLD = ("bert", "branches", "diffusion_loop", "diffusion_scan", "loop_rows", "mc_dropout_rows")
OLD = (*OLD, "old_opset", "seeded", "standard_onnxruntime", "standard_openvino", "vae_decoder")
INPUT = ("--input", "x=[[1,2,3],[4,5,6]]")


def make(folder: Path) -> None:
    """The models, inputs and records; the folder is then the working directory."""
    folder.mkdir(parents=True)
    os.chdir(folder)
    for stem in (*OLD, "every_operator"):
        for path in TESTS.glob(f"rewritten_by_e86cabc/{stem}.[ox]*"):
            shutil.copy(path, ".")
    shutil.copy(TESTS / "rewritten_by_e86cabc/every_operator.bin", ".")
    for name in ("mc_dropout", "voice", "tensorflow_draws"):
        onnx.save(onnx_philox.make_reproducible(TESTS / f"models/{name}.onnx"), f"{name}.onnx")
    noisy, coin = map(parser.parse_model, (NOISY, COIN))
    onnx.save(noisy, "own.onnx")
    onnx.save(parser.parse_model(PLAIN), "plain.onnx")
    onnx.save(parser.parse_model(RATES), "rates.onnx")
    new = onnx_philox.make_reproducible(noisy)
    onnx.save(new, "noisy.onnx")
    onnx.save(onnx.compose.add_prefix(new, "a/"), "prefixed.onnx")
    onnx.save(onnx_philox.make_reproducible(coin), "coin.onnx")
    onnx.save(onnx_philox.make_reproducible(noisy, seed=3), "fixed.onnx")
    rows = onnx_philox.make_reproducible(noisy, per_row=True)
    onnx.save(rows, "rows.onnx")
    onnx.save(onnx_philox.make_reproducible(noisy, alignment="pytorch"), "torch.onnx")
    torch_rows = onnx_philox.make_reproducible(noisy, alignment="pytorch", per_row=True)
    onnx.save(torch_rows, "torch_rows.onnx")
    onnx.save(graphs.random_normal([2], 0.0, 1.0, "f32", stateful=True), "built.onnx")
    onnx.save(graphs.random_uniform([4], 0.0, 1.0, "bf16", stateful=True), "bf16.onnx")
    of_rank_4 = graphs.random_generator([2, 3])
    of_rank_4.graph.input[0].CopyFrom(
        onnx.helper.make_tensor_value_info("state", onnx.TensorProto.UINT32, [1, 1, 1, 6])
    )
    onnx.save(of_rank_4, "rank4.onnx")
    core = onnx_philox.openvino.register(ov.Core())
    for name, each in {"noisy": new, "rows": rows}.items():
        ov.save_model(core.read_model(each.SerializeToString()), f"{name}.xml")
    x = parameter("x", [-1, 2])
    own = model({"y": opset8.add(x, uniform([1, 2]))}, [x])
    ov.save_model(own, "own.xml")
    ov.save_model(onnx_philox.make_reproducible(own), "never.xml")
    ov.save_model(_with_a_variable(), "variable.xml")
    ov.save_model(onnx_philox.openvino.make_stateful(core.read_model("noisy.xml")), "stateful.xml")
    Path("bad.onnx").write_bytes(b"no model")
    np.save("x.npy", np.arange(6, dtype=np.float32).reshape(2, 3))
    np.save("wide.npy", np.arange(6000, dtype=np.float32).reshape(2000, 3))
    np.savez("all.npz", x=np.ones((2, 3), np.float32))
    np.save("at.npy", onnx_philox.PhiloxState.for_run(5, 9).to_array())
    np.save("rows.npy", onnx_philox.row_states([3, 8]))
    torch_s = [onnx_philox.TorchState.from_seed(seed).to_array() for seed in (3, 8)]
    np.save("torch_rows.npy", np.array(torch_s))
    for name, each in _records().items():
        Path(f"{name}.json").write_text(json.dumps(each))


def _with_a_variable() -> ov.Model:
    """A sum that goes on from run to run, of what is drawn."""
    x = parameter("x", [1, 2])
    drawn = opset8.add(x, uniform([1, 2]))
    held = opset8.read_value(opset8.constant(np.zeros((1, 2), np.float32)), "held")
    total = opset8.add(held, drawn)
    made = ov.Model(
        [opset8.result(total, name="total")], [opset8.assign(total, "held")], [x], "sums"
    )
    made.outputs[0].set_names({"total"})
    return onnx_philox.make_reproducible(made)


def _records() -> Iterator[Any]:
    """Of `run` and of results, by name."""
    records: dict[str, Any] = {}
    for stem in (*OLD, "noisy", "rows", "torch", "rates", "rank4", "fixed", "mc_dropout"):
        runtimes = ("onnxruntime", "openvino")
        for runtime in runtimes:
            given = ("--input", "shape=[2,3]") if stem == "rates" else ("--fill",)
            given = (*given, "--runs", 2, "--runtime", runtime)
            given += ("--precision", "f32") if runtime == "openvino" else ()
            name = f"{stem}.{runtime}.record.json"
            cli.invoke("run", f"{stem}.onnx", *given, "--record", name)
    cli.invoke("run", "never.xml", "--fill", "--seed", 4, "--record", "never.record.json")
    cli.invoke("run", "noisy.onnx", "--input", "x=wide.npy", "--record", "wide.record.json")
    given = ("--input", "random_state=rows.npy", *INPUT)
    cli.invoke("run", "rows.onnx", *given, "--record", "given.record.json")
    x = np.ones((2, 3), np.float32)
    for runtime in ("onnxruntime", "openvino"):
        for name, options in (("own", {}), ("own_rows", {"per_row": True}), ("noisy", {})):
            pipe = Pipeline(f"{name.partition('_')[0]}.onnx", runtime=runtime, **options)
            request = pipe.request(**({"seeds": [5, 6]} if options else {"seed": 7}))
            records[f"{name}.{runtime}.result"] = [request({"x": x}) for _ in range(2)][1].record()
        pipe = Pipeline("own.onnx", runtime=runtime, alignment="pytorch")
        records[f"torch.{runtime}.result"] = pipe({"x": x}, seed=5).record()
        pipe = Pipeline("rank4.onnx", runtime=runtime)
        records[f"rank4.{runtime}.result"] = pipe({}, seed=5).record()
    pipe = Pipeline("never.xml", runtime="openvino")
    records["never.result"] = pipe({"x": np.ones((1, 2), np.float32)}, seed=5).record()
    pipe = Pipeline(Path("noisy.onnx").read_bytes())
    records["bytes.result"] = pipe({"x": x}, seed=5).record()
    return records


def commands() -> Iterator[tuple[str, ...]]:
    """What is asked of the command, in words."""
    onnx_files = sorted(path.name for path in Path().glob("*.onnx"))
    for name in [*onnx_files, *sorted(path.name for path in Path().glob("*.xml"))]:
        fed = ("--fill",) if name != "rates.onnx" else ("--input", "shape=[2,3]")
        yield ("run", name, *fed, "--runs", "3", "--drawn", "--seed", "42")
        yield ("run", name, *fed, "--runs", "2")
        yield ("run", name)
        yield ("run", name, *fed, "--runtime", "openvino", "--first-run", "3")
        yield ("compare", name, *fed, "--runs", "2", "--seed", "42")
        yield ("compare", name, *fed)
        yield ("run", name, *fed, "--runtime", "reference")
    for arguments in (
        ("noisy.onnx", *INPUT, "--backend", "python"),
        ("noisy.onnx", *INPUT, "--backend", "none"),
        ("noisy.onnx", *INPUT, "--precision", "f32"),
        ("noisy.onnx", *INPUT, "--device", "GPU"),
        ("noisy.onnx", *INPUT, "--runtime", "openvino", "--device", "NPU.7"),
        ("noisy.onnx", *INPUT, "--runtime", "openvino", "--precision", "f16"),
        ("noisy.onnx", *INPUT, "--runtime", "openvino", "--device", "HETERO:CPU"),
        ("noisy.onnx", *INPUT, "--runtime", "standard"),
        ("noisy.onnx", *INPUT, "--runtime", "standard", "--backend", "openvino"),
        ("noisy.onnx", *INPUT, "--runtime", "none"),
        ("noisy.onnx", *INPUT, *INPUT),
        ("noisy.onnx", *INPUT, "--seed", "-1"),
        ("noisy.onnx", *INPUT, "--first-run", "4294967295", "--runs", "2"),
        ("noisy.onnx", "--input", "x=[1,2]"),
        ("noisy.onnx", "--input", "z=[1,2]"),
        ("noisy.onnx", "--input", "x=none.npy"),
        ("noisy.onnx", "--input", "x=x.npy", "--input", "random_state=at.npy"),
        ("noisy.onnx", "--input", "x=x.npy", "--input", "random_state=at.npy", "--seed", "3"),
        ("noisy.onnx", "--input", "random_state=rows.npy", *INPUT),
        ("noisy.onnx", "--input", "all.npz"),
        ("noisy.xml", *INPUT, "--runtime", "onnxruntime"),
        ("noisy.xml", *INPUT, "--precision", "bf16"),
        ("rows.onnx", *INPUT, "--first-run", "2"),
        ("rows.onnx", *INPUT, "--input", "random_state=rows.npy", "--runs", "2"),
        ("rows.xml", *INPUT, "--input", "random_state=rows.npy"),
        ("rows.onnx", "--input", "random_state=rows.npy", "--input", "x=[[1,2,3]]"),
        ("torch_rows.onnx", *INPUT, "--seed", "3"),
        ("torch_rows.onnx", *INPUT, "--input", "random_state=torch_rows.npy", "--runs", "2"),
        ("rates.onnx", "--input", "shape=[2,-3]"),
        ("rates.onnx", "--input", "shape=[2,-3]", "--runtime", "openvino"),
        ("none.onnx", *INPUT),
        ("noisy.onnx", *INPUT, "--record", "none/record.json"),
        ("noisy.onnx", *INPUT, "--record", "noisy.onnx"),
        ("variable.xml", "--fill", "--runs", "3", "--first-run", "1"),
    ):
        yield ("run", *arguments)
    for arguments in (
        ("noisy.onnx", *INPUT, "--runtime", "openvino", "--runtime", "onnxruntime"),
        ("noisy.onnx", *INPUT, "--runtime", "reference", "--runtime", "standard"),
        ("noisy.onnx", *INPUT, "--runtime", "openvino"),
        ("noisy.onnx", *INPUT, "--precision", "f32", "--precision", "bf16"),
        ("noisy.onnx", *INPUT, "--precision", "f16"),
        ("noisy.onnx", *INPUT, "--device", "CPU", "--device", "GPU"),
        ("noisy.onnx", *INPUT, "--device", "GPU"),
        ("noisy.xml", *INPUT, "--precision", "f32", "--precision", "f32"),
        ("noisy.xml", *INPUT, "--precision", "f32", "--precision", "f16"),
        ("noisy.xml", *INPUT, "--device", "CPU", "--device", "HETERO:CPU"),
        ("noisy.xml", *INPUT, "--runtime", "onnxruntime"),
        ("noisy.onnx", *INPUT, "--rtol", "0", "--atol", "0"),
        ("rows.onnx", *INPUT, "--seed", "3", "--runs", "2", "--first-run", "5"),
        ("torch_rows.onnx", *INPUT, "--input", "random_state=torch_rows.npy", "--runs", "2"),
        ("noisy.onnx", "--input", "x=[1,2]"),
        ("noisy.onnx", "--input", "x=x.npy", "--input", "random_state=at.npy", "--runs", "2"),
    ):
        yield ("compare", *arguments)
    for name in sorted(path.name for path in Path().glob("*.re[cs]*.json")):
        more = ("--model", "noisy.onnx") if name == "bytes.result.json" else ()
        yield ("replay", name, *more)
        for other in ("openvino", "onnxruntime", "reference"):
            yield ("replay", name, *more, "--runtime", other)
    record = "noisy.onnxruntime.record.json"
    yield ("replay", record, "--model", "rows.onnx")
    yield ("replay", record, "--model", "coin.onnx")
    yield ("replay", record, "--model", "fixed.onnx")
    yield ("replay", record, "--model", "bad.onnx")
    yield ("replay", record, "--model", "never.xml")
    yield ("replay", record, "--input", "x=x.npy")
    yield ("replay", record, "--input", "x=[[1,2]]")
    yield ("replay", "rows.onnxruntime.record.json", "--model", "noisy.onnx")
    yield ("replay", "torch.onnxruntime.record.json", "--model", "noisy.onnx")
    yield ("replay", "wide.record.json", "--input", "x=x.npy")
    yield ("replay", "bytes.result.json")
    yield ("replay", "none.json")


def say(folder: Path, file: Path) -> None:
    """Writes what each command prints, as text and as JSON."""
    file = file.absolute()
    os.chdir(folder)
    said = {}
    for words in commands():
        for each in (words, (*words, "--json")):
            done = cli.invoke(*each, env={"COLUMNS": "120"})
            # What a model draws by nodes of its own is other in each run.
            stdout = re.sub("[0-9a-f]{12,}", "", done.stdout) if "own." in each[1] else done.stdout
            said[" ".join(each)] = [done.exit_code, stdout, done.stderr, repr(done.exception)]
    for path in sorted(Path().glob("own*.result.json")):
        said[str(path)] = path.read_text()
    file.write_text(json.dumps(said, indent=1, ensure_ascii=False))


if __name__ == "__main__":
    what, folder, *rest = sys.argv[1:]
    make(Path(folder)) if what == "make" else say(Path(folder), Path(rest[0]))
