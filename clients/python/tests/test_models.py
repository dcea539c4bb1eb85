"""The models, options and errors are checked against the document that the service prints of itself."""

from __future__ import annotations

import dataclasses
import json
import subprocess
import typing
from collections.abc import Iterator, Mapping
from datetime import datetime, timezone
from pathlib import Path
from typing import Any, Optional, Union

import pytest

import towline
from towline import calls, errors, events, models, options, wire

JSON = dict[str, Any]

#: What only hosts that speak the Language Server Protocol read.
UNREAD_MEMBERS = {"ServiceInfo.serverInfo"}
UNREAD_SCHEMAS = {"ServerInfo", "Capabilities"}
#: What the tests of results and of errors check.
OTHER_SCHEMAS = {
    *("CommandOutcome", "BulkOutcome", "WaitOutcome", "WaitCounts", "StateCounts", "Settings", "Defaults"),
    *("DefaultsInForce", "Attempt", "Hop", "ByteRange"),
    *(
        "Request",
        "Notification",
        "SuccessResponse",
        "ErrorResponse",
        "RpcError",
        "ErrorData",
        "OpenRpcDocument",
    ),
}
#: What the service takes and the typed methods leave to `call`: only hosts that speak LSP use it.
UNUSED = {"wait": {"workDoneToken"}, "initialize": {"initializationOptions"}}


@pytest.fixture(scope="module")
def openrpc(binary: str) -> JSON:
    printed = subprocess.run([binary, "--print-openrpc"], capture_output=True, check=True, timeout=20)
    return typing.cast(JSON, json.loads(printed.stdout))


SCHEMAS: Mapping[str, type[wire.Model]] = {
    "Checksum": models.Checksum,
    "Download": models.Download,
    "Inspection": models.Inspection,
    "RetryOptions": models.RetryOptions,
    "ServiceInfo": models.ServiceInfo,
    "TargetError": models.TargetError,
    "Attempt": models.Attempt,
    "TransferError": models.DownloadError,
    "TransferOrigin": models.Transfer,
}
RESULTS: Mapping[str, list[type[wire.Model]]] = {
    "start": [models.Started],
    "pause": [models.Outcome, models.BulkOutcome],
    "resume": [models.Outcome, models.BulkOutcome],
    "cancel": [models.Outcome, models.BulkOutcome],
    "list": [models.Page],
    "configure": [models.Settings],
    "inspect": [models.Inspection],
    "info": [models.ServiceInfo],
    "initialize": [models.ServiceInfo],
}


def resolve(document: JSON, schema: JSON) -> JSON:
    while "$ref" in schema or "allOf" in schema:
        target = schema["$ref"] if "$ref" in schema else schema["allOf"][0]["$ref"]
        schema = document["components"]["schemas"][target.rpartition("/")[2]]
    return schema


def hints(model: type[wire.Model]) -> dict[str, Any]:
    """Wire name → type."""
    found = typing.get_type_hints(model)
    return {wire.wire_name_of(f, found[f.name]): found[f.name] for f in dataclasses.fields(model)}


def mismatches(document: JSON, hint: Any, schema: JSON, where: str) -> Iterator[str]:
    """How a Python type and a schema differ."""
    schema = resolve(document, schema)
    alternatives = [resolve(document, s) for s in schema.get("anyOf", [schema])]
    nullable = any(s.get("type") == "null" or "null" in s.get("type", ()) for s in alternatives)
    shapes = [s for s in alternatives if s.get("type") != "null"]
    optional = typing.get_origin(hint) is Union and type(None) in typing.get_args(hint)
    if nullable and not optional:
        yield f"{where} may be null"
    inner = next(a for a in typing.get_args(hint) if a is not type(None)) if optional else hint
    for shape in shapes:
        yield from mismatch(document, inner, shape, where)


def mismatch(document: JSON, hint: Any, schema: JSON, where: str) -> Iterator[str]:
    kind, origin = schema.get("type"), typing.get_origin(hint)
    kinds = [k for k in (kind if isinstance(kind, list) else [kind]) if k != "null"]
    if isinstance(hint, type) and issubclass(hint, wire.Model):
        yield from object_mismatches(document, hint, schema, where)
    elif origin is tuple:
        if kinds != ["array"]:
            yield f"{where} is {kinds}, not an array"
        yield from mismatches(document, typing.get_args(hint)[0], schema["items"], f"{where}[]")
    else:
        expected: Mapping[Any, str] = {
            **dict.fromkeys((int, float), "integer"),
            **dict.fromkeys((str, datetime, Path), "string"),
            bool: "boolean",
            Mapping: "object",
        }
        if kinds != [expected[origin or hint]]:
            yield f"{where} is {kinds}, not {hint}"


def object_mismatches(document: JSON, model: type[wire.Model], schema: JSON, where: str) -> Iterator[str]:
    ours, theirs = hints(model), schema["properties"]
    needed = set(schema.get("required", ()))
    for name in set(ours) ^ set(theirs):
        if f"{where}.{name}" not in UNREAD_MEMBERS:
            yield f"only one side has {where}.{name}"
    for name in set(ours) & set(theirs):
        optional = typing.get_origin(ours[name]) is Union
        if name not in needed and not optional:
            yield f"{where}.{name} may be absent"
        yield from mismatches(document, ours[name], theirs[name], f"{where}.{name}")


