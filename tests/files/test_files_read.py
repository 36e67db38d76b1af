"""Links that lead out of a model's folder, and files made to mislead, are refused at once."""

from __future__ import annotations

import itertools
import os
import time
from collections.abc import Iterable, Sequence
from functools import partial
from pathlib import Path

import numpy as np
import onnx
import onnxruntime as ort
import pytest
from onnx import helper, numpy_helper, parser
from onnx.external_data_helper import set_external_data

from onnx_philox import PhiloxState, Pipeline, make_reproducible, reference, to_standard_nodes
from onnx_philox.onnxruntime import InferenceSession
from onnx_philox.rewriting import find_random_nodes, rewrite_file
from tests.common import cli
from tests.common.cases import assert_refused, assert_same_bits, table
from tests.common.file_cases import (
    RUNS,
    WEIGHTS,
    assert_refused_everywhere,
    model,
    refusal,
    tree,
    write,
)
from tests.common.foreign import parse

pytestmark = pytest.mark.skipif(os.name != "posix", reason="links, signals and limits of POSIX")

session = partial(ort.InferenceSession, providers=["CPUExecutionProvider"])

# Where the model and its data are, and links: where from, where to, "=" for a hard one -> the
# data's name in the model, and whether it is in the model's folder. The last is the layout of the
# Hugging Face hub: both names are links to files in one folder.
LAYOUTS = table("""
in/m.onnx other/weights.bin in/weights.bin:../other/weights.bin -> weights.bin outside
in/m.onnx other/w in/data:../other -> data/w outside
real/m.onnx other/w in/m.onnx:../real/m.onnx in/weights.bin:../other/w -> weights.bin outside
in/m.onnx in/data/w in/weights.bin:data/w -> weights.bin inside
in/m.onnx other/w in/weights.bin:=other/w -> weights.bin inside
blobs/m blobs/w in/m.onnx:../blobs/m in/w:../blobs/w -> w inside
""")


@pytest.mark.parametrize(("files", "data"), LAYOUTS)
def test_links_are_refused_where_onnxruntime_refuses_them(tmp_path, files, data):
    (at, weights, *links), (location, where) = files.split(), data.split()
    for name in files.split():
        (tmp_path / name.split(":")[0]).parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / at).write_bytes(model(location).SerializeToString())
    (tmp_path / weights).write_bytes(WEIGHTS.tobytes())
    for name, target in (link.split(":") for link in links):
        if target.startswith("="):
            os.link(tmp_path / target[1:], tmp_path / name)
        else:
            (tmp_path / name).symlink_to(target)
    path = tmp_path / "in" / "m.onnx"
    if where == "inside":
        session(path)
        target = tmp_path / "new" / "out.onnx"
        rewrite_file(path, target)
        assert not (target.parent / location).is_symlink()
        weights = {t.name: t for t in onnx.load(target).graph.initializer}["w"]
        np.testing.assert_array_equal(numpy_helper.to_array(weights), WEIGHTS)
        made = make_reproducible(path)
        np.testing.assert_array_equal(numpy_helper.to_array(made.graph.initializer[0]), WEIGHTS)
        assert len(find_random_nodes(path)) == 1
        return
    with pytest.raises(Exception, match="escapes model directory"):
        session(path)
    words = f"the external data '{location}' must be a file in the model's folder...: got a link to"
    assert_refused_everywhere(path, words)


def test_a_link_out_of_the_targets_folder_is_not_written_through(tmp_path):
    source = write(tmp_path / "in" / "m.onnx", "data/weights.bin")
    (tmp_path / "elsewhere").mkdir()
    for link, target in (
        ("one/data", "../elsewhere"),
        ("two/data/weights.bin", "../../in/data/weights.bin"),
    ):
        (tmp_path / link).parent.mkdir(parents=True)
        (tmp_path / link).symlink_to(target)
        out = tmp_path / link.split("/")[0]
        said = refusal(tmp_path, "rewrite", source, "-o", out / "m.onnx")
        assert "'data/weights.bin' beside the output must be a file in the output's folder" in said
        # An IR has its weights in a file of its own.
        cli.text("rewrite", source, "-o", out / "m.xml")


