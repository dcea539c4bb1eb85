"""Unreadable input is answered or ends the process with a message on stderr; it never blocks later input."""

from __future__ import annotations

from typing import Any

import pytest
from fixtures import Launcher
from scripted_server import ScriptedServer
from support import MIB, line
from towline_client import Towline

URL = "http://127.0.0.1:1/f"


def null_error(host: Towline, text: str) -> dict[str, Any]:
    host.raw_line(text)
    return host.response(None)["error"]


@pytest.mark.parametrize(
    "text",
    [
        "nonsense",
        '{"jsonrpc":"2.0","id":1,"method":',
        '{"a":1}}',
        '{"a":1,"a":2}',
        "'x'",
        "{]",
        '"\\x"',
        "GET / HTTP/1.1",
    ],
)
def test_malformed_json_is_a_parse_error_and_the_next_line_is_read(host: Towline, text: str) -> None:
    assert null_error(host, text)["code"] == -32700
    assert host.call("ping") == {}


@pytest.mark.parametrize("text", ["{", "["])
def test_a_lone_bracket_gets_the_hint_to_compact(host: Towline, text: str) -> None:
    error = null_error(host, text)
    assert error["code"] == -32700
    assert "jq -c" in str(error)


@pytest.mark.parametrize(
    "text",
    [
        "1",
        '"text"',
        "null",
        "true",
        "{}",
        '{"jsonrpc":"2.0"}',
        '{"jsonrpc":"2.0","method":1}',
        '{"method":"ping"}',
    ],
)
def test_json_that_is_no_request_is_an_invalid_request(host: Towline, text: str) -> None:
    assert null_error(host, text)["code"] == -32600
    assert host.call("ping") == {}


@pytest.mark.parametrize("bad_id", ["true", "{}", "[]"])
def test_an_id_of_another_kind_is_an_invalid_request(host: Towline, bad_id: str) -> None:
    assert null_error(host, f'{{"jsonrpc":"2.0","id":{bad_id},"method":"ping"}}')["code"] == -32600


def test_a_wrong_version_is_answered_under_its_id(host: Towline) -> None:
    host.raw_line('{"jsonrpc":"1.0","id":4,"method":"ping"}')
    assert host.response(4)["error"]["code"] == -32600


def test_params_that_are_no_structure_are_refused(host: Towline) -> None:
    host.raw_line('{"jsonrpc":"2.0","id":4,"method":"ping","params":"x"}')
    assert host.response(4)["error"]["code"] in (-32600, -32602)


def test_a_line_of_ten_megabytes_is_one_error_and_the_next_line_is_read(host: Towline) -> None:
    host.raw('{"jsonrpc":"2.0","id":1,"method":"ping","params":{"_x":"' + "y" * (10 * MIB) + '"}}\n')
    error = host.response(None)["error"]
    assert (error["code"], error["data"]["kind"]) == (-32600, "messageTooLarge")
    assert host.call("ping") == {}
    assert len(host.messages) == 2


def test_a_line_just_under_one_mebibyte_is_read(host: Towline) -> None:
    text = line("ping", "big", _x="y" * (MIB - 200))
    assert len(text) < MIB
    host.raw_line(text)
    assert host.response("big")["result"] == {}


def test_bytes_that_are_not_utf8_are_a_parse_error(host: Towline) -> None:
    host.raw(b'{"jsonrpc":"2.0","id":1,"method":"\xff\xfe"}\n')
    assert host.response(None)["error"]["code"] == -32700
    assert host.call("ping") == {}


