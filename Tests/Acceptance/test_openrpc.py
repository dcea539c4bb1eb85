"""The service describes itself, completely and correctly."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from fixtures import TOP, Launcher
from scripted_server import ScriptedServer
from support import fetch
from towline_client import JSON, Towline

jsonschema = pytest.importorskip("jsonschema")
openrpc = pytest.importorskip("openrpc")

METHODS = {
    *(
        "start",
        "pause",
        "resume",
        "cancel",
        "update",
        "get",
        "list",
        "remove",
        "wait",
        "subscribe",
        "unsubscribe",
    ),
    *(
        "configure",
        "info",
        "inspect",
        "export",
        "ping",
        "rpc.discover",
        "initialize",
        "initialized",
        "shutdown",
        "exit",
    ),
    "$/cancelRequest",
}


@pytest.fixture
def document(launch: Launcher) -> JSON:
    ran = launch.run("--print-openrpc")
    assert ran.returncode == 0, ran.stderr
    return json.loads(ran.stdout)


def method(document: JSON, name: str) -> JSON:
    return next(m for m in document["methods"] if m["name"] == name)


def test_the_document_is_openrpc(document: JSON) -> None:
    openrpc.OpenRPC.model_validate(document)


def test_rpc_discover_answers_the_same_document(document: JSON, host: Towline) -> None:
    assert host.call("rpc.discover") == document


def test_the_published_document_is_the_same(document: JSON) -> None:
    published = TOP / "protocol" / "openrpc.json"
    assert json.loads(published.read_text()) == document


def test_every_method_of_the_protocol_is_in_it_once(document: JSON) -> None:
    names = [m["name"] for m in document["methods"]]
    # Notifications are listed separately, because the OpenRPC schema requires a result for every method.
    names += [m["name"] for m in document["x-notifications"]]
    assert set(names) >= METHODS
    assert len(names) == len(set(names))


def test_every_method_in_it_exists(document: JSON, host: Towline) -> None:
    for name in (m["name"] for m in document["methods"]):
        if name in ("initialized", "exit", "shutdown", "$/cancelRequest"):
            continue
        host.raw_line(json.dumps({"jsonrpc": "2.0", "id": name, "method": name, "params": {"nope": 1}}))
        answer = host.response(name)
        assert answer.get("error", {}).get("code") != -32601, name


def test_every_method_takes_params_by_name_and_is_described(document: JSON) -> None:
    for described in document["methods"]:
        assert described["paramStructure"] == "by-name", described["name"]
        text = (described.get("summary") or "") + (described.get("description") or "")
        assert text, described["name"]


def test_every_reference_leads_somewhere(document: JSON) -> None:
    def walk(tree: Any) -> None:
        if isinstance(tree, dict):
            reference = tree.get("$ref")
            if isinstance(reference, str):
                assert reference.startswith("#/"), reference
                target: Any = document
                for part in reference[2:].split("/"):
                    target = target[part]
            for value in tree.values():
                walk(value)
        elif isinstance(tree, list):
            for value in tree:
                walk(value)

    walk(document)


def test_every_schema_is_a_json_schema(document: JSON) -> None:
    for name, schema in document["components"]["schemas"].items():
        jsonschema.Draft7Validator.check_schema(schema)
        assert schema, name
    for described in document["methods"]:
        for param in described["params"]:
            jsonschema.Draft7Validator.check_schema(param["schema"])


def test_every_error_code_is_listed(document: JSON) -> None:
    codes = {e["code"] for m in document["methods"] for e in m.get("errors") or []}
    # 1007 was never used and stays reserved.
    assert {code for code in codes if code > 0} == set(range(1001, 1014)) - {1007}


def validate(document: JSON, schema: JSON, value: Any) -> None:
    jsonschema.validate(
        value, {**schema, "components": document["components"]}, cls=jsonschema.Draft7Validator
    )


def test_results_fit_their_schemas(document: JSON, host: Towline, server: ScriptedServer, work: Path) -> None:
    server.add("/f", b"x")
    fetch(host, server.url("/f"), work / "f", id="d")
    calls: list[tuple[str, JSON]] = [
        *(("initialize", {}), ("info", {}), ("ping", {}), ("get", {"id": "d"}), ("list", {})),
        *(("wait", {"id": "d"}), ("wait", {"all": True}), ("configure", {}), ("subscribe", {})),
        *(("inspect", {"id": "d"}), ("resume", {"id": "d"}), ("resume", {"all": True})),
        *(("start", {"url": server.url("/f"), "path": str(work / "f"), "id": "d"}), ("remove", {"id": "d"})),
    ]
    for name, params in calls:
        validate(document, method(document, name)["result"]["schema"], host.call(name, **params))


def test_events_fit_their_schemas(document: JSON, host: Towline, server: ScriptedServer, work: Path) -> None:
    server.add("/f", b"x")
    fetch(host, server.url("/f"), work / "f")
    host.call("ping")
    described = {n["name"]: n for n in document["x-notifications"]}
    assert {"changed", "progress", "eventsLost"} <= set(described)
    for event in host.events:
        schemas = {p["name"]: p for p in described[event["method"]]["params"]}
        assert set(event["params"]) <= set(schemas)
        for name, value in event["params"].items():
            validate(document, schemas[name]["schema"], value)


#: members that `start` may have in some version, each with a valid value
START_MEMBERS: JSON = {
    "checksum": {"algorithm": "sha256", "value": "0" * 64},
    "ifExists": "rename",
    "onChange": "keepBoth",
    "resumePolicy": "probe",
    "connections": 2,
    "maxBytesPerSecond": 1000,
    "maxFileBytes": 1000,
    "priority": 1,
    "startPaused": True,
    "background": True,
    "events": "none",
    "metadata": {},
    "resumeData": "x",
    "headers": {"A": "b"},
    "userAgent": "x",
    "proxy": "http://127.0.0.1:1",
    "tls": {},
    "auth": {},
    "httpVersion": "1.1",
    "ipVersion": "4",
    "connectTimeoutMs": 1000,
    "stallTimeoutMs": 1000,
    "totalTimeoutMs": 1000,
    "waitForNetwork": True,
    "retry": {},
    "method": "GET",
    "body": "x",
}


@pytest.mark.parametrize("member", START_MEMBERS)
def test_a_member_of_start_is_described_or_refused_by_name(
    document: JSON, host: Towline, member: str
) -> None:
    """It is never silently ignored."""
    if member in {p["name"] for p in method(document, "start")["params"]}:
        return
    params = {"url": "http://127.0.0.1:1/f", "path": "f", "startPaused": True}
    error = host.error("start", **{**params, member: START_MEMBERS[member]})
    assert error.code == -32602
    assert error.names(member)


@pytest.mark.parametrize(
    ("member", "values"), [("onChange", ["keepBoth"]), ("resumePolicy", ["probe", "trust"])]
)
def test_a_choice_that_is_not_offered_is_refused(host: Towline, member: str, values: list[str]) -> None:
    offered = host.call("info")["capabilities"]
    listed = offered[{"onChange": "onChange", "resumePolicy": "resumePolicies"}[member]]
    for value in values:
        params = {"url": "http://127.0.0.1:1/f", "path": "f", "startPaused": True, member: value}
        if value not in listed:
            error = host.error("start", **params)
            assert error.code == -32602
            assert error.names(member)


def test_required_params_are_required(document: JSON, host: Towline) -> None:
    for described in document["methods"]:
        required = [p["name"] for p in described["params"] if p.get("required")]
        if required:
            error = host.error(described["name"])
            assert error.code == -32602
            assert error.names(required[0])