def test_small_constants_in_a_file_that_is_not_there_are_refused_before_rows_are_proved(tmp_path):
    """Larger ones are not read then: they may be weights that a runtime reads for itself."""
    model = parse(
        """g (float[batch, 4] x) => (float[batch, 2, 2] y) {
        shape = Constant <value = int64[3] {-1, 2, 2}> () r = RandomNormalLike (x)
        q = Reshape (x, shape) u = Reshape (r, shape) y = Add (q, u) }""",
        20,
    )
    tensor = model.graph.node[0].attribute[0].t
    tensor.raw_data = numpy_helper.to_array(tensor).tobytes()
    tensor.ClearField("int64_data")
    set_external_data(tensor, "data/shapes.bin")
    tensor.ClearField("raw_data")
    (tmp_path / "m.onnx").write_bytes(model.SerializeToString())
    place = str(tmp_path / "data/shapes.bin")
    words = f"the external data {place!r} must be a file that is there: got no file."
    assert_refused(lambda: make_reproducible(tmp_path / "m.onnx", per_row=True), words)
    words = "the external data 'data/shapes.bin' must be a file that is there: got no file."
    assert_refused(lambda: make_reproducible(model, per_row=True), words)


# Files made to mislead.


def test_a_forged_mark_is_a_name_like_any_other_and_a_pipe_is_not_waited_for(tmp_path):
    location = "onnx_philox.stretch:0-100"
    source = write(tmp_path / "m.onnx", location)
    (tmp_path / location).unlink()
    words = f"the external data '{location}' must be a file in the folder of "
    for name in ("out.onnx", "out.xml"):
        assert words in refusal(tmp_path, "rewrite", source, "-o", tmp_path / name)
    assert_refused(lambda: make_reproducible(source), words)
    os.mkfifo(tmp_path / location)
    assert_refused_everywhere(source, f"{words}...: got no plain file", ())


@pytest.mark.parametrize("key", ["onnx_philox.streams", "onnx_philox.standard_draws"])
def test_metadata_that_is_nested_too_deep_counts_as_missing(tmp_path, key):
    standard = to_standard_nodes(make_reproducible(model()))
    entry = next(entry for entry in standard.metadata_props if entry.key == key)
    entry.value = "[" * 100_000
    path = tmp_path / "m.onnx"
    onnx.save(standard, path)
    cli.text("inspect", path)
    cli.text("rewrite", path, "-o", tmp_path / "new.onnx")
    loaded = session(path)
    if key.endswith("streams"):
        assert_refused(lambda: Pipeline(loaded), "one that says nothing of its random nodes")


def test_a_tensor_with_data_inside_and_outside_is_what_lies_outside_if_it_says_so(tmp_path):
    made = model("weights.bin")
    made.graph.initializer[0].raw_data = bytes(WEIGHTS.nbytes)
    source = tmp_path / "m.onnx"
    source.write_bytes(made.SerializeToString())
    said = refusal(tmp_path, "rewrite", source, "-o", tmp_path / "out.onnx")
    assert "'weights.bin' must be a file in the folder of " in said
    (tmp_path / "weights.bin").write_bytes(WEIGHTS.tobytes())
    rewrite_file(source, tmp_path / "new" / "out.onnx")
    assert (tmp_path / "new" / "weights.bin").read_bytes() == WEIGHTS.tobytes()
    weights = make_reproducible(source).graph.initializer[0]
    np.testing.assert_array_equal(numpy_helper.to_array(weights), WEIGHTS)
    # Else a place means nothing.
    made = model()
    made.graph.initializer[0].external_data.add(key="location", value="../left over")
    # A length of three bytes; and fields of no schema: a number, eight bytes and four.
    made.doc_string = "d" * 2**14
    unknown = b"\x80\x01\x80\x01\x89\x01" + bytes(8) + b"\x8d\x01" + bytes(4)
    source.write_bytes(made.SerializeToString() + unknown)
    rewrite_file(source, tmp_path / "out.onnx")
    assert made.graph.initializer[0] in onnx.load(tmp_path / "out.onnx").graph.initializer


ENDLESS = [b"\xff" * 2**20, b"\x08" + b"\xff" * 2**20, b"\x3a\x80\x80\x01"]
ENDLESS += [b"\x08" + b"\x80" * 10 + b"\0"]  # eleven bytes
NO_MODELS = dict.fromkeys(ENDLESS, "other bytes (the ")
NO_MODELS |= dict.fromkeys((b"no model at all", b"\x3a\xff\xff\xff\xff\x07"), "other bytes (")
NO_MODELS |= {b"": "an empty file", b"\x08\x07": "one without a graph"}


