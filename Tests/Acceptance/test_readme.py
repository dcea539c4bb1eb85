"""The commands in README.md work when pasted."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from nginx_server import free_port
from scripted_server import ScriptedServer

TOP = Path(__file__).resolve().parents[2]


def block(language: str, holding: str) -> str:
    """The only block of that language with those words."""
    found = re.findall(rf"```{language}\n(.*?)```", (TOP / "README.md").read_text(), re.DOTALL)
    (only,) = [text for text in found if holding in text]
    return only


@pytest.mark.timeout(60)
@pytest.mark.parametrize("shell", ["bash", "zsh"])
def test_the_pipeline_works_as_it_stands(tmp_path: Path, binary: Path, shell: str) -> None:
    """In an interactive shell, in which the reader has a job of their own."""
    if shutil.which(shell) is None:
        pytest.skip(f"{shell} is not installed")
    script = block("sh", "http.server").replace("8765", str(free_port()))
    tools = tmp_path / "bin"
    tools.mkdir()
    (tools / "towline").symlink_to(binary)
    work = tmp_path / "work"
    work.mkdir()
    (work / "README.md").write_bytes((TOP / "README.md").read_bytes())
    environment = {**os.environ, "PATH": f"{tools}:{os.environ['PATH']}", "HOME": str(tmp_path)}
    ran = subprocess.run(
        [shell, *(("--norc",) if shell == "bash" else ("-f",)), "-i"],
        input=f"sleep 50 & own=$!\n{script}wait $server\nkill -0 $own && echo runs\nkill $own\n",
        cwd=work,
        env=environment,
        capture_output=True,
        text=True,
        timeout=50,
    )
    size = (TOP / "README.md").stat().st_size
    assert [line for line in ran.stdout.splitlines() if line in ("runs",) or "completed" in line] == [
        f"completed {work}/copy.md {size}",
        "runs",
    ], ran.stdout + ran.stderr
    assert (work / "copy.md").read_bytes() == (TOP / "README.md").read_bytes()


@pytest.mark.timeout(60)
def test_the_lines_of_python_work(tmp_path: Path, binary: Path, server: ScriptedServer) -> None:
    script = block("python", "import towline").replace("https://example.org", server.url())
    for name in ("disk.img", "notes.txt"):
        server.add(f"/{name}", name.encode())
    script = script.replace("/tmp", str(tmp_path))
    environment = {
        **os.environ,
        "HOME": str(tmp_path),
        "PYTHONPATH": str(TOP / "clients/python/src"),
        "TOWLINE": str(binary),
    }
    ran = subprocess.run(
        [sys.executable, "-c", script], env=environment, capture_output=True, text=True, timeout=50
    )
    assert (ran.returncode, ran.stdout) == (0, f"{tmp_path}/notes.txt\n"), ran.stderr
    assert (tmp_path / "disk.img").read_bytes() == b"disk.img"


def test_it_is_short_enough_to_be_read() -> None:
    assert len((TOP / "README.md").read_text().splitlines()) <= 142


def test_its_links_lead_somewhere() -> None:
    for target in re.findall(r"\]\(([^)#]+)\)", (TOP / "README.md").read_text()):
        if "://" not in target:
            assert (TOP / target).exists(), target
