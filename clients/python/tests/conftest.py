"""The service under test is given by `--towline PATH`, by TOWLINE in the environment, or found in PATH."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from loopback import Server

from towline import find_binary

PACKAGE = Path(__file__).resolve().parent.parent


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--towline", help="the service to test with; else TOWLINE, else the one in PATH")


@pytest.fixture(scope="session")
def binary(pytestconfig: pytest.Config) -> str:
    return find_binary(pytestconfig.getoption("--towline"))


@pytest.fixture
def server() -> Iterator[Server]:
    served = Server()
    yield served
    served.close()


@pytest.fixture
def state(tmp_path: Path) -> Path:
    return tmp_path / "state"


@pytest.fixture
def environment(binary: str, tmp_path: Path) -> dict[str, str]:
    """For programs under test: this package, this service, and nothing of the person who runs the tests."""
    return {
        "PATH": os.environ.get("PATH", os.defpath),
        "HOME": str(tmp_path),
        "XDG_STATE_HOME": str(tmp_path / "xdg"),
        "PYTHONPATH": str(PACKAGE / "src"),
        "PYTHONDONTWRITEBYTECODE": "1",
        "PYTHONUNBUFFERED": "1",
        "TOWLINE": binary,
    }


@pytest.fixture(scope="session")
def python() -> str:
    return sys.executable