@pytest.mark.parametrize(("data", "got"), NO_MODELS.items())
def test_what_is_no_model_or_a_number_without_end_is_refused_at_once(tmp_path, data, got):
    source = tmp_path / "m.onnx"
    source.write_bytes(data)
    # Of this process: others may be busy meanwhile.
    begin = time.process_time()
    assert_refused_everywhere(source, f"m.onnx' must be a serialised ONNX model: got {got}")
    assert time.process_time() - begin < 10


def functions(depth: int, calls: int = 2) -> onnx.ModelProto:
    """Functions that each call the next one several times; the last one draws."""
    opsets = 'opset_import: ["": 17, "local": 1]'
    text = "g (float[3] x) => (float[3] y) { y = local.f0 (x) }"
    for i in range(depth + 1):
        pairs = itertools.pairwise(["x", *(f"v{j}" for j in range(calls - 1)), "y"])
        body = " ".join(f"{after} = local.f{i + 1} ({before})" for before, after in pairs)
        body = "y = RandomNormalLike (x)" if i == depth else body
        text += f' <domain: "local", {opsets}> f{i} (x) => (y) {{ {body} }}'
    return parse(text)


def test_functions_that_call_each_other_twice_or_themselves_are_refused(tmp_path):
    endless = functions(3)
    endless.functions[3].node.append(helper.make_node("f1", ["x"], ["z"], domain="local"))
    begin = time.process_time()
    for made, words in (
        (
            functions(25),
            "cannot be inlined: they are 67,108,863 calls, and at most 4,096 are inlined",
        ),
        (endless, "a function calls itself: local::f"),
    ):
        onnx.save(made, tmp_path / "m.onnx")
        assert_refused_everywhere(tmp_path / "m.onnx", words, ())
    assert time.process_time() - begin < 20
    # As many as there may be in earnest.
    assert len(make_reproducible(functions(3, 4)).graph.node) >= 64
    assert len(make_reproducible(functions(300, 1)).graph.node) >= 1


def test_functions_of_our_own_operators_are_bounded_in_a_session():
    made = functions(25)
    drawing = parser.parse_function("""<opset_import: ["": 17, "onnx_philox": 1], domain: "local">
        f25 (x) => (y) {
            shape = Constant <value_ints = [3]> ()
            low = Constant <value_float = 0.0> ()
            high = Constant <value_float = 1.0> ()
            y = onnx_philox.RandomUniform <output_type = "f32", global_seed = 1> (shape, low, high)
        }""")
    made.functions[25].CopyFrom(drawing)
    made.opset_import.add(domain="onnx_philox", version=1)
    for backend in ("native", "python"):
        with pytest.raises(Exception, match="cannot be inlined: they are 67,108,863 calls"):
            InferenceSession(made, backend=backend)


@pytest.mark.parametrize("prefix", ["graph", "x", "y", "w", "n", "node", "doc"])
def test_names_that_are_no_utf_8_are_refused(tmp_path, prefix):
    made = parse("""graphNAME (float[4] xNAME) => (float[4] yNAME) <float wNAME = {1.0}> {
        [nodeNAME] nNAME = RandomNormalLike (xNAME)  yNAME = Add (nNAME, wNAME) }""")
    made.graph.doc_string = "docNAME"
    source = tmp_path / "m.onnx"
    name = prefix.encode()
    data = made.SerializeToString().replace(name + b"NAME", name + b"N\xff\xfeE")
    source.write_bytes(data)
    assert_refused_everywhere(source, r"N\xff\xfeE'...UTF-8", RUNS[2:])


def test_a_ratio_that_was_left_in_the_file_is_left_to_the_run(tmp_path):
    made = parse("g (float[4] x) => (float[4] y) <bool on = {1}> { y = Dropout (x, ratio, on) }")
    made.graph.initializer.insert(0, numpy_helper.from_array(WEIGHTS, "ratio"))
    onnx.save(made, tmp_path / "m.onnx")
    rewrite_file(tmp_path / "m.onnx", tmp_path / "out.onnx")
    assert made.graph.initializer[0] in onnx.load(tmp_path / "out.onnx").graph.initializer
    given = ("run", tmp_path / "out.onnx", "--input", "x=[1,2,3,4]")
    assert "RandomDropout: input 'ratio' " in cli.refusal(*given, code=1)


def test_a_node_that_reads_what_nothing_gives_is_no_traceback(tmp_path):
    made = parse("g (float[4] x) => (float[4] y) { y = Bernoulli (nothing) }")
    onnx.save(made, tmp_path / "m.onnx")
    said = refusal(tmp_path, "rewrite", tmp_path / "m.onnx", "-o", tmp_path / "out.onnx")
    assert "'nothing'" in said
    assert "cannot be rewritten" in cli.text("inspect", tmp_path / "m.onnx")


