"""2^16 words in Chromium, by ONNX Runtime Web, beside ONNX's own RandomUniform.

    (cd examples/web && npm install && python prepare.py)
    (cd tests/web && npm install)
    python benchmarks/web.py

The target is at most 5 ms, on an idle machine. Needs Node.js, npm and Chromium.
"""

from __future__ import annotations

import base64
import functools
import json
import subprocess
import threading
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import numpy as np
from onnx import parser
from rich.console import Console
from rich.table import Table

ROOT = Path(__file__).parents[1]
PEER = parser.parse_model("""
    <ir_version: 8, opset_import: ["": 18]>
    g () => (float[65536] y) { y = RandomUniform<shape = [65536]>() }
""")


class Quiet(SimpleHTTPRequestHandler):
    """Serves files and prints nothing."""

    def log_message(self, format: str, *args: object) -> None:
        """Requests are no news."""


def measured() -> dict[str, list[list[float]]]:
    """Milliseconds of the words and of the peer, in pairs, by provider."""
    handler = functools.partial(Quiet, directory=str(ROOT / "examples" / "web"))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        address = f"http://127.0.0.1:{server.server_port}/"
        peer = base64.b64encode(PEER.SerializeToString()).decode()
        command = ["node", "time.mjs", address, peer]
        folder = ROOT / "tests" / "web"
        done = subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True)
        server.shutdown()
    return json.loads(done.stdout)


table = Table("provider", "2^16 words, ms", "best", "RandomUniform, ms", "best")
for provider, pairs in measured().items():
    words, peer = np.array(pairs).T
    cells = (f"{x:.2f}" for x in (np.median(words), words.min(), np.median(peer), peer.min()))
    table.add_row(provider, *cells)
Console().print(table)
