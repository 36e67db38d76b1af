"""Guides a fuzzer by coverage through the Python readers of models, IRs, records and the like.

python -m tests.files.guided_files                each reader for 20 s; needs `pip install atheris`
python -m tests.files.guided_files SECONDS SEED   for so long, from elsewhere
python -m tests.files.guided_files TARGET FILE    an input again; targets: see TARGETS

A reader may take an input, or refuse it. Anything else is a finding: it ends with exit code 1, and
the input is left in a file that is named. `3600 $RANDOM` is a real run.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.common import child

SECONDS = 20.0
SEED = 1
TARGETS = ("models", "irs", "records", "checkpoints", "states")
LONGEST = 2**14
Read = Callable[[bytes], object]


def readers(folder: Path) -> dict[str, Read]:
    """What reads an input of each kind, with its files in the folder."""
    import numpy as np

    from onnx_philox import TorchState, rewriting
    from onnx_philox._files import openvino_ir
    from onnx_philox._record import document
    from onnx_philox._rewriting.in_openvino import files

    pipeline = _pipeline()
    model = folder / "model.onnx"
    ir = folder / "model.xml"
    ir.with_suffix(".bin").write_bytes(b"0123")

    def of_models(data: bytes) -> None:
        """Our own reader of protobuf, the rewriter and the writer."""
        model.write_bytes(data)
        rewriting.rewrite_file(model, folder / "out.onnx")

    def of_irs(data: bytes) -> None:
        """An IR's text, as far as Python reads it: OpenVINO's own reader is not ours."""
        ir.write_bytes(data)
        openvino_ir.check_ir("fuzz", ir)
        files._check_seeds(ir)

    def of_records(data: bytes) -> None:
        """Records of runs, and the arrays in them."""
        for entry in document.read_record(data)["inputs"]:
            document.array_of(entry)

    def of_checkpoints(data: bytes) -> None:
        pipeline.request(resume=data.decode(errors="replace"))

    def of_states(data: bytes) -> None:
        """States in JSON, and the bytes of torch's generator."""
        if data[:1] == b"t":
            TorchState.from_json(data[1:].decode(errors="replace"))
        else:
            TorchState.from_torch(np.frombuffer(data[1:], np.uint8))

    found = (of_models, of_irs, of_records, of_checkpoints, of_states)
    return dict(zip(TARGETS, found, strict=True))


def _pipeline() -> Any:
    from onnx_philox import Pipeline, make_reproducible
    from tests.common import cases
    from tests.files import fuzz_files

    model = make_reproducible(cases.parse(fuzz_files.TEXTS["flat"]))
    return Pipeline(model, runtime="onnxruntime")


def make_corpus(folder: Path) -> None:
    """Right inputs of each reader, in a folder of its name."""
    import numpy as np

    from onnx_philox import TorchState
    from onnx_philox._command.app import app
    from tests.files import fuzz_files

    for target in TARGETS:
        (folder / target).mkdir()
    (folder / "all").mkdir()
    for model in fuzz_files.make_corpus(folder / "all"):
        data = (model / "m.onnx").read_bytes()
        if len(data) <= LONGEST:
            (folder / "models" / model.name).write_bytes(data)
    for golden in (Path(__file__).parents[2] / "graphs" / "golden").rglob("*_seeds.xml"):
        shutil.copy(golden, folder / "irs" / f"{golden.parent.name}-{golden.name}")
    model = folder / "all" / "flat-rewritten" / "m.onnx"
    run = f"run {model} --runtime reference --seed 1 --record {folder}/records/record"
    app(run.split(), standalone_mode=False)
    request = _pipeline().request(seed=1)
    request({})
    (folder / "checkpoints" / "one").write_text(json.dumps(request.checkpoint()))
    torch = TorchState.from_seed(3)
    (folder / "states" / "torch").write_bytes(b"t" + torch.to_json().encode())
    (folder / "states" / "bytes").write_bytes(b"b" + np.asarray(torch.to_torch()).tobytes())


def fuzz(target: str, arguments: list[str]) -> None:
    """Reads what atheris makes until it says that the time is over; then the process ends."""
    import atheris

    with tempfile.TemporaryDirectory() as name:
        with atheris.instrument_imports(include=["onnx_philox"]):
            read = readers(Path(name))[target]

        def read_or_refuse(data: bytes) -> None:
            try:
                read(data)
            except (ValueError, TypeError, OSError) as error:
                if not str(error):
                    raise

        atheris.Setup([sys.argv[0], *arguments], read_or_refuse)
        atheris.Fuzz()


def main() -> int:
    """Fuzzes each reader for a time; 1 if something is found."""
    given = sys.argv[1:]
    if given and given[0] in TARGETS:
        fuzz(given[0], given[1:])
    try:
        seconds, seed = (float(given[0]), int(given[1])) if given else (SECONDS, SEED)
    except (ValueError, IndexError):
        sys.exit(f"{__doc__}\nTARGETS: {', '.join(TARGETS)}")
    found = Path(tempfile.mkdtemp(prefix="onnx-philox-found-"))
    is_wrong = False
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        make_corpus(folder)
        for target in TARGETS:
            options = [
                f"-max_total_time={seconds:g}",
                f"-seed={seed}",
                f"-max_len={LONGEST}",
                "-timeout=60",
                "-rss_limit_mb=4096",
                f"-artifact_prefix={found}/{target}-",
            ]
            command = [sys.executable, __file__, target, folder / target, *options]
            # The program imports `tests` from here.
            path = {"PYTHONPATH": os.pathsep.join(sys.path)}
            done = child.run(*command, code=None, env=path, errors="replace")
            last = [line for line in done.stderr.splitlines() if line.startswith(("#", "Done"))]
            print(f"{target}: {'; '.join(last[-2:])}", flush=True)
            if done.returncode != 0:
                is_wrong = True
                print(done.stdout[-4000:], done.stderr[-4000:], f"FOUND: {found}", sep="\n")
    if not is_wrong:
        os.rmdir(found)
    return int(is_wrong)


if __name__ == "__main__":
    sys.exit(main())