@pytest.mark.parametrize("depth", [33, 1_000, 100_000], ids=lambda depth: f"{depth} deep")
def test_deep_nesting_is_refused_and_the_next_line_is_read(host: Towline, depth: int) -> None:
    host.raw_line(
        '{"jsonrpc":"2.0","id":1,"method":"ping","params":{"_x":' + "[" * depth + "]" * depth + "}}"
    )
    answer = host.wait_message(lambda m: "error" in m)
    assert answer["error"]["code"] in (-32700, -32600, -32602, 1006)
    assert host.call("ping") == {}


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("NUL", b"\0\0\0\0"),
        ("NUL within JSON", b'{"jsonrpc":"2.0",\0"id":1}\n'),
        ("UTF-16 with a mark", "\ufeff{}\n".encode("utf-16-le")),
        ("UTF-16 big-endian", "\ufeff{}\n".encode("utf-16-be")),
        ("UTF-16 without a mark", "{}\n".encode("utf-16-le")),
        ("msgpack", b"\x94\x00\x01\xa4ping\x90"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_what_cannot_be_framed_ends_the_process_with_65(launch: Launcher, name: str, data: bytes) -> None:
    process = launch()
    process.raw(data)
    process.close_stdin()
    assert process.wait_exit() == 65
    cause = {"msgpack": "messagepack"}.get(name, name.split(" ")[0].lower())
    assert cause in process.stderr.lower()


def test_numbers_that_do_not_fit_are_refused(host: Towline) -> None:
    for number in ("1e400", "9223372036854775808", "-1", "1.5", "9007199254740993"):
        host.raw_line(f'{{"jsonrpc":"2.0","id":"n{number}","method":"list","params":{{"limit":{number}}}}}')
        answer = host.wait_message(
            lambda m, number=number: m.get("id") == f"n{number}" or m.get("id") is None
        )
        assert answer["error"]["code"] in (-32700, -32602), number
        host.messages.clear()
    assert host.call("ping") == {}


@pytest.mark.parametrize(
    ("method", "params", "field"),
    [
        ("start", {"url": 1}, "url"),
        ("start", {}, "url"),
        ("start", {"url": URL, "path": 5}, "path"),
        ("start", {"url": URL, "path": ""}, "path"),
        ("start", {"url": URL, "path": "a\0b"}, "path"),
        ("start", {"url": URL, "path": "f", "directory": "/tmp"}, "directory"),
        ("start", {"url": URL, "path": "f", "id": 5}, "id"),
        ("start", {"url": URL, "path": "f", "id": "-x"}, "id"),
        ("start", {"url": URL, "path": "f", "id": "x" * 65}, "id"),
        ("start", {"url": URL, "path": "f", "headers": 5}, "headers"),
        ("start", {"url": URL, "path": "f", "headers": {"A": 5}}, "headers"),
        ("start", {"url": URL, "path": "f", "headers": {"A": "x\r\nB: y"}}, "headers"),
        ("start", {"url": URL, "path": "f", "headers": {"A b": "x"}}, "headers"),
        ("start", {"url": URL, "path": "f", "checksum": "abc"}, "checksum"),
        ("start", {"url": URL, "path": "f", "checksum": {"algorithm": "crc", "value": "00"}}, "algorithm"),
        ("start", {"url": URL, "path": "f", "checksum": {"algorithm": "sha256", "value": "00"}}, "value"),
        ("start", {"url": URL, "path": "f", "checksum": {"algorithm": "sha256"}}, "value"),
        ("start", {"url": URL, "path": "f", "ifExists": "maybe"}, "ifExists"),
        ("start", {"url": URL, "path": "f", "onChange": "maybe"}, "onChange"),
        ("start", {"url": URL, "path": "f", "resumePolicy": "maybe"}, "resumePolicy"),
        ("start", {"url": URL, "path": "f", "events": "maybe"}, "events"),
        ("start", {"url": URL, "path": "f", "startPaused": "yes"}, "startPaused"),
        ("start", {"url": URL, "path": "f", "priority": "high"}, "priority"),
        ("start", {"url": URL, "path": "f", "metadata": 5}, "metadata"),
        ("start", {"url": URL, "path": "f", "maxFileBytes": -1}, "maxFileBytes"),
        ("start", {"url": URL, "path": "f", "stallTimeoutMs": "1"}, "stallTimeoutMs"),
        ("start", {"url": URL, "path": "f", "retry": 3}, "retry"),
        ("start", {"url": URL, "path": "f", "checksumm": {}}, "checksumm"),
        ("get", {}, "id"),
        ("get", {"id": 7}, "id"),
        ("get", {"id": "a", "extra": 1}, "extra"),
        ("pause", {}, "id"),
        ("pause", {"ids": "a"}, "ids"),
        ("pause", {"all": "yes"}, "all"),
        ("pause", {"id": "a", "all": True}, "all"),
        ("cancel", {"id": "a", "deletePartial": 1}, "deletePartial"),
        ("list", {"states": "active"}, "states"),
        ("list", {"states": ["moving"]}, "states"),
        ("list", {"fields": ["nope"]}, "fields"),
        ("list", {"limit": 0}, "limit"),
        ("list", {"limit": 101}, "limit"),
        ("list", {"limit": True}, "limit"),
        ("list", {"changedSince": "x"}, "changedSince"),
        ("remove", {"id": None}, "id"),
        ("wait", {"id": "a", "until": "tomorrow"}, "until"),
        ("wait", {"id": "a", "timeoutMs": -1}, "timeoutMs"),
        ("subscribe", {"events": ["everything"]}, "events"),
        ("subscribe", {"progressIntervalMs": 49}, "progressIntervalMs"),
        ("subscribe", {"progressIntervalMs": 60_001}, "progressIntervalMs"),
        ("unsubscribe", {}, "subscription"),
        ("configure", {"maxActive": 0}, "maxActive"),
        ("configure", {"maxActive": "many"}, "maxActive"),
        ("configure", {"defaults": {"nope": 1}}, "nope"),
        ("shutdown", {"mode": "slowly"}, "mode"),
        ("inspect", {"id": 1}, "id"),
    ],
    ids=lambda value: str(value)[:60],
)
def test_wrong_params_are_refused_by_name(
    host: Towline, method: str, params: dict[str, Any], field: str
) -> None:
    error = host.error(method, **params)
    assert error.code == -32602, error
    assert error.names(field), error


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("url", "http://127.0.0.1/" + "x" * 8_192),
        ("path", "x/" * 2_100 + "f"),
        ("headers", {"X": "y" * 17_000}),
        ("metadata", {"k": "v" * 4_100}),
    ],
    ids=lambda value: value if isinstance(value, str) and len(value) < 20 else "",
)
def test_limits_of_params_are_named(host: Towline, field: str, value: Any) -> None:
    error = host.error("start", **{"url": URL, "path": "f", field: value})
    assert error.code in (-32602, 1006), error
    assert error.names(field), error


