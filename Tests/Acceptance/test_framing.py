"""Unusual heads and ends: a response that two readers could understand differently is refused."""

from __future__ import annotations

import contextlib
import gzip
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from fixtures import Launcher
from nginx_server import Nginx
from raw_server import Answer, RawServer, Script
from scripted_server import content
from support import NO_RETRY, fetch
from towline_client import JSON, Towline

PACKED = gzip.compress(b"hello")
CHUNKED = b"5\r\nhello\r\n0\r\n\r\n"
Serve = Callable[..., RawServer]


@pytest.fixture
def serve() -> Iterator[Serve]:
    """Starts raw servers that are closed at the end of the test."""
    with contextlib.ExitStack() as stack:

        def make(script: Script | Answer | bytes, certificates: Path | None = None) -> RawServer:
            server = RawServer(script, certificates)
            stack.callback(server.close)
            return server

        yield make


def head(*lines: str | bytes, status: str = "HTTP/1.1 200 OK") -> bytes:
    encoded = [line if isinstance(line, bytes) else line.encode("latin-1") for line in (status, *lines)]
    return b"\r\n".join(encoded) + b"\r\n\r\n"


def outcome(done: JSON) -> tuple[str, str | None]:
    return done["state"], (done["error"] or {}).get("kind")


# Ambiguous framing

DOUBTFUL = {
    "a blank before the colon": head("Transfer-Encoding : chunked") + CHUNKED,
    "a tab before the colon": head("Transfer-Encoding\t: chunked") + CHUNKED,
    "a blank before the colon of a length": head("Content-Length : 5") + b"hello",
    "a blank before the colon of a range": head("Content-Range : bytes 0-4/5", "Content-Length: 5")
    + b"hello",
    "a value on the next line": head("Transfer-Encoding:", " chunked") + CHUNKED,
    "a value on the next line but one": head("Transfer-Encoding:", "\t", " chunked") + CHUNKED,
    "a value that goes on": head("Content-Length: 5", " ") + b"hello",
    "a line that goes on with a framing field": head("X: y", " Transfer-Encoding: chunked") + CHUNKED,
    "a control character in the name": head("Transfer-Encoding\x0b: chunked") + CHUNKED,
    "a byte beyond ASCII in the name": head("Transfer-Encoding\xa0: chunked") + CHUNKED,
    "a control character before the name": head("\x01Transfer-Encoding: chunked") + CHUNKED,
    "a bare CR before the name": head("X: y\rTransfer-Encoding: chunked") + CHUNKED,
    "a bare CR before a length": head("X: y\rContent-Length: 9") + b"hello",
    "a CR too many behind the status": head("Content-Length: 5", status="HTTP/1.1 200 OK\r") + b"hello",
    "a CR too many behind a field": head("X: y\r", "Content-Length: 5") + b"hello",
    "a CR too many at the end": b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\r\nhello",
    "quotes around the name": head('"Content-Encoding": gzip') + b"hello",
    "chunked twice": head("Transfer-Encoding: chunked, chunked") + CHUNKED,
    "chunked in two fields": head("Transfer-Encoding: chunked", "Transfer-Encoding: chunked") + CHUNKED,
    "no coding": head("Transfer-Encoding:", "Content-Length: 5") + b"hello",
    "no coding but a comma": head("Transfer-Encoding: ,", "Content-Length: 5") + b"hello",
    "more bytes than the length beside identity": head("Transfer-Encoding: identity", "Content-Length: 5")
    + b"hello world",
    "no byte by the length beside identity": head("Transfer-Encoding: identity", "Content-Length: 0")
    + b"hello",
    "chunked before nothing": head("Transfer-Encoding: chunked,") + CHUNKED,
    "chunked behind nothing": head("Transfer-Encoding: , chunked") + CHUNKED,
    "chunked behind identity": head("Transfer-Encoding: identity, chunked") + CHUNKED,
    "chunked and identity": head("Transfer-Encoding: chunked", "Transfer-Encoding: identity") + CHUNKED,
    "a part": head("Content-Range: bytes 0-14/15", "Transfer-Encoding : chunked", status="HTTP/1.1 206 Part")
    + CHUNKED,
    "an interim answer": head("Transfer-Encoding : chunked", status="HTTP/1.1 103 Early")
    + head("Content-Length: 5")
    + b"hello",
    "HTTP/2": head("X: y", status="HTTP/2 200") + b"hello",
    "HTTP/2 and a length": head("Content-Length: 5", status="HTTP/2 200 OK") + b"hello",
}