@pytest.mark.parametrize("name", SCHEMAS)
def test_every_schema_has_a_model_of_the_same_members_and_types(openrpc: JSON, name: str) -> None:
    schema = openrpc["components"]["schemas"][name]
    assert list(object_mismatches(openrpc, SCHEMAS[name], schema, name)) == []


def test_no_schema_is_without_a_model(openrpc: JSON) -> None:
    objects = {n for n, schema in openrpc["components"]["schemas"].items() if "properties" in schema}
    others = {n for n in objects if n.endswith(("Params", "Result", "Value"))} | OTHER_SCHEMAS
    assert objects - others - UNREAD_SCHEMAS <= set(SCHEMAS)


@pytest.mark.parametrize("method", RESULTS)
def test_results_are_read_by_models_of_the_same_members(openrpc: JSON, method: str) -> None:
    schema = resolve(openrpc, described(openrpc, method)["result"]["schema"])
    shapes = [resolve(openrpc, s) for s in schema.get("anyOf", [schema])]
    for model, shape in zip(RESULTS[method], shapes):
        assert list(object_mismatches(openrpc, model, shape, model.__name__)) == []


@pytest.mark.parametrize("event", events.EVENTS)
def test_events_have_the_members_that_the_service_announces(openrpc: JSON, event: str) -> None:
    notification = next(n for n in openrpc["x-notifications"] if n["name"] == event)
    schema = {
        "properties": {p["name"]: p["schema"] for p in notification["params"]},
        "required": [p["name"] for p in notification["params"] if p.get("required")],
    }
    assert list(object_mismatches(openrpc, events.EVENTS[event], schema, event)) == []


def described(openrpc: JSON, method: str) -> JSON:
    return next(m for m in openrpc["methods"] if m["name"] == method)


def sent(call: calls.Call[Any]) -> set[str]:
    return set(call.params)


def wire_options(kind: Any) -> set[str]:
    hints = typing.get_type_hints(kind)
    return {wire.wire_name(n) + ("Ms" if wire.is_seconds(hint) else "") for n, hint in hints.items()}


def every_param() -> Mapping[str, set[str]]:
    """What the typed methods can send, by method."""
    start = wire_options(options.StartOptions) - {"extra"}
    several = {"id", "ids", "all"}
    return {
        "start": start | {"url", "path", "directory", "fileName"},
        "pause": several,
        "resume": several,
        "cancel": several | {"deletePartial"},
        "get": sent(calls.get("a")),
        "list": sent(calls.list_page(calls.list_params([], [], 1, 1, "c", ["id"]))),
        "remove": sent(calls.remove("a", True)),
        "wait": several | {"until", "timeoutMs"},
        "inspect": sent(calls.inspect("a")),
        "subscribe": sent(calls.subscribe([], [], 250)),
        "unsubscribe": sent(calls.unsubscribe("a")),
        "configure": wire_options(options.ConfigureOptions),
        "initialize": sent(calls.initialize("all", 250, True)),
        "shutdown": sent(calls.shutdown("suspend")),
        "export": {"id"},
        "update": {"id"} | wire_options(options.UpdateOptions),
        "info": set(),
        "ping": set(),
        "rpc.discover": set(),
    }


def test_the_typed_methods_send_exactly_what_the_service_takes(openrpc: JSON) -> None:
    ours = every_param()
    for method in openrpc["methods"]:
        name = method["name"]
        theirs = {p["name"] for p in method["params"]}
        assert theirs - ours[name] == theirs & UNUSED.get(name, set()), name
        assert ours[name] <= theirs, name


def test_words_that_parameters_choose_from_are_known(openrpc: JSON) -> None:
    for name, words in {
        "ifExists": options.IfExists,
        "onChange": typing.get_type_hints(options.StartOptions)["on_change"],
        "resumePolicy": typing.get_type_hints(options.StartOptions)["resume_policy"],
        "events": options.EventNames,
    }.items():
        schema = next(p["schema"] for p in described(openrpc, "start")["params"] if p["name"] == name)
        assert set(resolve(openrpc, schema)["enum"]) <= set(typing.get_args(words)), name


def test_states_are_known(openrpc: JSON) -> None:
    states = openrpc["components"]["schemas"]["DownloadState"]["enum"]
    assert set(states) == set(typing.get_args(models.State))
    assert set(states) > models.FINAL_STATES
    assert {f.name for f in dataclasses.fields(models.StateCounts)} == set(states)


