"""The wheel is built, installed into a fresh environment, and downloads from there."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
import zipfile
from email import message_from_bytes
from pathlib import Path

import pytest
from conftest import PACKAGE
from loopback import Server


def build(into: Path, **variables: str) -> Path:
    """Builds the wheel as `pip wheel` does it; with hatchling at hand without asking an index for it."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("TOWLINE")}
    environment.pop("PYTHONPATH", None)
    command = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", str(into)]
    try:
        import hatchling  # noqa: F401

        command.append("--no-build-isolation")
    except ImportError:
        pass
    subprocess.run([*command, str(PACKAGE)], env={**environment, **variables}, check=True, timeout=100)
    (wheel,) = into.glob("*.whl")
    return wheel


def test_without_a_binary_the_wheel_is_pure(tmp_path: Path) -> None:
    wheel = build(tmp_path)
    assert wheel.name.endswith("-py3-none-any.whl")
    archive = zipfile.ZipFile(wheel)
    names = archive.namelist()
    assert "towline/py.typed" in names
    assert archive.read("towline-0.1.0.dist-info/entry_points.txt").decode().split() == [
        *("[console_scripts]", "towline-py", "=", "towline.cli:main")
    ]
    described = message_from_bytes(archive.read("towline-0.1.0.dist-info/METADATA"))
    assert described.get_payload(decode=True) == (PACKAGE / "README.md").read_bytes()
    assert "Typing :: Typed" in described.get_all("Classifier", [])
    assert not any("/bin/" in name for name in names)


def test_a_binary_that_is_not_there_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(subprocess.CalledProcessError):
        build(tmp_path, TOWLINE=str(tmp_path / "missing"))


def test_the_wheel_carries_the_service_and_downloads_with_it(
    binary: str, server: Server, tmp_path: Path
) -> None:
    wheel = build(tmp_path / "wheel", TOWLINE=binary)
    assert "-py3-none-linux_" in wheel.name or sys.platform != "linux"
    with zipfile.ZipFile(wheel) as archive:
        mode = archive.getinfo("towline/bin/towline").external_attr >> 16
        assert mode & stat.S_IXUSR

    subprocess.run([sys.executable, "-m", "venv", str(tmp_path / "venv")], check=True, timeout=60)
    python = tmp_path / "venv" / "bin" / "python"
    install = [str(python), "-m", "pip", "install", "--quiet", "--no-deps", "--no-index"]
    subprocess.run([*install, "--disable-pip-version-check", str(wheel)], check=True, timeout=60)

    server.add("f", b"through the wheel")
    environment = {"PATH": os.defpath, "HOME": str(tmp_path)}
    where = tmp_path / "here"
    where.mkdir()
    got = subprocess.run(
        [str(python), "-I", "-m", "towline", "get", server.url("f")],
        env=environment,
        cwd=where,
        capture_output=True,
        text=True,
        timeout=30,
    )
    assert (got.returncode, got.stdout.strip()) == (0, str(where / "f")), got.stderr
    assert (where / "f").read_bytes() == b"through the wheel"
    which = subprocess.check_output([str(python), "-I", "-m", "towline", "which"], env=environment, text=True)
    assert which.strip().endswith("site-packages/towline/bin/towline")
    usage = subprocess.check_output([str(python.with_name("towline-py")), "--help"], text=True)
    assert usage.startswith("usage: towline-py ")
    command = tmp_path / "venv" / "bin" / "towline"
    version = subprocess.check_output([str(command), "--version"], env=environment, text=True)
    assert version == subprocess.check_output([binary, "--version"], text=True)
    # It becomes the service: signals and the exit status are the service's own.
    ended = subprocess.run(
        [str(command), "--no-such-option"], env=environment, capture_output=True, text=True
    )
    assert (ended.returncode, "--no-such-option" in ended.stderr) == (64, True), ended