@pytest.mark.parametrize("name", DOUBTFUL)
def test_a_head_that_can_be_read_in_two_ways_is_refused(
    host: Towline, serve: Serve, work: Path, name: str
) -> None:
    done = fetch(host, serve(DOUBTFUL[name]).url(), work / "f", retry=NO_RETRY)
    assert outcome(done) == ("failed", "protocol")
    assert list(work.iterdir()) == []


@pytest.mark.parametrize(
    "field",
    ["Transfer-Encoding : chunked", "Transfer-Encoding:\r\n chunked", "X: y\r\n Transfer-Encoding: chunked"],
)
def test_a_resume_takes_no_part_whose_framing_is_doubtful(
    host: Towline, serve: Serve, work: Path, field: str
) -> None:
    data = content(1, 4_000)
    behind = data[2_000:3_900]
    framed = b"%x\r\n%s\r\n0\r\n\r\n" % (len(behind), behind)
    framed += bytes(2_000 - len(framed))
    part = ["Content-Range: bytes 2000-3999/4000", 'ETag: "v1"']
    good = head(*part, "Content-Length: 2000", status="HTTP/1.1 206 Part") + data[2_000:]
    parts = [head(*part, field, status="HTTP/1.1 206 Part") + framed, good]

    def script(_: str, first: int | None) -> Answer:
        if first is None:
            return Answer(head('ETag: "v1"', "Content-Length: 4000") + data[:2_000])
        # Whatever overlap is requested first, it must match the file.
        if first < 2_000:
            line = f"Content-Range: bytes {first}-3999/4000"
            doubtful = parts.pop(0) is not good if parts else False
            fields = [line, 'ETag: "v1"', field if doubtful else f"Content-Length: {4_000 - first}"]
            whole = data[first:2_000] + (framed if doubtful else data[2_000:])
            return Answer(head(*fields, status="HTTP/1.1 206 Part") + whole)
        return Answer(parts.pop(0) if parts else good)

    server = serve(script)
    done = fetch(host, server.url(), work / "f", id="d", retry={"maxAttempts": 1, "initialDelayMs": 1})
    assert outcome(done) == ("failed", "protocol")
    assert not (work / "f").exists()
    assert done["receivedBytes"] == 2_000
    host.call("resume", id="d")
    done = host.call("wait", id="d")["download"]
    assert outcome(done) == ("completed", None), done["error"]
    assert (work / "f").read_bytes() == data


HARMLESS = {
    "a blank before the colon": head("Server : x", "Content-Length: 5"),
    "a continued line": head("Server: x", "  y", "Content-Length: 5"),
    "names out of the grammar": head("a b: c", ": d", "\xe4: e", "Content-Length: 5"),
    "another name": head("Content_Length: 9", "X-Transfer-Encoding: chunked", "Content-Length: 5"),
    "line feeds alone": b"HTTP/1.1 200 OK\nContent-Length: 5\n\n",
    "no reason": head("Content-Length: 5", status="HTTP/1.1 200"),
    "blanks and capitals": head("cOnTeNt-LeNgTh: \t 5 \t", status="HTTP/1.1   200  OK"),
    "the same length twice": head("Content-Length: 5", "Content-Length: 5, 5"),
    "identity": head("Transfer-Encoding: identity", "Content-Length: 5"),
}


@pytest.mark.parametrize("name", HARMLESS)
def test_what_frames_nothing_may_break_the_grammar(
    host: Towline, serve: Serve, work: Path, name: str
) -> None:
    done = fetch(host, serve(HARMLESS[name] + b"hello").url(), work / "f", retry=NO_RETRY)
    assert outcome(done) == ("completed", None), done["error"]
    assert done["lengthVerified"] is True
    assert (work / "f").read_bytes() == b"hello"