def test_every_error_of_the_service_has_its_exception(openrpc: JSON) -> None:
    announced = {(e["code"], e["message"]) for method in openrpc["methods"] for e in method.get("errors", ())}
    assert announced
    for code, kind in announced:
        made = errors.RPCError.from_wire(
            {"code": code, "message": "m", "data": {"kind": kind, "retryable": True}}
        )
        assert type(made) is not errors.RPCError
        assert (code, kind) == (made.CODE, made.KIND)
        assert made.retryable
        assert hasattr(towline, type(made).__name__), f"{type(made).__name__} is not exported"


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        ({"code": 1002, "message": "m"}, errors.InvalidState),
        ({"code": -32600, "message": "m"}, errors.InvalidRequest),
        ({"code": -32600, "message": "m", "data": {"kind": "messageTooLarge"}}, errors.MessageTooLarge),
        ({"code": 1999, "message": "m", "data": {"kind": "later"}}, errors.RPCError),
        ({"code": 5, "message": "m", "data": [1]}, errors.RPCError),
    ],
)
def test_an_error_is_known_by_kind_then_by_code(error: JSON, expected: type[errors.RPCError]) -> None:
    made = errors.RPCError.from_wire(error)
    assert type(made) is expected
    assert made.code == error["code"]


def test_unknown_members_are_kept_and_unknown_words_stay() -> None:
    read = models.Transfer.from_wire({"mode": "teleported", "offset": 3, "why": None, "speed": "high"})
    assert (read.mode, read.offset, read.why) == ("teleported", 3, None)
    assert read.unknown == {"speed": "high"}
    assert models.Transfer("fresh", 0, None, None).unknown == {}


@pytest.mark.parametrize(
    "value",
    [
        {"mode": "fresh", "offset": "3", "why": None},
        {"mode": "fresh", "offset": True, "why": None},
        {"mode": "fresh", "why": None},
        ["fresh"],
        None,
    ],
)
def test_what_cannot_be_read_is_a_protocol_error(value: Any) -> None:
    with pytest.raises(errors.ProtocolError):
        models.Transfer.from_wire(value)


def test_times_are_aware() -> None:
    hop = models.Hop.from_wire(
        {"url": "u", "status": 200, "remoteAddress": None, "at": "2026-01-02T03:04:05.678Z"}
    )
    assert hop.at == datetime(2026, 1, 2, 3, 4, 5, 678000, tzinfo=timezone.utc)


@pytest.mark.parametrize(
    ("text", "algorithm"),
    [
        ("sha256:" + "a" * 64, "sha256"),
        ("A" * 40, "sha1"),
        ("0" * 32, "md5"),
        ("sha512:" + "b" * 128, "sha512"),
    ],
)
def test_checksums_are_read_from_text(text: str, algorithm: str) -> None:
    checksum = models.Checksum.parse(text)
    assert checksum.algorithm == algorithm
    assert checksum.value == text.rpartition(":")[2].lower()


@pytest.mark.parametrize("text", ["", "sha256:", "sha256:xyz", "abc"])
def test_what_is_no_checksum_is_refused(text: str) -> None:
    with pytest.raises(ValueError):
        models.Checksum.parse(text)


def test_parameters_leave_out_what_is_not_given() -> None:
    retry = models.RetryOptions(max_attempts=3)
    call = calls.start("http://h/f", "/d/f", retry=retry, if_exists="rename", extra={"_mine": 1})
    assert call.params == {
        "url": "http://h/f",
        "path": "/d/f",
        "retry": {"maxAttempts": 3},
        "ifExists": "rename",
        "_mine": 1,
    }
    assert not call.repeatable
    assert calls.start("http://h/f", "/d/f", id="a").repeatable


def test_update_sends_null_to_clear() -> None:
    assert calls.update("a", headers=None, priority=3).params == {"id": "a", "headers": None, "priority": 3}


def test_a_path_and_a_directory_exclude_each_other() -> None:
    with pytest.raises(TypeError):
        calls.start("http://h/f", "/d/f", directory="/d")


def test_a_path_that_the_wire_cannot_carry_is_refused() -> None:
    with pytest.raises(ValueError):
        calls.start("http://h/f", "/d/\udcff")


def download(**members: Any) -> models.Download:
    names: dict[str, Optional[Any]] = {f.name: None for f in dataclasses.fields(models.Download)}
    return models.Download(**{**names, "url": "http://h/f", "state": "active", **members})


def test_a_fraction_is_known_with_the_size() -> None:
    assert download(received_bytes=1, total_bytes=4).fraction == 0.25
    assert download(received_bytes=0, total_bytes=0).fraction == 1.0
    assert download(received_bytes=1, total_bytes=None).fraction is None


def test_an_unfinished_download_raises_with_its_cause() -> None:
    failure = models.DownloadError("httpStatus", "404", False, 404, None, None, None)
    failed = download(state="failed", error=failure)
    with pytest.raises(errors.DownloadFailed) as caught:
        failed.raise_unless_completed()
    assert caught.value.download is failed
    assert "httpStatus" in str(caught.value)
    with pytest.raises(errors.DownloadFailed):
        download(state="active", path=Path("/d/f")).raise_unless_completed()
    finished = download(state="completed", path=Path("/d/f")).raise_unless_completed()
    assert (type(finished), finished.path) == (models.FinishedDownload, Path("/d/f"))