def save(
    folder: Path,
    entries: Iterable[Sequence[str]],
    padding: int = 0,
) -> Path:
    """A model whose weights are in `weights.bin` after a number of bytes, with these entries."""
    path = write(folder / "m.onnx", "weights.bin")
    (folder / "weights.bin").write_bytes(b"\xff" * padding + WEIGHTS.tobytes())
    made = model("weights.bin")
    for key, value in entries:
        made.graph.initializer[0].external_data.add(key=key, value=value)
    path.write_bytes(made.SerializeToString())
    return path


REFUSED = table("""
offset=4 -> BEYOND 4 to 20004 SAVE
offset=4 length=20000 -> BEYOND 4 to 20004 SAVE
offset=99999999 -> BEYOND 99999999 to 100019999 SAVE
offset=99999999 length=20000 -> BEYOND 99999999 to 100019999 SAVE
length=20001 -> BEYOND 0 to 20001 SAVE
offset=abc -> offset NO_NUMBER 'abc'
offset=-5 -> offset NO_NUMBER '-5'
offset=-5 length=20000 -> offset NO_NUMBER '-5'
offset= -> offset NO_NUMBER ''
length= -> length NO_NUMBER ''
offset=SIXTY -> offset NO_NUMBER 'SIXTY'. Save
offset=SIXTY9 -> offset NO_NUMBER 'SIXTY'...
length=-1 -> length NO_NUMBER '-1'
length=20000.0 -> length NO_NUMBER '20000.0'
""")
WORDS = {
    "SIXTY": "9" * 60,
    "BEYOND": "the tensor 'w' must be within the 20000 bytes that the file has: got bytes",
    "SAVE": "of 'weights.bin'. Save the model anew with onnx.save(model, path, "
    "save_as_external_data=True).",
    "NO_NUMBER": "of the tensor 'w' in its external data must be a number of bytes, 0 or more: got",
}


@pytest.mark.parametrize(("given", "said"), REFUSED)
def test_data_beyond_the_end_of_its_file_or_at_no_number_is_refused(tmp_path, given, said):
    for name, words in WORDS.items():
        given = given.replace(name, words)
        said = said.replace(name, words)
    entries = [entry.split("=") for entry in given.split()]
    path = save(tmp_path, entries)
    with pytest.raises(Exception, match=r"(?i)external|offset|length|invalid|parse|format"):
        session(path)
    assert_refused_everywhere(path, said, ())
    before = tree(tmp_path)
    # OpenVINO's own reader takes the digits at the beginning, and no text as 0.
    is_loose = entries[-1][1] in ("", "20000.0")
    for runtime in ("onnxruntime", "reference", *(() if is_loose else ("openvino",))):
        result = cli.invoke("run", path, "--runtime", runtime, "-o", tmp_path / "x")
        assert isinstance(result.exception, SystemExit), result.exception
        assert (result.exit_code in (1, 2), result.stdout) == (True, ""), result.output
        assert tree(tmp_path) == before


@pytest.mark.parametrize("given", ["", "offset=0", "length=20000", "offset=4096 length=20000"])
@pytest.mark.parametrize("more", [b"", b"more"])
def test_data_within_its_file_is_taken(tmp_path, given, more):
    """Without a length it has that of its type and shape."""
    entries = dict(entry.split("=") for entry in given.split())
    path = save(
        tmp_path,
        entries.items(),
        int(entries.get("offset", 0)),
    )
    with (tmp_path / "weights.bin").open("ab") as file:
        file.write(more)
    session(path)
    target = tmp_path / "new" / "out.onnx"
    target.parent.mkdir()
    cli.text("rewrite", path, "-o", target)
    # ONNX's own reader takes all of the file.
    for proto in (make_reproducible(path), *(() if more else (onnx.load(target),))):
        weights = numpy_helper.to_array(proto.graph.initializer[0])
        np.testing.assert_array_equal(weights, WEIGHTS)