@pytest.mark.parametrize(
    "field",
    ["HTTP/x: 200 y", "HTTP/1.1 200 OK: x", "HTTP/2 200 : x", "HTTP/1.1: 206 Partial Content"],
)
@pytest.mark.parametrize("interim", [b"", head("X: y", status="HTTP/1.1 103 Early")], ids=["", "interim"])
def test_only_the_first_line_of_a_head_is_a_status_line(
    host: Towline, serve: Serve, work: Path, field: str, interim: bytes
) -> None:
    answer = interim + head("A: b", field, "Content-Length: 5", status="HTTP/1.1 404 Not Found") + b"error"
    done = fetch(host, serve(answer).url(), work / "f", retry=NO_RETRY)
    assert outcome(done) == ("failed", "httpStatus")
    assert done["error"]["httpStatus"] == 404
    assert list(work.iterdir()) == []


def test_a_field_that_looks_like_a_status_does_not_end_an_interim_answer(
    host: Towline, serve: Serve, work: Path
) -> None:
    interim = head("HTTP/1.1 404 Gone: x", "ETag: y", status="HTTP/1.1 103 Early")
    answer = interim + head("HTTP/1.1 404 Gone: x", "Content-Length: 5") + b"hello"
    done = fetch(host, serve(answer).url(), work / "f", retry=NO_RETRY)
    assert outcome(done) == ("completed", None), done["error"]
    assert (work / "f").read_bytes() == b"hello"


# Ends

KEPT = {
    "identity": head("Transfer-Encoding: identity", "Content-Length: 5") + b"hello",
    "identity, HTTP/1.0": head("Transfer-Encoding: identity", "Content-Length: 5", status="HTTP/1.0 200 OK")
    + b"hello",
    "identity, compressed": head(
        "Transfer-Encoding: identity", "Content-Encoding: gzip", f"Content-Length: {len(PACKED)}"
    )
    + PACKED,
    "a part without a length": head("Content-Range: bytes 0-4/5", status="HTTP/1.1 206 Part") + b"hello",
    "a part, HTTP/1.0": head(
        "Content-Range: bytes 0-4/5", "Connection: keep-alive", status="HTTP/1.0 206 Part"
    )
    + b"hello",
    "a part and more": head(
        "Transfer-Encoding: identity", "Content-Range: bytes 0-4/5", status="HTTP/1.1 206 Part"
    )
    + b"hello world",
}


@pytest.mark.parametrize("name", KEPT)
def test_when_all_promised_bytes_are_there_no_other_end_is_waited_for(
    host: Towline, serve: Serve, work: Path, name: str
) -> None:
    server = serve(Answer(KEPT[name], then="keep"))
    done = fetch(host, server.url(), work / "f", stallTimeoutMs=3_000, retry=NO_RETRY)
    assert outcome(done) == ("completed", None), done["error"]
    assert done["lengthVerified"] is True
    assert (work / "f").read_bytes() == b"hello"
    assert len(server.heads) == 1


def test_a_resumed_part_without_a_length_ends_where_its_range_does(
    host: Towline, serve: Serve, work: Path
) -> None:
    data = content(2, 300_000)

    def script(_: str, first: int | None) -> Answer:
        if first is None:
            return Answer(head('ETag: "v1"', "Content-Length: 300000") + data[:100_000])
        fields = ['ETag: "v1"', f"Content-Range: bytes {first}-299999/300000"]
        return Answer(head(*fields, status="HTTP/1.1 206 Part") + data[first:], then="keep")

    quick = {"maxAttempts": 2, "initialDelayMs": 1}
    done = fetch(host, serve(script).url(), work / "f", stallTimeoutMs=3_000, retry=quick)
    assert outcome(done) == ("completed", None), done["error"]
    assert (work / "f").read_bytes() == data


@pytest.mark.parametrize("again", ["a retry", "a resume"])
def test_what_came_by_a_length_that_did_not_hold_is_not_gone_on_from(
    host: Towline, serve: Serve, work: Path, again: str
) -> None:
    data = content(3, 1_000_000)
    lie = head("Transfer-Encoding: identity", 'ETag: "v1"', "Content-Length: 600000") + data
    answers = [lie, head('ETag: "v1"', "Content-Length: 1000000") + data]
    server = serve(lambda _path, _first: Answer(answers.pop(0)))
    retry = {"maxAttempts": 2, "initialDelayMs": 1} if again == "a retry" else NO_RETRY
    done = fetch(host, server.url(), work / "f", id="d", retry=retry)
    if done["state"] != "completed":
        assert (*outcome(done), done["receivedBytes"]) == ("failed", "protocol", 0)
        host.call("resume", id="d")
        done = host.call("wait", id="d")["download"]
    assert outcome(done) == ("completed", None), done["error"]
    assert (work / "f").read_bytes() == data
    assert len(server.heads) == 2


