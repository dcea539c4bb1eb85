"""What clients/packaging/build refuses before it builds anything; Tests/Packages tries what it builds."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

BUILD = Path(__file__).resolve().parents[2] / "clients" / "packaging" / "build"


def build(output: Path, *arguments: str, binary: str) -> subprocess.CompletedProcess[str]:
    environment = {"PATH": "/usr/local/bin:/usr/bin:/bin", "TOWLINE": binary}
    command = [BUILD, "-o", output, *arguments]
    return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60)


def test_the_help_names_what_it_builds(tmp_path: Path) -> None:
    ran = build(tmp_path / "out", "--help", binary="towline")
    assert ran.returncode == 0
    assert all(f"\n  {kind} " in ran.stdout for kind in ("tarball", "deb", "wheel"))
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    "arguments", [("rpm",), ("--fast",), ("-o",), ("-o", ""), ("--url",), ("--url", "x y")]
)
def test_an_unknown_argument_is_usage(tmp_path: Path, arguments: tuple[str, ...]) -> None:
    ran = build(tmp_path / "out", *arguments, binary="towline")
    assert (ran.returncode, ran.stdout) == (64, "")
    assert arguments[0] in ran.stderr


def test_a_binary_that_cannot_be_packed_is_said(tmp_path: Path) -> None:
    """None at all, and one that prints no version: nothing is left in the output directory."""
    for binary, said in (
        ("/nowhere/towline", "/nowhere/towline"),
        (shutil.which("true") or "true", "version"),
    ):
        ran = build(tmp_path / "out", "tarball", binary=binary)
        assert (ran.returncode, ran.stdout) == (1, ""), ran
        assert said in ran.stderr
        assert list((tmp_path / "out").iterdir()) == []


def test_a_binary_of_another_version_is_refused(tmp_path: Path) -> None:
    other = tmp_path / "towline"
    other.write_text("#!/bin/sh\necho towline 99.0.0\n")
    other.chmod(0o755)
    ran = build(tmp_path / "out", "deb", binary=str(other))
    assert ran.returncode == 1
    assert "99.0.0" in ran.stderr
    assert "pyproject.toml" in ran.stderr
