"""Framing, the envelope, and the form of every answer."""

from __future__ import annotations

import json
import re
import time
from typing import Any

import pytest
from fixtures import Launcher
from scripted_server import ScriptedServer, content
from support import MIB, fetch, line
from towline_client import Towline

DOWNLOAD_MEMBERS = {
    "id",
    "url",
    "finalUrl",
    "path",
    "partialPath",
    "keptPaths",
    "suggestedFileName",
    "contentType",
    "state",
    "reason",
    "phase",
    "owner",
    "receivedBytes",
    "totalBytes",
    "transferredBytes",
    "contiguousBytes",
    "bytesPerSecond",
    "etaMs",
    "connections",
    "attempt",
    "resumable",
    "lengthVerified",
    "transfer",
    "retryAt",
    "checksum",
    "error",
    "priority",
    "metadata",
    "createdAt",
    "updatedAt",
    "completedAt",
    "revision",
}
TIME = re.compile(r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$")


def test_nothing_is_written_before_the_first_input(launch: Launcher) -> None:
    process = launch()
    time.sleep(0.3)
    assert process.stdout_bytes == b""
    assert process.call("ping") == {}


def test_ping_answers_an_empty_object(host: Towline) -> None:
    assert host.call("ping") == {}


@pytest.mark.parametrize("request_id", [0, 1, -7, "0", "a b", "", None, 2**53 - 1], ids=repr)
def test_an_id_comes_back_as_it_was_sent(host: Towline, request_id: Any) -> None:
    host.send_message({"jsonrpc": "2.0", "id": request_id, "method": "ping"})
    assert host.response(request_id)["result"] == {}


@pytest.mark.parametrize("params", ["null", "[]", "{}"])
def test_empty_params_count_as_none(host: Towline, params: str) -> None:
    host.raw_line(f'{{"jsonrpc":"2.0","id":"x","method":"ping","params":{params}}}')
    assert host.response("x")["result"] == {}


def test_params_by_position_are_refused(host: Towline) -> None:
    host.raw_line('{"jsonrpc":"2.0","id":1,"method":"get","params":["a"]}')
    assert host.response(1)["error"]["code"] == -32602


def test_a_null_optional_member_counts_as_absent(host: Towline) -> None:
    assert host.call("list", cursor=None, states=None, limit=None)["downloads"] == []


def test_a_byte_order_mark_blanks_and_blank_lines_are_skipped(launch: Launcher) -> None:
    process, status = launch.pipe("\ufeff", "", "   \t " + line("ping", 1), "", line("ping", 2))
    assert [m["id"] for m in process.messages] == [1, 2]
    assert status == 0


def test_a_carriage_return_before_the_newline_is_stripped(host: Towline) -> None:
    host.raw(line("ping", 1) + "\r\n")
    assert host.response(1)["result"] == {}


def test_the_last_line_may_lack_its_newline(launch: Launcher) -> None:
    process = launch()
    process.raw(line("ping", 1))
    process.close_stdin()
    assert process.wait_exit() == 0
    assert process.response(1)["result"] == {}


def test_a_message_may_come_in_pieces(host: Towline) -> None:
    for byte in line("ping", 1) + "\n":
        host.raw(byte)
    assert host.response(1)["result"] == {}


def test_output_is_compact_ascii(host: Towline, server: ScriptedServer) -> None:
    server.add("/f", b"x")
    metadata = {"name": "né\u2028\U0001f600"}
    download = fetch(host, server.url("/f"), host_path(host, "né\u2028.bin"), metadata=metadata)
    assert download["metadata"] == metadata
    assert host.stdout_bytes.isascii()
    assert b"\\u2028" in host.stdout_bytes
    first = host.stdout_bytes.split(b"\n")[0]
    assert first == json.dumps(json.loads(first), separators=(",", ":")).encode()


def host_path(host: Towline, name: str) -> Any:
    from pathlib import Path

    return Path(f"/proc/{host.process.pid}/cwd").resolve() / name


def test_a_download_has_all_its_members_and_no_other(host: Towline, server: ScriptedServer) -> None:
    server.add("/f", content(1, 1000))
    started = host.call("start", url=server.url("/f"), path="f.bin")
    assert set(started) == {"download", "seq", "created", "resumed"}
    assert (started["created"], started["resumed"]) == (True, False)
    assert set(started["download"]) == DOWNLOAD_MEMBERS
    done = host.call("wait", id=started["download"]["id"])["download"]
    assert set(done) == DOWNLOAD_MEMBERS


def test_times_are_utc_with_milliseconds(host: Towline, server: ScriptedServer) -> None:
    server.add("/f", content(1, 1000))
    done = fetch(host, server.url("/f"), host_path(host, "f"))
    for member in ("createdAt", "updatedAt", "completedAt"):
        assert TIME.match(done[member]), (member, done[member])


def test_a_completed_download_tells_what_it_is(host: Towline, server: ScriptedServer) -> None:
    server.add("/f", content(1, 1000))
    done = fetch(host, server.url("/f"), host_path(host, "f.bin"), metadata={"k": [1]}, priority=3)
    told = {
        k: done[k] for k in ("state", "reason", "phase", "receivedBytes", "totalBytes", "transferredBytes")
    }
    assert told == {
        "state": "completed",
        "reason": None,
        "phase": None,
        "receivedBytes": 1000,
        "totalBytes": 1000,
        "transferredBytes": 1000,
    }
    assert done["contiguousBytes"] == 1000
    assert done["url"] == server.url("/f")
    assert done["finalUrl"] in (None, server.url("/f"))
    assert done["path"] == str(host_path(host, "f.bin"))
    assert done["partialPath"] is None
    assert done["contentType"] == "application/octet-stream"
    assert done["error"] is None
    assert (done["metadata"], done["priority"]) == ({"k": [1]}, 3)
    assert done["transfer"] == {"mode": "fresh", "offset": 0, "why": None, "identity": None}
    assert done["attempt"] == 1


def test_info_tells_what_the_service_is(host: Towline, launch: Launcher) -> None:
    info = host.call("info")
    assert info["name"] == "towline"
    assert re.match(r"^\d+\.\d+\.\d+", info["version"])
    assert str(info["protocol"]).startswith("1.")
    assert info["processId"] == host.process.pid
    assert isinstance(info["session"], (str, int))
    assert isinstance(info["capabilities"], dict)
    assert isinstance(info["limits"], dict)
    assert str(launch.state) in json.dumps(info)
    assert "7." in json.dumps(info) or "8." in json.dumps(info), "the version of libcurl"


def test_unknown_notifications_and_dollar_ones_are_ignored(launch: Launcher) -> None:
    process, status = launch.pipe(line("$/whatever", x=1), line("nothingOfOurs"), line("ping", 1))
    assert [m.get("id") for m in process.messages] == [1]
    assert status == 0


def test_an_unknown_dollar_request_is_not_found(host: Towline) -> None:
    assert host.error("$/whatever").code == -32601


def test_a_response_sent_to_the_service_is_ignored(launch: Launcher) -> None:
    process, _ = launch.pipe('{"jsonrpc":"2.0","id":9,"result":{}}', line("ping", 1))
    assert [m.get("id") for m in process.messages] == [1]


def test_members_with_an_underscore_are_accepted(host: Towline) -> None:
    assert host.call("ping", _trace="abc") == {}


def test_configure_answers_the_settings_in_force(host: Towline) -> None:
    first = host.call("configure", maxActive=3, maxActivePerHost=2, progressIntervalMs=500)
    second = host.call("configure")
    assert first == second
    assert (second["maxActive"], second["maxActivePerHost"], second["progressIntervalMs"]) == (3, 2, 500)


def test_settings_are_of_one_process_only(launch: Launcher) -> None:
    one = launch()
    one.call("configure", maxActive=3)
    one.close_stdin()
    one.wait_exit()
    assert launch().call("configure")["maxActive"] != 3


# Header framing


def test_header_framing_is_chosen_by_the_first_line(launch: Launcher) -> None:
    process = launch(framing="header")
    assert process.call("ping") == {}
    assert process.call("list")["downloads"] == []


@pytest.mark.parametrize(
    "head",
    [
        "content-length: {n}\r\n\r\n",
        "Content-Length:{n}\r\n\r\n",
        "Content-Length: {n}\r\nContent-Type: application/vscode-jsonrpc; charset=utf8\r\n\r\n",
        "Content-Type: application/vscode-jsonrpc; charset=utf-8\r\nCONTENT-LENGTH: {n}\r\n\r\n",
    ],
)
def test_headers_are_accepted_in_the_forms_that_editors_send(launch: Launcher, head: str) -> None:
    process = launch(framing="header")
    body = line("ping", 5)
    process.raw(head.replace("{n}", str(len(body))) + body)
    assert process.response(5)["result"] == {}


def test_header_framing_can_be_forced(launch: Launcher) -> None:
    process = launch("--framing", "header", framing="header")
    assert process.call("ping") == {}


def test_line_framing_can_be_forced(launch: Launcher) -> None:
    process = launch("--framing", "line")
    process.raw_line("Content-Length: 5")
    assert process.response(None)["error"]["code"] == -32700
    assert process.call("ping") == {}


def test_lengths_count_bytes_not_characters(launch: Launcher) -> None:
    process = launch(framing="header")
    body = '{"jsonrpc":"2.0","id":"é😀","method":"ping"}'.encode()
    process.raw(b"Content-Length: %d\r\n\r\n%s" % (len(body), body))
    process.wait_message(lambda m: m.get("id") == "é😀" and m["result"] == {})


def test_a_large_body_in_header_framing_may_come_in_pieces(launch: Launcher) -> None:
    process = launch(framing="header")
    body = line("ping", 1, _padding="x" * (MIB // 2)).encode()
    data = b"Content-Length: %d\r\n\r\n%s" % (len(body), body)
    for offset in range(0, len(data), 10_007):
        process.raw(data[offset : offset + 10_007])
    assert process.response(1)["result"] == {}


# Batches


def batch(host: Towline, text: str) -> Any:
    host.raw_line(text)
    return host.wait_message(lambda m: isinstance(m, list) or m.get("id") is None)


def test_a_batch_is_answered_by_one_array_in_order(host: Towline) -> None:
    answers = batch(host, f"[{','.join(line('ping', n) for n in (3, 1, 2))}]")
    assert [a["id"] for a in answers] == [3, 1, 2]


def test_a_batch_of_notifications_gets_no_answer(launch: Launcher) -> None:
    process, status = launch.pipe(f"[{line('$/a')},{line('$/b')}]", line("ping", 1))
    assert [m["id"] for m in process.messages] == [1]
    assert status == 0


def test_bad_entries_of_a_batch_are_answered_each(host: Towline) -> None:
    answers = batch(host, f'[1,{line("ping", 7)},{{"foo":"boo"}},{line("nope", 8)}]')
    told = [(a["id"], a.get("error", {}).get("code")) for a in answers]
    assert told == [(None, -32600), (7, None), (None, -32600), (8, -32601)]


def test_an_empty_batch_is_an_invalid_request(host: Towline) -> None:
    assert batch(host, "[]")["error"]["code"] == -32600


def test_a_batch_of_64_is_taken_and_one_of_65_is_refused(host: Towline) -> None:
    entries = [line("ping", n) for n in range(65)]
    assert len(batch(host, f"[{','.join(entries[:64])}]")) == 64
    host.raw_line(f"[{','.join(entries)}]")
    refused = host.wait_message(lambda m: isinstance(m, dict) and m.get("id") is None)
    assert refused["error"]["code"] in (-32600, 1006)


def test_wait_is_refused_in_a_batch(host: Towline) -> None:
    answers = batch(host, f"[{line('wait', 1, all=True)},{line('ping', 2)}]")
    assert answers[0]["error"]["code"] in (-32600, -32602)
    assert answers[1]["result"] == {}


def test_a_batch_sees_what_its_earlier_entries_did(host: Towline, server: ScriptedServer) -> None:
    server.add("/f", b"x")
    start = line("start", 1, url=server.url("/f"), path="f", id="a", startPaused=True)
    answers = batch(host, f"[{start},{line('get', 2, id='a')}]")
    assert answers[1]["result"]["download"]["state"] == "paused"
