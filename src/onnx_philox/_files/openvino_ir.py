"""The files of an OpenVINO IR: a model in OpenVINO's own format, with its weights beside it."""

from __future__ import annotations

import html
import os
import re
from pathlib import Path
from typing import NoReturn

from onnx_philox._contract import checks
from onnx_philox._contract.operators import INT64_MAX

SUFFIX = ".xml"
_CONSTANT = b'type="Const"'
_BEGINNING = re.compile(rb"<net\b[^>]*\bversion=")
_HEAD = 2**16
# The attributes of a layer and of its data. No parser of XML: OpenVINO's reads files that are not
# well-formed, such as those with a control character in a name, and others refuse them.
_NO_LAYERS = re.compile(
    r"<!--.*?(?:-->|\Z)"
    r"|<!\[CDATA\[.*?(?:\]\]>|\Z)"
    r"|<rt_info(?:\s[^<>]*)?(?<!/)>.*?(?:</rt_info>|\Z)",
    re.DOTALL,
)
"""What OpenVINO reads no layer or seed from; to the end where it has none."""
_ATTRIBUTES = r"""((?:[^<>"']|"[^<"]*"|'[^<']*')*)"""
_OTHER_TAGS = r"[^<]*(?:<(?!layer\s|data\s)[^<]*)*"
_LAYERS = re.compile(rf"<layer\s{_ATTRIBUTES}>{_OTHER_TAGS}<data\s{_ATTRIBUTES}>")
_ATTRIBUTE = re.compile(r"""(?<![\w:.-])(\w+)\s*=\s*(?:"([^"]*)"|'([^']*)')""")


def is_ir(path: str | os.PathLike[str]) -> bool:
    """Whether a path names an OpenVINO IR."""
    return Path(path).suffix == SUFFIX


def weights_of(path: Path) -> Path:
    """Where the weights of an IR are."""
    return path.with_suffix(".bin")


def check_ir(owner: str, path: Path, text: bytes) -> None:
    """Refuses a file that is no IR, has such seeds, or no weights in a plain file beside it.

    Links count for what they lead to, as those of a cache of downloads do.

    Args:
        owner: The function that refuses it.
        path: The file.
        text: What it holds.

    Raises:
        ValueError: It is such a file.
    """
    # With onnx_ir, which a pipeline of a session does without.
    from onnx_philox._files import external_data

    if not _BEGINNING.search(text[:_HEAD]):
        # OpenVINO would try each of its front ends, which print.
        refuse(owner, path, "other bytes")
    external_data.check_location(owner, path, weights_of(path).name, is_needed=_CONSTANT in text)
    _check_seeds(owner, text.decode("utf-8", "replace"))


def _check_seeds(owner: str, text: str) -> None:
    """Refuses seeds that OpenVINO's reader or its own functions take for none."""
    for layer, data in _LAYERS.findall(_NO_LAYERS.sub("", text)):
        said: dict[str, str] = {}
        for name, value, other in _ATTRIBUTE.findall(f"{layer} {data}"):
            # Of two of one name the first counts, as in OpenVINO.
            said.setdefault(name, html.unescape(value or other).strip())
        for name in ("global_seed", "op_seed"):
            seed = said.get(name, "")
            is_number = said.get("type") == "RandomUniform" and re.fullmatch(r"-?\d+", seed)
            if is_number and not 0 <= int(seed) <= INT64_MAX:
                what = f"{name} of RandomUniform {said.get('name', '')!r}"
                allowed = "an integer from 0 to 2^63-1"
                checks.refuse(owner, what, seed, allowed, "Convert the model with such a seed.")


def refuse(owner: str, path: Path, given: str) -> NoReturn:
    """Refuses a file that is not a whole IR."""
    allowed = "a whole OpenVINO IR, of operators that are OpenVINO's or this package's"
    remedy = (
        "Save it again with openvino.save_model; for operators of another extension, read it "
        "with that extension and pass the openvino.Model in Python."
    )
    checks.refuse(owner, str(path), given, allowed, remedy)
