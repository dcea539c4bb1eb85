"""The service under test is given by `--towline PATH`, by TOWLINE in the environment, or found in PATH."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

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


class Fake:
    """The stand-in of fake_service.py as an executable, with what it read."""

    def __init__(self, directory: Path) -> None:
        self.binary = directory / "towline"
        self.binary.write_text(f"#!{sys.executable}\n{(PACKAGE / 'tests/fake_service.py').read_text()}")
        self.binary.chmod(0o755)
        self.log = directory / "log"
        self.log.touch()
        self.crashes = directory / "crashes"
        self.crashes.touch()
        self.env = {**os.environ, "FAKE_LOG": str(self.log), "FAKE_CRASHES": str(self.crashes)}

    def crash_at(self, method: str, times: int = 1) -> None:
        self.env["FAKE_CRASH"] = method
        self.crashes.write_text("x" * times)

    def read(self) -> list[dict[str, Any]]:
        """What the client wrote, without the notifications that end the service."""
        messages = [json.loads(line) for line in self.log.read_text().splitlines()]
        return [m for m in messages if "id" in m or m["method"] not in ("shutdown", "exit")]

    def methods(self) -> list[str]:
        return [message["method"] for message in self.read()]


@pytest.fixture
def fake(tmp_path: Path) -> Fake:
    directory = tmp_path / "fake"
    directory.mkdir()
    return Fake(directory)
