"""The commands in README.md work when pasted."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest
from nginx_server import free_port

TOP = Path(__file__).resolve().parents[2]


def blocks(after: str) -> list[str]:
    text = (TOP / "README.md").read_text().split(after, 1)[1]
    return re.findall(r"```sh\n(.*?)```", text, re.DOTALL)


@pytest.mark.timeout(60)
def test_the_pipeline_works_as_it_stands(tmp_path: Path, binary: Path) -> None:
    script = blocks("## A pipeline")[0].replace("8765", str(free_port()))
    tools = tmp_path / "bin"
    tools.mkdir()
    (tools / "towline").symlink_to(binary)
    work = tmp_path / "work"
    work.mkdir()
    (work / "README.md").write_bytes((TOP / "README.md").read_bytes())
    environment = {**os.environ, "PATH": f"{tools}:{os.environ['PATH']}"}
    # `kill %1` needs job control, as in an interactive shell.
    ran = subprocess.run(
        ["bash", "-m", "-c", script], cwd=work, env=environment, capture_output=True, text=True, timeout=50
    )
    size = (TOP / "README.md").stat().st_size
    assert ran.stdout.splitlines() == [f"completed {work}/copy.md {size}", "0 0 0"], ran.stderr
    assert (work / "copy.md").read_bytes() == (TOP / "README.md").read_bytes()


def test_it_is_short_enough_to_be_read() -> None:
    assert len((TOP / "README.md").read_text().splitlines()) <= 200


def test_its_links_lead_somewhere() -> None:
    for target in re.findall(r"\]\(([^)#]+)\)", (TOP / "README.md").read_text()):
        if "://" not in target:
            assert (TOP / target).exists(), target
