"""`onnx-philox rewrite`: what is written, what is said, and that the two agree."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import click
import onnx
import pytest
from cli import invoke, keys_of, keys_said
from onnx import parser

import onnx_philox
from onnx_philox import graphs

MODELS = Path(__file__).with_name("models")
MODEL = str(MODELS / "vae_decoder.onnx")

UNKNOWN = """<ir_version: 8, opset_import: ["": 17, "com.example": 1]>
g (float[N, 8] x, float[8] b) => (float[N, 8] y, float[N, 8] z)
<float ratio = {0.25}, bool training = {1}>
{
  y, m = com.example.DropBlock (x, b, , ratio, training)
  z = RandomNormalLike (x)
}"""


def rewrite(*arguments: object) -> str:
    """What it says, its lines joined; the command in it on its own, at the end."""
    result = invoke("rewrite", *arguments)
    assert result.exit_code == 0, result.output
    lines = result.stdout.splitlines()
    (command,) = (line for line in lines if line.startswith("  onnx-philox run "))
    lines.remove(command)
    return " ".join(" ".join(lines).split()) + "\n" + command


def refusal(*arguments: object) -> str:
    result = invoke("rewrite", *arguments)
    assert (result.exit_code, result.stdout) == (2, ""), result.output
    return result.stderr


@pytest.fixture(autouse=True)
def _own_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def plain() -> str:
    """A model without random nodes."""
    text = '<ir_version: 8, opset_import: ["": 17]> g (float[4] x) => (float[4] y) {y = Relu(x)}'
    onnx.save(parser.parse_model(text), "plain.onnx")
    return "plain.onnx"


def test_torch_s_generator_is_said_to_go_through_the_nodes():
    said = rewrite(MODEL, "-o", "out.onnx", "--alignment", "pytorch")
    nodes = "1 random node rewritten; one generator of torch's goes through them in the order"
    assert nodes in said


@pytest.mark.parametrize("target", ["out.onnx", "out.xml", "a folder/out.onnx"])
def test_the_line_that_is_printed_runs_the_model(target):
    Path(target).parent.mkdir(exist_ok=True)
    said, command = rewrite(MODEL, "-o", target).splitlines()
    assert said.startswith(f"{MODEL}: 1 random node rewritten, stream 0 1 RandomNormalLike-1 is")
    program, *arguments = shlex.split(command)
    assert (program, arguments[:2]) == ("onnx-philox", ["run", target])
    result = invoke(*arguments, "--json")
    assert result.exit_code == 0, result.output
    assert len(json.loads(result.stdout)["runs"]) == 3


def test_both_forms_draw_the_same():
    drawn = set()
    for target in ("out.onnx", "out.xml"):
        rewrite(MODEL, "-o", target)
        for runtime in ("openvino", "onnxruntime") if target == "out.onnx" else ("openvino",):
            inputs = [w for n in ("mean", "log_variance") for w in ("--input", f"{n}=[[0,0,0,0]]")]
            result = invoke("run", target, "--runtime", runtime, *inputs, "--drawn", "--json")
            drawn.add(json.loads(result.stdout)["drawn_sha256"])
    assert len(drawn) == 1


def test_an_ir_keeps_its_weights_as_they_are_and_leaves_nothing_else(tmp_path):
    rewrite(MODEL, "-o", tmp_path / "out.xml")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["out.bin", "out.xml"]
    assert 'element_type="f16"' not in (tmp_path / "out.xml").read_text()


def test_the_file_is_what_make_reproducible_makes():
    rewrite(MODEL, "-o", "out.onnx")
    assert onnx.load("out.onnx") == onnx_philox.make_reproducible(MODEL)


def test_the_state_is_explained():
    said = rewrite(MODEL, "-o", "out.onnx")
    assert "The input random_state (uint32[6]: PhiloxState.for_run(seed, run)" in said
    assert "the output next_random_state is the input of the next run." in said


def test_a_seed_goes_inside_and_the_line_to_run_has_none():
    said, command = rewrite(MODEL, "-o", "out.onnx", "--seed", 7).splitlines()
    assert "The state is a constant inside, of seed 7: every run gives the same numbers." in said
    assert "--seed" not in command
    assert [i.name for i in onnx.load("out.onnx").graph.input] == ["mean", "log_variance"]


@pytest.mark.parametrize("target", ["out.onnx", "out.xml"])
def test_a_model_without_random_nodes_is_written_unchanged(plain, target):
    said, command = rewrite(plain, "-o", target).splitlines()
    assert said.startswith("plain.onnx: unchanged, it has no random nodes Written: out.")
    assert command == f"  onnx-philox run {target} --fill"
    assert said.endswith("--fill makes up x: give yours with --input NAME=FILE.npy.")
    assert Path(target).stat().st_size > 0
    if target == "out.onnx":
        assert onnx.load(target) == onnx.load(plain)


def test_a_model_that_was_rewritten_is_written_unchanged():
    rewrite(MODEL, "-o", "once.onnx")
    said = rewrite("once.onnx", "-o", "twice.onnx")
    assert said.startswith("once.onnx: unchanged, 1 random node rewritten already")
    assert onnx.load("twice.onnx") == onnx.load("once.onnx")


def test_an_unknown_random_operator_is_an_error_and_nothing_is_written(tmp_path):
    onnx.save(parser.parse_model(UNKNOWN), "model.onnx")
    for target in ("out.onnx", "out.xml"):
        said = refusal("model.onnx", "-o", target)
        assert said.startswith("onnx-philox rewrite: com.example DropBlock of 'y' (opset 1,")
        assert said.endswith("or leave the node as it is with --keep-unknown.\n")
    assert [path.name for path in tmp_path.iterdir()] == ["model.onnx"]


def test_keep_unknown_leaves_it_with_a_warning():
    onnx.save(parser.parse_model(UNKNOWN), "model.onnx")
    said = rewrite("model.onnx", "-o", "out.onnx", "--keep-unknown")
    assert "model.onnx: 1 random node rewritten, stream 0 " in said
    assert "Warning: left as it is: com.example DropBlock of 'y'" in said
    operators = {node.op_type for node in onnx.load("out.onnx").graph.node}
    assert {"DropBlock", "RandomNormal"} <= operators


def test_what_openvino_does_not_convert_is_an_error_in_its_words(tmp_path):
    onnx.save(parser.parse_model(UNKNOWN), "model.onnx")
    said = refusal("model.onnx", "-o", "out.xml", "--keep-unknown")
    assert "No conversion rule found for operations: com.example.DropBlock." in said
    assert "An ONNX file (a name that ends in .onnx) can be written all the same." in said
    assert [path.name for path in tmp_path.iterdir()] == ["model.onnx"]


def test_the_input_is_never_overwritten(plain):
    before = Path(plain).read_bytes()
    for target in (plain, f"./{plain}", Path(plain).absolute()):
        assert "the output must be a file of its own: got the model itself." in refusal(
            plain, "-o", target
        )
    Path("link.onnx").symlink_to(plain)
    assert "the model itself" in refusal(plain, "-o", "link.onnx")
    assert Path(plain).read_bytes() == before


@pytest.mark.parametrize(
    ("source", "target", "said"),
    [
        ("nowhere.onnx", "out.onnx", "rewrite: no such file: nowhere.onnx. Check the path"),
        ("", "out.onnx", "MODEL must be the path of a file: got ''"),
        ("model.onnx", "", "--output must be the path of a file: got ''"),
        (".", "out.onnx", "the model must be a file: got ., a folder. Name the model's file."),
        (
            "plain.onnx",
            "a/b/out.onnx",
            "rewrite: the output must be in a folder: got a/b, which does not",
        ),
        (
            "plain.onnx",
            "a/b/out.xml",
            "rewrite: the output must be in a folder: got a/b, which does not",
        ),
        ("plain.onnx", "text.onnx/out.onnx", "must be in a folder: got text.onnx, which is none."),
        (
            "ir.xml",
            "out.onnx",
            "must be a name that ends in .xml, since the model is an OpenVINO IR",
        ),
        ("plain.onnx", "out.tflite", "must be a name that ends in .onnx, or in .xml for an"),
        ("plain.onnx", "out", "must be a name that ends in .onnx"),
        (
            "plain.onnx",
            "folder.onnx",
            "must be a file: got 'folder.onnx', a folder. Name a file in it.",
        ),
        ("text.onnx", "out.onnx", "'text.onnx' must be a serialised ONNX model: got other bytes"),
        ("text.onnx", "out.xml", "'text.onnx' must be a serialised ONNX model: got other bytes"),
    ],
)
@pytest.mark.usefixtures("plain")
def test_wrong_names_and_files_are_errors(source, target, said):
    Path("ir.xml").write_text("<net/>")
    Path("text.onnx").write_text("no model")
    Path("folder.onnx").mkdir()
    assert said in refusal(source, "-o", target)
    assert not Path("out.onnx").exists()
    assert not Path("a").exists()


def test_a_seed_out_of_range_is_an_error():
    assert refusal(MODEL, "-o", "out.onnx", "--seed", 2**63).startswith(
        "onnx-philox rewrite: --seed must be an integer from 0 to 2^63-1: got 9223372036854775808"
    )


def test_many_nodes_are_counted_by_operator():
    said = rewrite(MODELS / "mc_dropout.onnx", "-o", "out.onnx")
    assert "2 random nodes rewritten, streams 0 to 1 2 Dropout-13 is now RandomDropout " in said


def test_the_json_document_keeps_its_keys():
    result = invoke("rewrite", MODEL, "-o", "out.onnx", "--json")
    said = json.loads(result.stdout)
    assert (said["schema"], set(keys_of(said))) == keys_said("rewrite")
    assert [node["stream"] for node in said["replaced"]] == [0]


def test_a_model_of_a_builder_is_no_rewritten_one():
    onnx.save(graphs.random_uniform([3], 0, 1, "f32", stateful=True), "built.onnx")
    said, command = rewrite("built.onnx", "-o", "out.onnx").splitlines()
    assert said.startswith("built.onnx: unchanged, it has no random nodes")
    assert command == "  onnx-philox run out.onnx --seed 42 --runs 3"
    assert invoke(*shlex.split(command)[1:]).exit_code == 0


@pytest.mark.parametrize("target", ["out.onnx", "out.xml"])
def test_each_row_gets_a_state_of_its_own(target):
    said, command = rewrite(MODEL, "-o", target, "--per-row").splitlines()
    assert (
        "The input random_state (uint32[batch, 6]: onnx_philox.row_states(seed, range(batch), run))"
        in said
    )
    if target == "out.onnx":
        assert onnx.load(target) == onnx_philox.make_reproducible(MODEL, per_row=True)
    _, *arguments = shlex.split(command)
    result = invoke(*arguments, "--json")
    assert result.exit_code == 0, result.output
    expected = [onnx_philox.row_states(42, range(1), run).tolist() for run in range(3)]
    assert [run["state"] for run in json.loads(result.stdout)["runs"]] == expected


def test_a_node_that_is_not_proved_to_draw_rows_is_named_in_the_command_s_words():
    text = """<ir_version: 8, opset_import: ["": 17]>
    g (float[batch, 4] x) => (float[a, 4] y, float[a, 4] z) {
        both = Concat <axis = 0> (x, x)
        [noise] y = RandomNormalLike (both)
        ["more noise"] z = RandomNormalLike (both)
    }"""
    onnx.save(parser.parse_model(text), "both.onnx")
    said = refusal("both.onnx", "-o", "out.onnx", "--per-row")
    assert said.startswith(
        "onnx-philox rewrite: 2 random nodes: the shape of what each draws must be one of which "
        "a dimension is proved to be 'batch', the first of the input 'x', for a state for each "
        "row: got "
    )
    named = "--per-row-node noise --per-row-node 'more noise'"
    assert f"say so with {named}; or rewrite the model with one state" in said
    result = invoke("rewrite", "both.onnx", "-o", "out.onnx", *shlex.split(named), "--json")
    assert json.loads(result.stdout)["per_row"]


@pytest.mark.parametrize("width", [60, 120])
def test_the_text_fits_a_terminal_and_is_not_wrapped_in_a_pipe(monkeypatch, width):
    monkeypatch.setenv("COLUMNS", str(width))
    piped = invoke("rewrite", MODEL, "-o", "out.onnx").stdout.splitlines()
    assert len(piped) == 6
    assert all(line == line.rstrip() for line in piped)
    monkeypatch.setenv("FORCE_COLOR", "1")
    said = click.unstyle(invoke("rewrite", MODEL, "-o", "out.onnx").stdout).splitlines()
    assert max(len(line) for line in said if "onnx-philox run" not in line) <= width
    assert len(said) > 6


def test_the_help_of_all_says_the_three_steps_in_their_order():
    said = " ".join(invoke("--help").stdout.split())
    steps = [said.index(f"onnx-philox {step}") for step in ("inspect", "rewrite", "run")]
    assert steps == sorted(steps)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (
            ("--alignment", word),
            f"--alignment must be 'tensorflow' or 'pytorch': got {word!r}. {remedy}",
        )
        for word, remedy in [
            ("torch", "Did you mean 'pytorch'?"),
            ("PyTorch", "Did you mean 'pytorch'?"),
            ("tensorflw", "Did you mean 'tensorflow'?"),
            ("bogus", "Set it to one of these."),
            ("", "Set it to one of these."),
        ]
    ]
    + [
        (("--standard", "--target", ""), "--target must be 'onnxruntime', 'openvino' or 'web'"),
        (("--target", ""), "--target and --inexact must be given with --standard"),
        (("--standard", "--target", "onnx"), "Did you mean 'onnxruntime'?"),
        (
            ("--keep-seeds", "--alignment", "pytorch"),
            "--keep-seeds must be left out with alignment 'pytorch', which has one generator",
        ),
        (("--seed", "3", "--per-row"), "--seed must be left out for a model with a state for each"),
        (("--per-row-node", ""), "must be one of the random nodes to replace"),
    ],
)
def test_a_word_that_is_none_of_an_option_s_writes_nothing(
    options: tuple[str, ...], said: str
) -> None:
    assert said in " ".join(refusal(MODEL, "-o", "new.onnx", *options).split())
    assert not Path("new.onnx").exists()
