"""Builds the packages once; each test installs them in a fresh system."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from fresh_root import FreshRoot, make_base, missing
from nginx_server import Nginx, missing_programs, start_nginx

TOP = Path(__file__).resolve().parents[2]
CONTENT = bytes(range(256)) * 4_000
HOMEPAGE = "https://example.org/towline"


@pytest.fixture(scope="session", autouse=True)
def _able() -> None:
    lacking = missing()
    if lacking is not None:
        pytest.skip(f"needs {lacking}")


@pytest.fixture(scope="session")
def packages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory with everything that the script builds."""
    output = tmp_path_factory.mktemp("packages")
    script = TOP / "clients" / "packaging" / "build"
    built = subprocess.run(
        [script, "-o", output, "--url", HOMEPAGE],
        stdout=subprocess.PIPE,
        text=True,
        check=True,
        timeout=3_000,
    )
    assert sorted(built.stdout.split()) == sorted(str(file) for file in output.iterdir())
    return output


@pytest.fixture(scope="session")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A base system; TOWLINE_TEST_ROOT can name a ready one, to write these tests faster."""
    named = os.environ.get("TOWLINE_TEST_ROOT")
    root = Path(named) if named else tmp_path_factory.mktemp("base") / "root"
    if not (root / "etc/debian_version").exists():
        make_base(root)
    return root


@pytest.fixture
def fresh(base: Path, tmp_path: Path) -> Iterator[Callable[[], FreshRoot]]:
    roots: list[Path] = []

    def make() -> FreshRoot:
        roots.append(tmp_path / f"root{len(roots)}")
        subprocess.run(["cp", "-a", "--reflink=auto", str(base), str(roots[-1])], check=True)
        return FreshRoot(roots[-1])

    yield make
    for root in roots:
        shutil.rmtree(root)


@pytest.fixture(scope="session")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Nginx]:
    """Serves disk.img with CONTENT over http and https on loopback."""
    lacking = missing_programs()
    if lacking:
        pytest.skip(f"needs {' and '.join(lacking)}")
    running = start_nginx(tmp_path_factory.mktemp("nginx"))
    (running.root / "disk.img").write_bytes(CONTENT)
    yield running
    running.close()