def test_more_than_500_ids_are_refused(host: Towline) -> None:
    error = host.error("pause", ids=[f"a{n}" for n in range(501)])
    assert error.code in (-32602, 1006)
    assert error.names("ids")


@pytest.mark.parametrize(
    "url",
    [
        "ftp://127.0.0.1/f",
        "file:///etc/passwd",
        "gopher://127.0.0.1/f",
        "data:text/plain,x",
        "magnet:?xt=urn:btih:0",
    ],
)
def test_other_schemes_are_unsupported(host: Towline, url: str) -> None:
    error = host.error("start", url=url, path="f")
    assert (error.code, error.kind) == (1005, "unsupportedUrl")


@pytest.mark.parametrize(
    "url", ["", "f", "/f", "http://", "http:///f", "http://[::1/f", "http://h:99999/f", "http://h/a\nb"]
)
def test_urls_that_cannot_be_read_are_refused(host: Towline, url: str) -> None:
    assert host.error("start", url=url, path="f").code in (-32602, 1005)


def test_after_any_refusal_nothing_is_recorded(host: Towline, server: ScriptedServer) -> None:
    host.error("start", url=server.url("/f"), path="f", nope=1)
    host.error("start", url="ftp://h/f", path="f")
    assert host.call("list")["downloads"] == []
    assert server.requests() == []
