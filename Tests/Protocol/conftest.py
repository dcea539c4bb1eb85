from __future__ import annotations

import json

import pytest
from examples import JSON, PROTOCOL
from fixtures import binary, host, launch, server, work

__all__ = ["binary", "document", "host", "launch", "server", "work"]


@pytest.fixture(scope="session")
def document() -> JSON:
    return json.loads((PROTOCOL / "openrpc.json").read_text())