UNTIL_CLOSE = {
    "until close": head("X: y") + b"hello",
    "HTTP/1.0": head("X: y", status="HTTP/1.0 200 OK") + b"hello",
    "nothing": head("X: y"),
    "identity": head("Transfer-Encoding: identity") + b"hello",
}


@pytest.mark.parametrize("name", UNTIL_CLOSE)
@pytest.mark.parametrize("then", ["close", "cut"])
def test_a_body_that_tls_did_not_end_is_incomplete(
    launch: Launcher, nginx: Nginx, serve: Serve, work: Path, name: str, then: str
) -> None:
    host = launch(env={"SSL_CERT_FILE": str(nginx.authority)})
    server = serve(Answer(UNTIL_CLOSE[name], then=then), nginx.prefix)
    done = fetch(host, server.url(), work / "f", retry=NO_RETRY)
    if then == "cut":
        assert outcome(done) == ("failed", "incomplete")
        assert done["error"]["retryable"] is True
        assert not (work / "f").exists()
    else:
        assert (*outcome(done), done["lengthVerified"]) == ("completed", None, False), done["error"]


@pytest.mark.parametrize(
    "answer",
    [head("Content-Length: 5") + b"hello", head("Transfer-Encoding: chunked") + CHUNKED],
    ids=["a length", "chunks"],
)
def test_a_body_that_says_itself_where_it_ends_needs_no_end_of_tls(
    launch: Launcher, nginx: Nginx, serve: Serve, work: Path, answer: bytes
) -> None:
    host = launch(env={"SSL_CERT_FILE": str(nginx.authority)})
    done = fetch(host, serve(Answer(answer, then="cut"), nginx.prefix).url(), work / "f", retry=NO_RETRY)
    assert (*outcome(done), done["lengthVerified"]) == ("completed", None, True), done["error"]
    assert (work / "f").read_bytes() == b"hello"


# Error kinds

CHUNKS = head("Transfer-Encoding: chunked")

BROKEN = {
    "no chunk size": CHUNKS + b"zz\r\nhello\r\n0\r\n\r\n",
    "a negative chunk size": CHUNKS + b"-5\r\nhello\r\n0\r\n\r\n",
    "a chunk size beyond all bounds": CHUNKS + b"f" * 40 + b"\r\nhello\r\n0\r\n\r\n",
    "the largest chunk size": CHUNKS + b"f" * 16 + b"\r\nhello\r\n0\r\n\r\n",
    "a chunk longer than its size": CHUNKS + b"5\r\nhello world\r\n0\r\n\r\n",
    "a trailer without a colon": CHUNKS + b"5\r\nhello\r\n0\r\nfoo\r\n\r\n",
    "a trailer with a NUL": CHUNKS + b"5\r\nhello\r\n0\r\na: b\0c\r\n\r\n",
    "a trailer with a bare CR": CHUNKS + b"5\r\nhello\r\n0\r\na: b\rc\r\n\r\n",
    "a head that begins with a continued line": head(" X: y", "Content-Length: 5") + b"hello",
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_head_trailer_or_chunk_is_a_protocol_failure(
    host: Towline, serve: Serve, work: Path, name: str
) -> None:
    done = fetch(host, serve(BROKEN[name]).url(), work / "f", retry=NO_RETRY)
    assert outcome(done) == ("failed", "protocol")
    assert not (work / "f").exists()


CUT = {
    "behind the status line": b"HTTP/1.1 200 OK\r\n",
    "behind a field": b"HTTP/1.1 200 OK\r\nX: y\r\n",
    "within a name": b"HTTP/1.1 200 OK\r\nContent-Le",
    "within a value": b"HTTP/1.1 200 OK\r\nContent-Length: 1",
    "behind an interim answer": head(status="HTTP/1.1 103 Early") + b"HTTP/1.1 200 OK\r\n",
}


@pytest.mark.parametrize("name", CUT)
def test_a_head_that_was_cut_is_incomplete(host: Towline, serve: Serve, work: Path, name: str) -> None:
    done = fetch(host, serve(CUT[name]).url(), work / "f", retry=NO_RETRY)
    assert (*outcome(done), done["error"]["retryable"]) == ("failed", "incomplete", True)
    assert list(work.iterdir()) == []
