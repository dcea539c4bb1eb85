"""The README's programs run, and what it names exists."""

from __future__ import annotations

import hashlib
import re
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import PACKAGE
from loopback import Server, content

import towline

TEXT = (PACKAGE / "README.md").read_text()
PROGRAMS = re.findall(r"```python\n(.*?)```", TEXT, re.DOTALL)


@pytest.mark.parametrize("program", PROGRAMS)
def test_a_program_of_the_readme_runs(
    program: str, server: Server, tmp_path: Path, environment: dict[str, str]
) -> None:
    body = content(1, 200_000)
    server.add("file", body)
    folder = tmp_path / "folder"
    folder.mkdir()
    given = {"url": server.url("file"), "folder": str(folder), "digest": hashlib.sha256(body).hexdigest()}
    program = program.replace('"https://example.org/disk.img", "disk.img"', "url, 'file'")
    assigned = "".join(f"{name} = {value!r}\n" for name, value in given.items())
    done = subprocess.run(
        [sys.executable, "-c", assigned + program],
        env=environment,
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=30,
    )
    assert done.returncode == 0, done.stderr
    assert ("completed None" in done.stdout) or (str(folder / "file") in done.stdout)
    assert (folder / "file").read_bytes() == body


def test_there_are_programs() -> None:
    assert len(PROGRAMS) == 3


def test_the_table_names_every_method_and_no_other() -> None:
    table = TEXT[TEXT.index("have the same methods:") :]
    rows = [line for line in table.splitlines() if line.startswith("| `")]
    named = {name for row in rows for name in re.findall(r"`(\w+)`", row)}
    methods = {name for name in dir(towline.Towline) if not name.startswith("_") and name != "process_id"}
    classes = {name for name in named if name[0].isupper()}
    assert named - classes == methods - {"open", "close"}
    assert all(hasattr(towline, name) for name in classes)


def test_the_table_of_the_command_names_every_subcommand(environment: dict[str, str]) -> None:
    table = TEXT[TEXT.index("## The command") : TEXT.index("## From a program")]
    rows = [line.split("|")[1] for line in table.splitlines() if line.startswith("| `")]
    usage = subprocess.check_output([sys.executable, "-m", "towline", "--help"], env=environment, text=True)
    commands = set(re.findall(r"^    (\w+) ", usage, re.MULTILINE))
    assert {name for row in rows for name in re.findall(r"`(\w+)`", row)} == commands - {"which"}


def test_links_lead_somewhere_from_where_the_page_is_shown() -> None:
    """It is the long description of the package too: there no file is beside it."""
    anchors = {
        re.sub(r"[^\w -]", "", h.lower()).replace(" ", "-") for h in re.findall(r"^#+ (.*)", TEXT, re.M)
    }
    for link in re.findall(r"\]\(([^)]+)\)", TEXT):
        assert link.startswith("https://") or link.removeprefix("#") in anchors, link
