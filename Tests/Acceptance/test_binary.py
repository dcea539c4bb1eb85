"""What the binary needs from the system that it runs on."""

from __future__ import annotations

import re
import shutil
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
    """The release binary; a debug build links the Swift runtime dynamically."""
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


def dynamic(binary: Path) -> str:
    return subprocess.run(["readelf", "-dW", str(binary)], capture_output=True, text=True, check=True).stdout


def undefined(binary: Path) -> set[str]:
    """The functions that it imports from shared libraries."""
    ran = subprocess.run(
        ["readelf", "--dyn-syms", "-W", str(binary)], capture_output=True, text=True, check=True
    )
    return set(re.findall(r" UND (\w+)", ran.stdout))


def test_no_library_is_looked_for_beside_it(binary: Path) -> None:
    paths = re.findall(r"\((?:RPATH|RUNPATH)\).*\[(.*)\]", dynamic(binary))
    assert not any("ORIGIN" in path for path in paths)
    assert all(part.startswith("/") for path in paths for part in path.split(":"))


def test_a_release_build_has_no_search_path_at_all(release: Path) -> None:
    assert not re.search(r"\((RPATH|RUNPATH)\)", dynamic(release))


def test_what_the_loader_has_bound_is_read_only(binary: Path) -> None:
    assert re.search(r"\(FLAGS\).*BIND_NOW", dynamic(binary))
    assert re.search(r"\(FLAGS_1\).*NOW.*PIE", dynamic(binary))
    ran = subprocess.run(["readelf", "-lW", str(binary)], capture_output=True, text=True, check=True)
    assert "GNU_RELRO" in ran.stdout
    assert not [text for text in ran.stdout.splitlines() if re.search(r"LOAD .* RWE ", text)]


def test_the_c_code_is_built_with_checks(binary: Path) -> None:
    called = undefined(binary)
    assert "__stack_chk_fail" in called
    assert "__snprintf_chk" in called


def test_a_download_beside_it_is_no_library(binary: Path, launch: Launcher, tmp_path: Path) -> None:
    copy = tmp_path / "towline"
    shutil.copy(binary, copy)
    for name in ("libjansson.so.4", "libcurl.so.4", "libcrypto.so.3"):
        (tmp_path / name).write_bytes(b"not a library")
    ran = subprocess.run([str(copy), "--version"], capture_output=True, text=True, timeout=10, cwd=tmp_path)
    assert (ran.returncode, ran.stderr) == (0, "")


def test_it_runs_without_any_environment(launch: Launcher) -> None:
    ran = subprocess.run(
        [str(launch.binary), "--version"], env={}, capture_output=True, text=True, timeout=10
    )
    assert ran.returncode == 0
