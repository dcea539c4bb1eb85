from __future__ import annotations

import pytest
from fixtures import binary, server
from hosts import HEAD, HOSTS, row

__all__ = ["binary", "server"]
#: the versions of the hosts that passed, by name
PASSED = pytest.StashKey[dict[str, str]]()


def pytest_configure(config: pytest.Config) -> None:
    config.stash[PASSED] = {}


@pytest.fixture
def passed(pytestconfig: pytest.Config) -> dict[str, str]:
    return pytestconfig.stash[PASSED]


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    versions = config.stash[PASSED]
    if versions:
        terminalreporter.write_sep("=", "hosts that drove the service")
        lines = [*HEAD, *(row(host, versions[host.name]) for host in HOSTS if host.name in versions)]
        terminalreporter.write_line("\n".join(lines))
