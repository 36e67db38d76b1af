"""What the commands refuse: one line that begins with the command, and nothing is written."""

from __future__ import annotations

import os
import re
import shlex
import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import numpy as np
import onnx
import pytest

import onnx_philox
from onnx_philox import graphs
from tests.common import cli
from tests.common.cases import assert_refused, parse, pattern_of, table
from tests.common.cli import COUNTING, INPUT, NOISY
from tests.common.file_cases import tree
from tests.common.runtimes import save_ir

UNKNOWN = """g (float[N, 8] x, float[8] b) => (float[N, 8] y, float[N, 8] z)
    <float ratio = {0.25}, bool training = {1}> {
        y, m = com.example.DropBlock (x, b, , ratio, training)  z = RandomNormalLike (x) }"""


def identity(type_: str) -> str:
    return f"g ({type_} x) => ({type_} y) {{ y = Identity (x) }}"


MODELS = {
    "model": NOISY,
    "plain": NOISY.replace("RandomNormalLike", "Neg"),
    "my model": NOISY,
    "counting": COUNTING,
    "unknown": UNKNOWN,
    "bfloat16": identity("bfloat16[n]"),
    "strings": identity("string[2]"),
    "huge": identity("float[99999999999,99999]"),
    "sequence": """g (seq(float[2]) x, float[2] z) => (float[2] y) {
        n = RandomNormalLike (z)  y = Add (z, n) }""",
}


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Models, arrays, and files that are neither."""
    folder = tmp_path_factory.mktemp("refusals")
    parsed = {name: parse(text) for name, text in MODELS.items()}
    rewrite = onnx_philox.make_reproducible
    noisy = parsed["model"]
    built = graphs.random_uniform([5], 0, 1, "f32", stateful=True)
    for name, model in {
        **parsed,
        **{"noisy": rewrite(noisy), "inside": rewrite(noisy, seed=1)},
        **{"rows": rewrite(noisy, per_row=True), "built": built},
        "counting inside": rewrite(parsed["counting"], seed=1),
        "by rows": graphs.random_uniform([4, 5], 0, 1, "f32", per_row=True),
        "standard": onnx_philox.to_standard_nodes(rewrite(noisy)),
        "for openvino": onnx_philox.to_standard_nodes(built, target="openvino"),
    }.items():
        onnx.save(model, folder / f"{name}.onnx")
    tomorrow = onnx.load(folder / "for openvino.onnx")
    (mark,) = (p for p in tomorrow.metadata_props if p.key == "onnx_philox.standard_nodes")
    mark.value = "made for a runtime of tomorrow"
    onnx.save(tomorrow, folder / "tomorrow.onnx")
    for name in ("inside", "plain", "model"):
        save_ir(onnx.load(folder / f"{name}.onnx"), folder / f"{name}.xml")
    arrays = {
        **{"wrong_type": np.zeros((2, 3)), "wrong_shape": np.zeros((2, 4), np.float32)},
        **{"wrong_rank": np.zeros(3, np.float32), "objects": np.array([None])},
        **{"tenth": np.array([0.1], np.float32), "state": onnx_philox.PhiloxState(5).to_array()},
        "states": onnx_philox.row_states(42, range(4)),
    }
    for name, array in arrays.items():
        np.save(folder / f"{name}.npy", array, allow_pickle=True)
    np.savez(folder / "others.npz", z=np.zeros(3))
    x = np.zeros((2, 3), np.float32)
    np.savez(folder / "inputs.npz", x=x)
    (folder / "many.npy").write_bytes((folder / "inputs.npz").read_bytes())
    with (folder / "one.npz").open("wb") as file:
        np.save(file, np.zeros(3))
    cut = graphs.random_generator([4]).SerializeToString()[:40]
    for name, data in {
        **{"empty.onnx": b"", "text.onnx": b"no model", "text.npy": b"no array", "cut.onnx": cut},
        **{"ir.xml": b" " * 2**16 + b"<net version=", "file": b"", "a.html": b"a model"},
    }.items():
        (folder / name).write_bytes(data)
    for name in ("folder.onnx", "folder.html"):
        (folder / name).mkdir()
    (folder / "link.onnx").symlink_to("plain.onnx")
    return folder


@pytest.fixture
def folder(made: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The working directory, in which a test may change nothing."""
    monkeypatch.chdir(made)
    before = tree(made)
    yield made
    assert tree(made) == before


