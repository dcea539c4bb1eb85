"""Each limit has the name and the number that `info` reports."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest
from support import JSON
from towline_client import Towline

URL = "http://127.0.0.1:1/"
START: JSON = {"url": URL + "f", "path": "f", "startPaused": True}

#: the limit, and a request that exceeds it
OVER: dict[str, Callable[[int], tuple[str, JSON]]] = {
    "urlBytes": lambda n: ("start", {**START, "url": URL + "x" * (n - len(URL))}),
    "pathBytes": lambda n: ("start", {**START, "path": "/" + "d/" * ((n - 1) // 2) + "f" * ((n - 1) % 2)}),
    "fileNameBytes": lambda n: ("start", {"url": URL, "fileName": "n" * n, "startPaused": True}),
    "headersBytes": lambda n: ("start", {**START, "headers": {"A": "x" * (n - 5)}}),
    "headers": lambda n: ("start", {**START, "headers": {f"h{i}": "" for i in range(n)}}),
    "userAgentBytes": lambda n: ("start", {**START, "userAgent": "x" * n}),
    "metadataBytes": lambda n: ("start", {**START, "metadata": {"a": "x" * (n - 8)}}),
    "resumeDataBytes": lambda n: ("start", {"resumeData": "towline-resume-1" + "x" * (n - 16)}),
    "idBytes": lambda n: ("get", {"id": "x" * n}),
    "requestIdBytes": lambda n: ("wait", {"all": True, "workDoneToken": "x" * n}),
    "ids": lambda n: ("list", {"ids": [f"d{i}" for i in range(n)]}),
}


def refusal(host: Towline, method: str, params: JSON) -> JSON | None:
    request = host.send(method, params)
    return host.response(request).get("error", {}).get("data")


@pytest.mark.parametrize("name", OVER)
def test_a_limit_of_a_parameter_has_the_name_and_the_value_that_info_lists(host: Towline, name: str) -> None:
    limits = host.call("info")["limits"]
    maximum = limits[name]
    data = refusal(host, *OVER[name](maximum + 1))
    assert data is not None
    assert (data.get("limit"), data.get("maximum")) == (name, maximum)
    assert data["path"].startswith("params.")
    allowed = refusal(host, *OVER[name](maximum))
    assert allowed is None or "limit" not in allowed, allowed


@pytest.mark.parametrize(
    ("method", "params", "name"),
    [
        ("start", {**START, "directory": "d" * 5000}, "pathBytes"),
        ("update", {"id": "d", "url": URL + "x" * 9000}, "urlBytes"),
        ("update", {"id": "d", "headers": {"A": "x" * 17_000}}, "headersBytes"),
        ("update", {"id": "d", "headers": {f"A{i}": "x" * 1000 for i in range(20)}}, "headersBytes"),
        ("update", {"id": "d", "metadata": {"a": "é" * 3000}}, "metadataBytes"),
        ("configure", {"defaults": {"headers": {"A": "x" * 17_000}}}, "headersBytes"),
        ("configure", {"defaults": {"userAgent": "é" * 600}}, "userAgentBytes"),
        ("pause", {"ids": ["d"] * 501}, "ids"),
        ("subscribe", {"ids": ["d"] * 501}, "ids"),
        ("wait", {"ids": ["d", "e" * 65]}, "idBytes"),
        ("remove", {"id": "e" * 65}, "idBytes"),
        ("start", {**START, "path": "é" * 150}, "fileNameBytes"),
    ],
)
def test_wherever_it_is_met(host: Towline, method: str, params: JSON, name: str) -> None:
    data = refusal(host, method, params)
    assert data is not None
    assert (data["kind"], data.get("limit")) == ("invalidParams", name)
    assert data["maximum"] == host.call("info")["limits"][name]


@pytest.mark.parametrize(
    ("text", "name"),
    [
        (json.dumps({"jsonrpc": "2.0", "id": "x" * 501, "method": "ping"}), "requestIdBytes"),
        ("[" * 40 + "]" * 40, "nesting"),
        ("[" + ",".join("{}" for _ in range(65)) + "]", "batch"),
        (
            json.dumps({"jsonrpc": "2.0", "id": 1, "method": "ping", "params": {"_": [0] * 10_001}}),
            "elements",
        ),
        (
            json.dumps({"jsonrpc": "2.0", "id": 1, "method": "ping", "params": {"_": "x" * (1 << 20)}}),
            "messageBytes",
        ),
    ],
)
def test_so_has_a_limit_of_a_message(host: Towline, text: str, name: str) -> None:
    host.raw_line(text)
    error = host.response(None)["error"]
    assert error["code"] == -32600
    assert error["data"]["limit"] == name
    assert error["data"]["maximum"] == host.call("info")["limits"][name]


def test_so_has_a_limit_of_a_session(host: Towline) -> None:
    maximum = host.call("info")["limits"]["subscriptions"]
    for _ in range(maximum):
        host.call("subscribe")
    error = host.error("subscribe")
    assert (error.code, error.data["limit"], error.data["maximum"]) == (1006, "subscriptions", maximum)
