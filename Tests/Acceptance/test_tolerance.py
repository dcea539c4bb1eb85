"""What JSON libraries of other languages write by default does no harm."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from scripted_server import ScriptedServer
from support import JSON, Held, fetch
from towline_client import Towline

#: an empty object as the encoders of Lua and PHP write it, and an empty array as others do
EMPTY: list[tuple[str, JSON, str, object]] = [
    ("start", {"headers": []}, "metadata", None),
    ("start", {"metadata": []}, "metadata", {}),
    ("start", {"retry": []}, "priority", 0),
    ("start", {"headers": [], "metadata": [], "retry": []}, "metadata", {}),
    ("update", {"headers": []}, "priority", 3),
    ("update", {"metadata": []}, "metadata", {}),
]


@pytest.mark.parametrize(("method", "params", "member", "value"), EMPTY)
def test_an_empty_array_is_an_empty_object(
    host: Towline, method: str, params: JSON, member: str, value: object
) -> None:
    start = {"id": "d", "url": "http://127.0.0.1:1/f", "path": "f", "startPaused": True}
    if method == "start":
        assert host.call("start", **start, **params)["download"][member] == value
    else:
        host.call("start", **start, metadata={"a": 1}, priority=3)
        assert host.call("update", id="d", **params)["download"][member] == value


def test_an_empty_array_is_an_empty_object_at_every_depth(host: Towline) -> None:
    before = host.call("configure")
    assert host.call("configure", defaults=[]) == before
    assert host.call("configure", defaults={"headers": [], "retry": []}) == before
    assert host.call("initialize", initializationOptions=[], capabilities=[])["name"] == "towline"


def test_an_empty_object_is_an_empty_array(host: Towline) -> None:
    host.call("start", id="d", url="http://127.0.0.1:1/f", path="f", startPaused=True)
    for method in ("pause", "resume", "cancel"):
        assert host.call(method, ids={}) == {"matched": 0, "changed": 0, "errors": []}
    for params in ({"ids": {}}, {"states": {}}):
        assert host.call("list", **params) == host.call("list", **{name: [] for name in params})
    assert host.call("subscribe", ids={})["subscription"]
    assert host.call("wait", ids={})["timedOut"] is False


@pytest.mark.parametrize("params", [{"headers": ["a"]}, {"metadata": [1]}, {"retry": [[]]}, {"checksum": []}])
def test_an_array_that_is_not_empty_is_no_object(host: Towline, params: JSON) -> None:
    error = host.error("start", url="http://127.0.0.1:1/f", path="f", startPaused=True, **params)
    assert error.code == -32602
    assert error.names(next(iter(params)))


@pytest.mark.parametrize("params", [{"ids": {"0": "a"}}, {"states": {"a": 1}}, {"fields": {}}])
def test_an_object_that_is_not_empty_is_no_array(host: Towline, params: JSON) -> None:
    error = host.error("list", **params)
    assert error.code == -32602
    assert error.names(next(iter(params)))


#: W3C Trace Context and Baggage, as StreamJsonRpc and tracing libraries put them beside the method
TRACING: JSON = {
    "traceparent": "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
    "tracestate": "congo=t61rcWkgMzE",
    "baggage": "userId=alice",
    "meta": {"traceparent": "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"},
    "_meta": {"any": ["thing"]},
}


@pytest.mark.parametrize("member", TRACING)
def test_what_libraries_add_for_tracing_is_ignored(host: Towline, member: str) -> None:
    added = {member: TRACING[member]}
    host.send_message({"jsonrpc": "2.0", "id": "a", "method": "ping", **added})
    assert host.response("a") == {"jsonrpc": "2.0", "id": "a", "result": {}}
    host.send_message({"jsonrpc": "2.0", "method": "initialized", "params": {}, **added})
    host.send_message([{"jsonrpc": "2.0", "id": 1, "method": "ping", **added}])
    assert host.wait_message(lambda m: isinstance(m, list)) == [{"jsonrpc": "2.0", "id": 1, "result": {}}]


@pytest.mark.parametrize("member", ["parms", "Meta", "trace", "result", "error", ""])
def test_another_member_of_the_envelope_is_still_an_error(host: Towline, member: str) -> None:
    host.send_message({"jsonrpc": "2.0", "id": "a", "method": "ping", member: {}})
    error = host.response("a")["error"]
    assert (error["code"], error["data"]["kind"]) == (-32600, "invalidRequest")
    assert json.dumps(member) in error["message"]


def test_initialize_says_who_serves(host: Towline) -> None:
    answer = host.call("initialize", processId=None, capabilities={})
    assert answer["serverInfo"] == {"name": "towline", "version": answer["version"]}
    assert isinstance(answer["capabilities"], dict)


@pytest.mark.parametrize("token", ["t", "", 7, -1, "7"])
def test_the_cancel_button_of_an_editor_cancels_the_wait(
    host: Towline, server: ScriptedServer, work: Path, token: str | int
) -> None:
    held = Held(server)
    download_id = held.started(host, work / "f")["id"]
    others = [
        host.send("wait", {"id": download_id, **more}) for more in ({}, {"workDoneToken": f"other {token}"})
    ]
    request = host.send("wait", {"id": download_id, "workDoneToken": token})
    # Sent at once, without waiting for `begin`.
    host.notify("window/workDoneProgress/cancel", token=token)
    error = host.response(request)["error"]
    assert (error["code"], error["data"]["kind"]) == (-32800, "requestCancelled")
    kinds = [
        e["params"]["value"]["kind"]
        for e in host.events
        if e["method"] == "$/progress" and e["params"]["token"] == token
    ]
    assert (kinds[0], kinds[-1]) == ("begin", "end")
    assert host.call("get", id=download_id)["download"]["state"] == "active"
    held.release()
    for other in others:
        assert host.answer(other)["download"]["state"] == "completed"


def test_a_token_that_is_not_known_cancels_nothing(host: Towline, server: ScriptedServer, work: Path) -> None:
    held = Held(server)
    download_id = held.started(host, work / "f")["id"]
    request = host.send("wait", {"id": download_id, "workDoneToken": 7})
    for params in ({"token": "7"}, {"token": 8}, {"token": None}, {"token": {}}, {"id": request}):
        host.notify("window/workDoneProgress/cancel", **params)
    host.notify("window/workDoneProgress/cancel")
    held.release()
    assert host.answer(request)["download"]["state"] == "completed"
    # There is no request left to cancel.
    host.notify("window/workDoneProgress/cancel", token=7)
    server.add("/g", b"x")
    assert fetch(host, server.url("/g"), work / "g")["state"] == "completed"