@pytest.mark.parametrize("data_type", [onnx.TensorProto.INT4, onnx.TensorProto.UINT4])
def test_numbers_of_four_bits_take_half_a_byte(tmp_path, data_type):
    path = save(tmp_path, [])
    made = onnx.load(path, load_external_data=False)
    made.ir_version = 10
    made.opset_import[0].version = 21
    packed = made.graph.initializer.add(
        name="packed",
        data_type=data_type,
        dims=[5],
    )
    packed.data_location = onnx.TensorProto.EXTERNAL
    packed.external_data.add(key="location", value="packed.bin")
    # None of them take none, at the end of a file.
    (none := made.graph.initializer.add()).CopyFrom(packed)
    none.name, none.dims[0] = "none", 0
    none.external_data.add(key="offset", value="3")
    path.write_bytes(made.SerializeToString())
    (tmp_path / "packed.bin").write_bytes(b"\x12\x34\x05")
    assert len(find_random_nodes(path)) == 1
    (tmp_path / "packed.bin").write_bytes(b"\x12\x34")
    words = "'packed' must be ...: got bytes 0 to 3 of 'packed.bin'"
    assert_refused(lambda: find_random_nodes(path), words)


def _with_matrices(path: Path, count: int, size: int) -> Path:
    """A model whose weights, `count` times the same matrix of a sparse file, are external data."""
    with open(path.with_suffix(".bin"), "wb") as file:
        file.truncate(size * size * 4)
        file.write(np.ones(size, np.float32).tobytes())
    names = [f"w{i}" for i in range(count)]
    # Which no runtime copies into a layout of its own.
    layers = " ".join(
        f"r{i} = Gather ({name}, zero) h{i + 1} = Mul (h{i}, r{i})" for i, name in enumerate(names)
    )
    made = parse(f"""g (float[N, {size}] x) => (float[N, {size}] h0, float[N, {size}] h{count}) {{
        noise = RandomNormalLike (x) h0 = Add (x, noise)
        size = Size (x) zero = Sub (size, size) {layers} }}""")
    for name in names:
        matrix = made.graph.initializer.add(
            name=name,
            data_type=1,
            dims=[size, size],
        )
        matrix.data_location = onnx.TensorProto.EXTERNAL
        matrix.external_data.add(key="location", value=path.with_suffix(".bin").name)
    onnx.save(made, path)
    return path


def _linked(path: Path) -> Path:
    """The model as a cache of downloads has it: links that lead out of its folder."""
    folder = path.parent / "snapshot"
    folder.mkdir()
    for file in (path, path.with_suffix(".bin")):
        (folder / file.name).symlink_to(file)
    return folder / path.name


@pytest.mark.parametrize("backend", ["native", "python"])
@pytest.mark.parametrize("is_linked", [False, True])
def test_a_pipeline_reads_external_data_where_it_is(
    tmp_path: Path, backend: str, *, is_linked: bool
) -> None:
    path = _with_matrices(tmp_path / "model.onnx", 2, 128)
    feed = {"x": np.ones((3, 128), np.float32)}
    expected = Pipeline(make_reproducible(path), backend=backend)(feed, seed=42)
    given = _linked(path) if is_linked else path
    own = ort.SessionOptions()
    folder = "session.model_external_initializers_file_folder_path"
    own.add_session_config_entry(folder, "a user's")
    for options in ({}, {"sess_options": own}):
        found = Pipeline(given, backend=backend, **options)(feed, seed=42)
        for name, values in expected.items():
            assert_same_bits(found[name], values)
    assert own.get_session_config_entry(folder) == "a user's"


@pytest.mark.parametrize("has_room", [True, False])
def test_openvino_reads_external_data_where_it_is_and_leaves_no_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, has_room: bool
) -> None:
    path = _with_matrices(tmp_path / "model.onnx", 2, 128)
    before = sorted(tmp_path.iterdir())

    def no_room(*_: object, **__: object) -> None:
        raise PermissionError("read-only")

    if not has_room:
        monkeypatch.setattr("tempfile.mkstemp", no_room)
    drawn = Pipeline(path, runtime="openvino")({"x": np.zeros((1, 128), np.float32)}, seed=42)
    assert_same_bits(drawn["h0"].reshape(-1), normals(128))
    assert sorted(tmp_path.iterdir()) == before


@pytest.mark.slow
@pytest.mark.parametrize("runtime", ["onnxruntime", "openvino"])
def test_a_pipeline_serves_a_model_above_2_gb(tmp_path: Path, runtime: str) -> None:
    path = _with_matrices(tmp_path / "model.onnx", 34, 4096)
    drawn = Pipeline(path, runtime=runtime)({"x": np.zeros((1, 4096), np.float32)}, seed=42)
    assert_same_bits(drawn["h0"].reshape(-1), normals(4096))


def normals(count: int) -> np.ndarray:
    """What the first node of a model draws in run 0 of the seed 42."""
    state = PhiloxState.for_run(42).to_array()
    return reference.random_normal([count], 0.0, 1.0, "f32", state=state)[0]
