"""The binary as a file: what it needs of the system that it runs on."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest
from fixtures import Launcher

EXPECTED = (
    "libcurl",
    "libjansson",
    "libsqlite3",
    "libcrypto",
    "libz.so",
    "libc.so",
    "libm.so",
    "libstdc++",
    "libgcc_s",
)


def needed(binary: Path) -> list[str]:
    ran = subprocess.run(["readelf", "-d", str(binary)], capture_output=True, text=True, check=True)
    return re.findall(r"\(NEEDED\).*\[(.+)\]", ran.stdout)


@pytest.fixture
def release(binary: Path) -> Path:
    """The binary, when it is one for users: a debug build links the Swift runtime dynamically."""
    if not any(part.startswith("release") for part in binary.parts):
        pytest.skip("not a release build")
    return binary


def test_it_links_no_foundation_and_no_swift_runtime(release: Path) -> None:
    ran = subprocess.run(["ldd", str(release)], capture_output=True, text=True, check=True)
    banned = [
        text.strip()
        for text in ran.stdout.splitlines()
        if re.search(r"libFoundation|_FoundationICU|libswift|libdispatch|libBlocksRuntime", text)
    ]
    assert banned == []
    assert "not found" not in ran.stdout


def test_it_needs_only_the_four_libraries_and_the_system(release: Path) -> None:
    others = [n for n in needed(release) if not n.startswith((*EXPECTED, "ld-linux", "libdl", "libpthread"))]
    assert others == []


def test_a_debug_build_links_no_foundation_either(binary: Path) -> None:
    assert [n for n in needed(binary) if "Foundation" in n] == []


def test_it_has_no_executable_stack(binary: Path) -> None:
    ran = subprocess.run(["readelf", "-lW", str(binary)], capture_output=True, text=True, check=True)
    stack = next(text for text in ran.stdout.splitlines() if "GNU_STACK" in text)
    assert "E" not in stack.split()[-2]


def test_it_runs_without_any_environment(launch: Launcher) -> None:
    ran = subprocess.run(
        [str(launch.binary), "--version"], env={}, capture_output=True, text=True, timeout=10
    )
    assert ran.returncode == 0