REFUSED = table(r"""
frob -> onnx-philox: there is no command 'frob'. Run 'onnx-philox -h'
inspec -> there is no command 'inspec'; did you mean 'inspect'? Run 'onnx-philox -h'
run -> onnx-philox run: MODEL must be given: got nothing. Run 'onnx-philox run -h'
run m --runz 3 -> onnx-philox run: there is no option --runz; did you mean --runs
run m --runs 0 -> onnx-philox run: --runs must be 1 or more: got 0. Run
run m --runs x -> onnx-philox run: --runs must be an integer: got 'x'. Run
run m n -> onnx-philox run: got unexpected extra argument
run m --seed -> onnx-philox run: option '--seed' requires an argument. Run
run m --seed -1 -> onnx-philox run: --seed must be an integer from 0 to 2^64-1: got -1
run nowhere.onnx -> onnx-philox run: no such file: nowhere.onnx. Check the path of the model.
run noisy.onnx X --seed 18446744073709551616 -> must be an integer from 0 to
run noisy.onnx X --runtime tensorrt -> --runtime must be one of onnxruntime, openvino, reference,
-> standard: got 'tensorrt'. Choose one of these.
run noisy.onnx X --backend fortran -> one of auto, native, python for onnxruntime: got 'fortran'.
run noisy.onnx X --runtime reference --backend native -> of auto, onnx for reference: got 'native'.
run noisy.onnx X --precision f32 -> --precision must be given with --runtime openvino: got it alone.
run noisy.onnx X --runtime openvino --precision i4 -> must be one of f32, bf16, f16: got 'i4'.
run noisy.onnx X --runtime openvino --device NPU -> --device must be one that OpenVINO finds here
-> (... ): got 'NPU'. Pass one of these, or several as in 'HETERO:GPU,CPU'.
run noisy.onnx X --runtime openvino --device HETERO:NPU,CPU -> got 'HETERO:NPU,CPU'.
run noisy.onnx X --first-run 4294967296 -> the last run must be from 0 to 2^32-1: got 4294967296.
run noisy.onnx X --first-run 4294967295 --runs 2 -> run must be from 0 to 2^32-1: got 4294967296
run noisy.onnx X --output new/ -> output must be in a folder: got new, which does not exist. Make
run noisy.onnx X --output file/x -> in a folder: got file, which is none. Make it, or
run noisy.onnx X --output /proc/ -> onnx-philox run: /proc/noisy.run0.npz: No such file or
-> directory. Choose another path, or mend
run noisy.onnx X --input random_state=state.npy --seed 5 -> onnx-philox run: --seed must be left out
-> beside --input random_state, which says where to draw: got 5. Leave one of them out.
run noisy.onnx X --input random_state=state.npy --first-run 5 -> --first-run must be left out beside
run noisy.onnx X --input x=[[1,2,3]] -> onnx-philox run: the input 'x' must be given once: got
-> another in 'x=[[1,2,3]]'. Leave one of them out.
run noisy.onnx --input x=wrong_type.npy -> the input 'x' must be float32: got float64. Save it as
-> array.astype('float32').
run noisy.onnx --input x=wrong_shape.npy -> the input 'x' must be of shape [batch, 3]: got shape [2,
-> 4]. Pass an array of that shape.
run noisy.onnx --input x=nowhere.npy -> run: no such file: nowhere.npy. Check the path of the input.
run noisy.onnx --input x=text.npy -> text.npy cannot be read:
run noisy.onnx --input x=many.npy -> many.npy holds no array. Write it with numpy.save.
run noisy.onnx --input one.npz -> one.npz holds one array. Write it with numpy.savez.
run noisy.onnx --input x=objects.npy -> a plain array with numpy.save or numpy.savez, one of strings
-> as array.astype(str).
run noisy.onnx --input x=one,two -> the input 'x' must be a file that ends in .npy, or numbers such
-> as
run noisy.onnx --input x=[[1,2],[3]] -> the input 'x' must be a file that ends in .npy, or
run noisy.onnx --input x= -> --input must be NAME=FILE.npy, NAME=NUMBERS such as x=[1,2], or
-> FILE.npz: got 'x='.
run noisy.onnx --input z=x.npy -> each input must be one of x, random_state: got 'z'. Leave it out,
-> or correct its name. The model takes:
run noisy.onnx --input others.npz -> each input must be one of x, random_state: got 'z'.
run noisy.onnx -> the input 'x' must be in the feed: got nothing. Pass --input x=FILE.npy, or all in
-> one file: --input FILE.npz, or --fill to make them up. ... random_state ... uint32 ... made of
-> --seed
run bfloat16.onnx --input x=tenth.npy -> as float32 with values that bfloat16 holds exactly.
run strings.onnx --fill -> must be numbers for --fill: got str. Pass it with --input x=FILE.npy
run strings.onnx --input x=state.npy -> the input 'x' must be str: got uint32. Save it as
run strings.onnx --input x=[1] -> must be a file that ends in .npy, or strings such as
run huge.onnx --fill -> must be small enough for memory for --fill: got float32
run sequence.onnx --fill -> onnx_philox.Pipeline takes lists
run sequence.onnx --fill --input x=[1] -> onnx_philox.Pipeline takes lists
run built.onnx --first-run 3 -> --first-run must be 0 for a model without the input random_state...
-> pass it as --input state=FILE.npy
run 'by rows.onnx' --input state=states.npy --seed 3 -> onnx-philox run: --seed must be left out,
-> since the model reads several states from 'state': got 3. Pass that input, with --input.
run 'my model.onnx' X --seed 0 -> onnx-philox run: --seed must be left out, since the model has 1
-> random node of its own and no state: got 0. Rewrite it first: onnx-philox rewrite 'my model.onnx'
-> -o FILE
run noisy.onnx X --seeds 3,8 -> --seeds must be left out for a model with one state for the whole
-> batch: got 2.
run rows.onnx X --seeds 3 -> --seeds must be one for each row (2): got 1. Pass as many.
run rows.onnx X --seeds 3,x -> got 'x'
run rows.onnx X --seeds 3,-1 -> must be an integer from 0 to 2^64-1: got -1
run rows.onnx X --seeds 3,8 --seed 1 -> must not be given together
run noisy.onnx X --record noisy.onnx -> the same file as the model
run inside.onnx X --seed 0 -> since the model has its seed inside: got 0. Leave it out, or rewrite
-> the original without a seed.
run model.xml --fill --seed 1 -> Rewrite it first: onnx-philox rewrite model.xml
run noisy.onnx X --device GPU -> --device must be given with --runtime openvino
run inside.xml X --seed 0 -> since the model has its seed inside: got 0. Leave it out, or rewrite
run plain.onnx X --seed 0 -> since the model takes no state: got 0. Leave it out.
run counting.onnx X --fill --seed 5 -> since the model has 1 random node of its own
run 'counting inside.onnx' X --fill --seed 5 -> since the model has its seed inside
run 'for openvino.onnx' --runtime openvino --precision bf16 -> run: --precision must be f32: got
-> bf16, at which standard nodes draw different numbers.
run tomorrow.onnx --runtime openvino -> run: the model must be one made for OpenVINO: got one of
-> standard nodes 'made
run standard.onnx X --runtime openvino -> run: the model must be one made for OpenVINO: got one of
-> standard nodes made for ONNX Runtime
run ir.xml --runtime onnxruntime -> ir.xml must be an ONNX file for onnxruntime: got an OpenVINO IR.
compare m --rtol nan -> onnx-philox compare: --rtol must be 0 or more: got nan.
compare m --atol x -> onnx-philox compare: --atol must be a number: got 'x'. Run
compare nowhere.onnx -> compare: no such file: nowhere.onnx. Check
compare ir.xml --runtime onnxruntime --runtime openvino -> --runtime must be openvino for an
-> OpenVINO IR, or left
compare plain.onnx X --seed 3 -> compare: --seed must be left out, since the model takes no state:
compare plain.xml X --seed 3 -> since the model takes no state: got 3. Leave it out.
compare 'counting inside.onnx' X --fill --seed 5 -> has its seed inside
compare noisy.onnx X --input random_state=state.npy --seed 5 -> must be left out beside --input
compare 'my model.onnx' X -> got one with 1 random node of its own, such as RandomNormalLike...
-> Rewrite it first: onnx-philox rewrite 'my model.onnx' -o FILE
compare noisy.onnx X --runtime openvino -> --runtime must be two different ones of
compare noisy.onnx X --runtime openvino --runtime none -> --runtime must be one of onnx
compare noisy.onnx X --precision f32 --precision bf16 -> --precision must be given once for
compare noisy.onnx X --precision i4 -> --precision must be one of f32, bf16, f16: got 'i4'.
compare noisy.onnx X --seed -1 -> seed must be an integer from 0 to 2^64-1: got -1
compare noisy.onnx X --rtol inf --json -> rtol must be 0 or more, but finite: got inf
compare noisy.onnx X --atol -1 -> atol must be 0 or more: got -1.0
compare noisy.onnx X --device CPUX -> compare: --device must be one that ...'CPUX'.
compare noisy.onnx X --runtime onnxruntime --runtime reference --device CPU -> --device must be
-> given with --runtime openvino: got onnxruntime and reference
compare inside.xml X --precision f32 --precision f32 -> --precision must be two different ones for
-> an OpenVINO IR
compare inside.xml X --device CPU --device CPU -> --device must be two different ones at one
-> --precision
compare inside.xml X --device CPU --device HETERO:CPU --precision f32 --precision f32 -> --device
-> must be two different ones at one --precision
compare noisy.onnx X --device CPU --device HETERO:CPU -> must be given once for an ONNX file
compare model.xml -> Rewrite it first: onnx-philox rewrite model.xml
compare unknown.onnx --fill -> got one with 2 random nodes of its own, such as DropBlock, which
-> each runtime draws in its own way. No rewrite replaces it: com.example DropBlock of 'y' (opset 1,
compare standard.onnx X -> compare: the model must be one made for OpenVINO: got one of standard
-> nodes made for ONNX Runtime, which OpenVINO does not compute. Rewrite the original for the target
-> openvino, or choose the runtime onnxruntime.
compare noisy.onnx --fill --seconds 3 -> --seconds must be given with --original: got 3.0. Add that,
compare inside.onnx --fill --original model.onnx --seed 1 -> the model has its seed inside: got 1.
compare model.onnx --fill --original noisy.onnx -> must be a rewritten one: got one with 1 random
compare noisy.onnx --fill --original nowhere.onnx -> no such file: nowhere.onnx.
compare noisy.onnx --fill --original model.onnx --runtime onnxruntime --runtime openvino
-> --runtime must be given once here: got onnxruntime and openvino.
rewrite a.onnx -> onnx-philox rewrite: --output must be given: got nothing. Run
rewrite nowhere.onnx -o out.onnx -> rewrite: no such file: nowhere.onnx. Check the path
rewrite '' -o out.onnx -> MODEL must be the path of a file: got ''
rewrite model.onnx -o '' -> --output must be the path of a file: got ''
rewrite . -o out.onnx -> the model must be a file: got ., a folder. Name the model's file.
rewrite plain.onnx -o a/b/out.onnx -> rewrite: the output must be in a folder: got a/b, which
rewrite plain.onnx -o text.onnx/out.onnx -> must be in a folder: got text.onnx, which is none.
rewrite plain.onnx -o out.tflite -> must be a name that ends in .onnx, or in .xml for an
rewrite plain.onnx -o out -> must be a name that ends in .onnx
rewrite plain.onnx -o folder.onnx -> must be a file: got 'folder.onnx', a folder. Name a file in it.
rewrite model.onnx -o new.xml --standard -> does not end in .xml, since
rewrite inside.xml -o new.onnx --standard -> onnx-philox rewrite: the model must be ...
rewrite model.xml -o new.xml --standard -> of an ONNX file: got 'model.xml', an OpenVINO IR
rewrite model.xml -o model.xml -> the output must be a file of its own: got
rewrite plain.onnx -o ./plain.onnx -> the output must be a file of its own: got the model itself.
rewrite plain.onnx -o link.onnx -> the output must be a file of its own: got the model itself.
rewrite ir.xml -o out.onnx -> must be a name that ends in .xml, since the model is an OpenVINO IR
rewrite unknown.onnx -o out.onnx -> onnx-philox rewrite: com.example DropBlock of 'y' (opset 1,...
-> or leave the node as it is with --keep-unknown.
rewrite unknown.onnx -o out.xml -> onnx-philox rewrite: com.example DropBlock of 'y' (opset 1,
rewrite unknown.onnx -o out.xml --keep-unknown -> No conversion rule found for operations:
-> com.example.DropBlock.... An ONNX file (a name that ends in .onnx) can be written all the same.
rewrite m -o n --seed -1 -> rewrite: --seed must be an integer from 0 to 2^63-1: got -1
rewrite model.onnx -o new.onnx --seed 9223372036854775808 -> an integer from 0 to 2^63-1
rewrite model.onnx -o new.onnx --seed 3 --per-row -> must be left out for a model with a state
rewrite model.onnx -o new.onnx --per-row-node '' -> must be one of the random nodes to replace
rewrite model.onnx -o new.onnx --alignment torch -> --alignment must be 'tensorflow' or 'pytorch':
-> got 'torch'. Did you mean 'pytorch'?
rewrite model.onnx -o new.onnx --alignment PyTorch -> got 'PyTorch'. Did you mean 'pytorch'?
rewrite model.onnx -o new.onnx --alignment '' -> got ''. Set it to one of these.
rewrite model.onnx -o new.onnx --standard --target '' -> or 'web': got ''.
rewrite model.onnx -o new.onnx --target '' -> --target and --inexact must be given with --standard
rewrite model.onnx -o new.onnx --inexact -> must be given with --standard: got them alone.
rewrite model.onnx -o new.onnx --standard --target onnx -> --target must be 'onnxruntime',
-> 'openvino' or 'web': got 'onnx'. Did you mean 'onnxruntime'?
rewrite model.onnx -o new.onnx --keep-seeds --alignment pytorch -> --keep-seeds must be left out
-> with alignment 'pytorch', which has one generator...: got it.
inspect nowhere.onnx -> inspect: no such file: nowhere.onnx. Check the path of the model.
inspect . -> must be a file: got ., a folder. Name the model's file.
inspect ir.xml -> a whole OpenVINO IR, of operators that are OpenVINO's or this package's: got other
inspect plain.onnx --html page.txt -> --html must be a name that ends in .html: got page.txt.
inspect plain.onnx --html folder.html -> --html must be a file: got folder.html, a folder. Name a
inspect plain.onnx --html new/page.html -> inspect: the output must be in a folder: got new,
inspect a.html --html a.html -> inspect: the page 'a.html' must be a file that is neither
path x -> path: RUNTIME must be onnxruntime, openvino or cmake: got 'x'. Choose one of these.
verify --runtime tensorrt -> verify: --runtime must be one of reference, onnxruntime, openvino...
-> got 'tensorrt'
verify --backend fortran -> must be one of auto, numpy, onnx, native, python...: got 'fortran'
verify --runtime reference --backend python -> --backend must be one of auto, numpy, ...'python'
verify --html no/x.html -> onnx-philox verify: the output must be in a folder: got no,
verify --html x.txt -> onnx-philox verify: --html must be a name that ends in .html: got x.txt
verify --device NOPE -> --device must be one of
verify --device CPU --runtime onnxruntime -> must be given with --runtime openvino
verify --device cuda -> --device cuda must be where ONNX Runtime has CUDAExecutionProvider or
-> CudaPluginExecutionProvider: got
verify --device cuda --runtime openvino -> --device cuda must be given with --runtime onnxruntime
-> and --backend native: got 'openvino'. Leave these out.
""")


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(("arguments", "words"), REFUSED)
def test_a_refusal_is_one_line_that_begins_with_the_command(arguments: str, words: str) -> None:
    result = cli.invoke(
        *shlex.split(arguments.replace(" X", f" --input {INPUT}")), env={"COLUMNS": "999"}
    )
    assert (result.exit_code, result.stdout) == (2, ""), result.output
    assert re.search(pattern_of(words), result.stderr), result.stderr
    assert re.match("onnx-philox( [a-z]+)?: ", result.stderr)
    assert result.stderr.count("\n") == 1 or "takes:\n  x " in result.stderr


