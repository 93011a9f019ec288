"""Writes tests/pinned/mxnet-1.9.1: files by real MXNet, and what DALI's tool makes of them.

Usage: .venv/bin/python tests/peers/pin.py
"""

import hashlib
import json
import shutil
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from corpus import PINNED
from environments import ROOT, encode, in_mxnet, mask_seconds

FOLDER = ROOT / "tests/pinned/mxnet-1.9.1"


def main() -> None:
    """Write the folder anew, but for its PROVENANCE.md."""
    provenance = (FOLDER / "PROVENANCE.md").read_bytes()
    shutil.rmtree(FOLDER)
    FOLDER.mkdir()
    (FOLDER / "PROVENANCE.md").write_bytes(provenance)
    steps = []
    for name, payloads in PINNED.items():
        record, index = FOLDER / f"{name}.rec", FOLDER / f"{name}.idx"
        steps.append({"do": "write", "record": record, "payloads": encode(payloads)})
        steps.append({"do": "rec2idx", "record": record, "index": index})
    *results, versions = in_mxnet(*steps, {"do": "versions"})
    files = {}
    for (name, payloads), printed in zip(PINNED.items(), results[1::2], strict=True):
        files[name] = {
            "records": len(payloads),
            # MXNet reads these very payloads; tests/peers/test_mxnet.py shows it.
            "sha256": hashlib.sha256(b"".join(payloads)).hexdigest(),
            "printed": mask_seconds(printed).splitlines(),
        }
    expected = {"versions": versions, "files": files}
    (FOLDER / "expected.json").write_text(json.dumps(expected, indent=2) + "\n")


if __name__ == "__main__":
    main()
