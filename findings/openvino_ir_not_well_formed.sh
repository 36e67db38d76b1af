#!/usr/bin/env bash
# OpenVINO: its reader of IR takes an .xml file that is not well-formed, where other readers refuse it.
#
# Expected: a file with a bare & in the name of a layer, with an attribute twice, or with two hyphens in a
# comment, is no XML; read_model refuses it as Python's xml.etree does.
# So it is: read_model reads all three. The name is "a & b", of the two attributes the first one counts, the
# comment is passed over. A tool that edits an .xml as text, and writes & for &amp;, makes a file that runs, and
# that no other reader of XML opens. A root that is not closed is refused.
#
# Versions: openvino 2026.4.1 (Linux x86-64), numpy 2.4.6, Python 3.11.
# 29 November 2026. Source: met while files of IR were searched for names by another reader of XML; this script.
# Output seen:
#   as written: xml.etree reads it; OpenVINO reads it, the layer is 'middle'
#   a bare &: xml.etree: not well-formed; OpenVINO reads it, the layer is 'a & b'
#   an attribute twice: xml.etree: duplicate attribute; OpenVINO reads it, the layer is 'middle'
#   -- in a comment: xml.etree: not well-formed; OpenVINO reads it, the layer is 'middle'
#   no end of the root: xml.etree: no element found; OpenVINO refuses it
# Exits with 1 if that changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet openvino==2026.4.1 numpy==2.4.6
cd "$folder"
"$folder/venv/bin/python" - <<'PYTHON'
import sys
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import openvino as ov
from openvino import opset15

x = opset15.parameter([2], np.float32, name="x")
middle = opset15.negative(x)
middle.set_friendly_name("middle")
ov.save_model(ov.Model([middle], [x], "model"), "model.xml")
NAME = 'name="middle"'


def by_etree(text):
    """What Python's reader says of a text, without the place."""
    try:
        ElementTree.fromstring(text)
    except ElementTree.ParseError as error:
        return str(error).partition(":")[0].partition(" (")[0]
    return "reads it"


def by_openvino(text):
    """The name of the layer between the input and the output; None where the file is refused."""
    Path("model.xml").write_text(text)
    try:
        model = ov.Core().read_model("model.xml")
    except RuntimeError:
        return None
    return model.get_ordered_ops()[1].get_friendly_name()


text = Path("model.xml").read_text()
files = {
    "as written": text,
    "a bare &": text.replace(NAME, 'name="a & b"'),
    "an attribute twice": text.replace(NAME, f'{NAME} name="other"'),
    "-- in a comment": text.replace("<layers>", "<!-- a -- b --><layers>"),
    "no end of the root": text.replace("</net>", ""),
}
seen = {}
for what, changed in files.items():
    etree = by_etree(changed)
    layer = by_openvino(changed)
    seen[what] = etree == "reads it", layer
    of_etree = "xml.etree reads it" if seen[what][0] else f"xml.etree: {etree}"
    of_openvino = "OpenVINO refuses it" if layer is None else f"OpenVINO reads it, the layer is {layer!r}"
    print(f"{what}: {of_etree}; {of_openvino}")
expected = {
    "as written": (True, "middle"),
    "a bare &": (False, "a & b"),
    "an attribute twice": (False, "middle"),
    "-- in a comment": (False, "middle"),
    "no end of the root": (False, None),
}
sys.exit(seen != expected)
PYTHON