RUNTIMES = ("onnxruntime", "openvino", "reference", "standard")
DOORS = [*(f"run {{}} --runtime {name}" for name in RUNTIMES), "compare {} --fill", "inspect {}"]
DOORS += ["rewrite {} -o out.onnx", "rewrite {} -o out.xml"]


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("door", DOORS)
def test_what_is_no_model_is_refused_in_the_same_words_at_every_door(door: str) -> None:
    for name in ("empty.onnx", "cut.onnx", "text.onnx", "tenth.npy"):
        given = "an empty file" if name == "empty.onnx" else "other bytes ("
        said = cli.refusal(*door.format(name).split())
        assert f"the file '{name}' must be a serialised ONNX model: got {given}" in said
        assert said.endswith("Pass a file that onnx.load reads as protobuf.\n")


@pytest.mark.skipif(sys.platform != "linux", reason="file names are text there")
@pytest.mark.parametrize("door", [*DOORS[:2], DOORS[4]])
def test_a_path_that_is_not_utf_8_is_refused(
    made: Path, door: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    name = os.fsdecode(b"b\xffd.onnx")
    Path(name).write_bytes((made / "noisy.onnx").read_bytes())
    words = "the path must be UTF-8, since the runtimes open no other paths: got 'b\\udcffd.onnx'"
    assert words in cli.refusal(*door.format(name).split())
    in_openvino = partial(onnx_philox.Pipeline, runtime="openvino")
    for call in (onnx_philox.onnxruntime.InferenceSession, onnx_philox.Pipeline, in_openvino):
        assert_refused(partial(call, name), words)
