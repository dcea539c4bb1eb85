"""What goes wrong during a download, and how the service reacts."""

from __future__ import annotations

import threading
import time
from pathlib import Path

import pytest
from fixtures import Launcher
from nginx_server import free_port
from scripted_server import Behaviour, ScriptedServer, content
from support import MIB, NO_RETRY, OVERLAP, QUICK_RETRY, Held, fetch, finish, has_default_route, resume_start
from towline_client import Towline

SECRET = "s3cret-value"


@pytest.mark.parametrize("reset", [False, True], ids=["FIN", "RST"])
def test_a_dropped_connection_goes_on_where_it_was(
    host: Towline, server: ScriptedServer, work: Path, reset: bool
) -> None:
    data = content(1, 4 * MIB)
    server.add("/f", data).then(*[Behaviour(drop_after=MIB, reset=reset) for _ in range(3)])
    done = fetch(host, server.url("/f"), work / "f", retry=QUICK_RETRY)
    assert done["state"] == "completed", done["error"]
    assert (work / "f").read_bytes() == data
    starts = [r.range_start for r in server.requests()]
    assert starts[0] == 0
    assert starts == sorted(starts)
    if not reset:
        # A FIN loses nothing; a reset may drop bytes that were not read yet.
        assert starts == [0, *(resume_start(n * MIB - (n - 1) * OVERLAP) for n in (1, 2, 3))]


def test_drops_without_any_byte_gained_use_up_the_attempts(
    host: Towline, server: ScriptedServer, work: Path
) -> None:
    server.add("/f", content(1, MIB), default=Behaviour(drop_after=0))
    retry = {"maxAttempts": 2, "initialDelayMs": 10, "maxDelayMs": 10}
    done = fetch(host, server.url("/f"), work / "f", retry=retry)
    assert done["state"] == "failed"
    assert done["error"]["retryable"] is True
    assert len(server.requests()) == 3


def test_a_body_shorter_than_announced_is_incomplete(
    host: Towline, server: ScriptedServer, work: Path
) -> None:
    server.add("/f", content(1, MIB), default=Behaviour(drop_after=1000))
    done = fetch(host, server.url("/f"), work / "f", retry=NO_RETRY)
    assert (done["state"], done["error"]["kind"]) == ("failed", "incomplete")
    assert not (work / "f").exists()


@pytest.mark.parametrize("chunked", [True, False])
def test_a_cut_body_of_unknown_length_is_not_taken_for_whole(
    host: Towline, server: ScriptedServer, work: Path, chunked: bool
) -> None:
    cut = Behaviour(chunked=chunked, no_length=not chunked, drop_after=MIB // 2, reset=not chunked)
    data = content(1, MIB)
    server.add("/f", data).then(cut)
    done = fetch(host, server.url("/f"), work / "f", retry=QUICK_RETRY)
    assert done["state"] == "completed"
    assert (work / "f").read_bytes() == data


@pytest.mark.parametrize(("status", "reason"), [(503, "retry"), (429, "rateLimited")])
def test_retry_after_is_obeyed(
    host: Towline, server: ScriptedServer, work: Path, status: int, reason: str
) -> None:
    server.add("/f", b"x").then(Behaviour(status=status, headers=[("Retry-After", "1")]))
    host.call("start", url=server.url("/f"), path=str(work / "f"), id="d", retry=QUICK_RETRY)
    waiting = host.wait_state("d", "waiting")
    assert waiting["retryAt"] is not None
    assert waiting["reason"] in {reason, "rateLimited"}
    assert finish(host, "d")["state"] == "completed"
    first, second = server.requests()
    assert second.arrived - first.arrived >= 0.9


def test_retries_wait_longer_and_longer_but_not_beyond_the_limit(
    host: Towline, server: ScriptedServer, work: Path
) -> None:
    server.add("/f", b"x").then(*[Behaviour(status=500) for _ in range(4)])
    retry = {"maxAttempts": 10, "initialDelayMs": 50, "maxDelayMs": 200}
    began = time.monotonic()
    done = fetch(host, server.url("/f"), work / "f", retry=retry)
    assert done["state"] == "completed"
    assert len(server.requests()) == 5
    assert time.monotonic() - began < 10


@pytest.mark.parametrize("status", [400, 401, 403, 404, 405, 410, 451], ids=str)
def test_client_errors_are_not_retried(
    host: Towline, server: ScriptedServer, work: Path, status: int
) -> None:
    server.add("/f", b"x", default=Behaviour(status=status, body=b"no"))
    done = fetch(host, server.url("/f"), work / "f", retry=QUICK_RETRY)
    assert (done["state"], done["error"]["kind"]) == ("failed", "httpStatus")
    assert done["error"]["httpStatus"] == status
    assert len(server.requests()) == 1
    assert list(work.iterdir()) == []


@pytest.mark.parametrize("status", [500, 502, 503, 504, 408], ids=str)
def test_server_errors_are_retried(host: Towline, server: ScriptedServer, work: Path, status: int) -> None:
    server.add("/f", b"x").then(Behaviour(status=status))
    assert fetch(host, server.url("/f"), work / "f", retry=QUICK_RETRY)["state"] == "completed"


def test_an_error_page_never_becomes_the_file(host: Towline, server: ScriptedServer, work: Path) -> None:
    data = content(1, MIB)
    page = Behaviour(status=503, body=b"<html>sorry</html>")
    server.add("/f", data).then(page, Behaviour(drop_after=300_000), page)
    assert fetch(host, server.url("/f"), work / "f", retry=QUICK_RETRY)["state"] == "completed"
    assert (work / "f").read_bytes() == data


@pytest.mark.parametrize("status", [201, 202, 203, 204, 205, 206, 226, 299], ids=str)
def test_odd_successes_make_no_wrong_file(
    host: Towline, server: ScriptedServer, work: Path, status: int
) -> None:
    body = b"" if status in (204, 205) else b"body"
    server.add("/f", b"whole").default = Behaviour(status=status, body=body)
    done = fetch(host, server.url("/f"), work / "f", retry=NO_RETRY)
    if done["state"] == "completed":
        assert status in (200, 203)
    else:
        assert done["error"]["kind"] in ("httpStatus", "protocol")


def test_a_stall_is_noticed_and_mended(host: Towline, server: ScriptedServer, work: Path) -> None:
    held = Held(server)
    held.resource.then(held.resource.default)
    held.resource.default = Behaviour()
    done = fetch(host, held.url, work / "f", stallTimeoutMs=500, retry=QUICK_RETRY)
    assert done["state"] == "completed"
    assert (work / "f").read_bytes() == held.data
    first, second = server.requests()
    assert (first.range_start, second.range_start) == (0, resume_start(held.after))
    assert second.arrived - first.arrived < 4, "half a second without a byte is a stall"


def test_a_stall_without_retries_fails_as_stalled(host: Towline, server: ScriptedServer, work: Path) -> None:
    held = Held(server)
    done = fetch(host, held.url, work / "f", stallTimeoutMs=500, retry=NO_RETRY)
    assert (done["state"], done["error"]["kind"], done["error"]["retryable"]) == ("failed", "stalled", True)


def test_a_server_that_never_answers_stalls_too(host: Towline, server: ScriptedServer, work: Path) -> None:
    server.add("/f", b"x", default=Behaviour(hold_head=threading.Event()))
    done = fetch(host, server.url("/f"), work / "f", stallTimeoutMs=500, retry=NO_RETRY)
    assert (done["state"], done["error"]["kind"]) in (("failed", "stalled"), ("failed", "timeout"))


def test_a_refused_connection_fails_as_connect(host: Towline, work: Path) -> None:
    done = fetch(host, f"http://127.0.0.1:{free_port()}/f", work / "f", retry=NO_RETRY)
    assert (done["state"], done["error"]["kind"], done["error"]["retryable"]) == ("failed", "connect", True)
    assert done["error"]["curlCode"] == 7


def test_a_name_that_does_not_exist_fails_as_dns(host: Towline, work: Path) -> None:
    if not has_default_route():
        pytest.skip("needs a default route: without one a name that is not found is waited for")
    done = fetch(host, "http://name.invalid/f", work / "f", retry=NO_RETRY)
    assert (done["state"], done["error"]["kind"]) == ("failed", "dns")


def test_a_name_lookup_does_not_hold_the_service_up(host: Towline, work: Path) -> None:
    host.call("start", url="http://slow-name.invalid/f", path=str(work / "f"), id="d")
    began = time.monotonic()
    host.call("cancel", id="d")
    host.call("ping")
    assert time.monotonic() - began < 1


@pytest.mark.parametrize(
    "head",
    [
        b"garbage\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: nonsense\r\n\r\n",
        b"\0" * 100,
        b"SSH-2.0-x\r\n",
    ],
    ids=repr,
)
def test_a_peer_that_speaks_no_http_fails_the_download_only(host: Towline, work: Path, head: bytes) -> None:
    import socket

    with socket.create_server(("127.0.0.1", 0)) as listener:

        def answer() -> None:
            connection, _ = listener.accept()
            connection.recv(65_536)
            connection.sendall(head)
            connection.close()

        threading.Thread(target=answer, daemon=True).start()
        url = f"http://127.0.0.1:{listener.getsockname()[1]}/f"
        done = fetch(host, url, work / "f", retry=NO_RETRY)
    assert done["state"] == "failed"
    assert host.call("ping") == {}


def test_endless_headers_fail_the_download_only(host: Towline, server: ScriptedServer, work: Path) -> None:
    endless = [(f"X-{n}", "y" * 1000) for n in range(2000)]
    server.add("/f", b"x", default=Behaviour(headers=endless))
    done = fetch(host, server.url("/f"), work / "f", retry=NO_RETRY)
    assert (done["state"], done["error"]["kind"]) == ("failed", "headersTooLarge")


# Redirects


def test_redirects_are_followed(host: Towline, server: ScriptedServer, work: Path) -> None:
    server.add("/f", b"x")
    server.add("/one", b"", default=Behaviour(location="/two"))
    server.add("/two", b"", default=Behaviour(status=307, location=server.url("/f")))
    done = fetch(host, server.url("/one"), work / "f")
    assert (done["state"], done["url"]) == ("completed", server.url("/one"))
    assert done["finalUrl"] == server.url("/f")


def test_a_redirect_loop_ends(host: Towline, server: ScriptedServer, work: Path) -> None:
    server.add("/loop", b"", default=Behaviour(location="/loop"))
    done = fetch(host, server.url("/loop"), work / "f", retry=NO_RETRY)
    assert (done["state"], done["error"]["kind"]) == ("failed", "tooManyRedirects")
    assert len(server.requests()) <= 51


@pytest.mark.parametrize("target", ["ftp://127.0.0.1/f", "file:///etc/passwd", "gopher://127.0.0.1/f"])
def test_redirects_to_other_schemes_are_denied(
    host: Towline, server: ScriptedServer, work: Path, target: str
) -> None:
    server.add("/f", b"", default=Behaviour(location=target))
    done = fetch(host, server.url("/f"), work / "f", retry=NO_RETRY)
    assert done["state"] == "failed"
    assert done["error"]["kind"] in ("redirectDenied", "unsupportedUrl")


def test_a_resume_begins_at_the_original_url(host: Towline, server: ScriptedServer, work: Path) -> None:
    held = Held(server)
    server.add("/link", b"", default=Behaviour(location="/held"))
    download_id = host.call("start", url=server.url("/link"), path=str(work / "f"))["download"]["id"]
    host.wait_received(download_id, held.after)
    host.call("pause", id=download_id)
    held.release()
    host.call("resume", id=download_id)
    assert finish(host, download_id)["transfer"]["mode"] == "resumed"
    assert [r.path for r in server.requests()] == ["/link", "/held", "/link", "/held"]
    assert (work / "f").read_bytes() == held.data


def test_secrets_do_not_follow_a_redirect_to_another_origin(
    launch: Launcher, server: ScriptedServer, other_server: ScriptedServer, work: Path
) -> None:
    other_server.add("/f", b"x")
    server.add("/f", b"", default=Behaviour(location=other_server.url("/f")))
    host = launch("--log-level", "debug")
    names = ("Authorization", "X-Api-Key", "Cookie", "Private-Token")
    headers = dict.fromkeys(names, SECRET)
    done = fetch(host, server.url(f"/f?token={SECRET}"), work / "f", headers=headers)
    assert done["state"] == "completed"
    first, second = server.requests()[0], other_server.requests()[0]
    assert [first.headers[name.lower()] for name in names] == [SECRET] * 4
    assert SECRET not in str(second.headers)
    assert SECRET not in host.stderr
    assert SECRET not in str(host.call("inspect", id=done["id"]))
    assert all(SECRET not in str(e["params"].get("error")) for e in host.events)


def test_secrets_stay_on_their_origin_within_a_redirect(
    host: Towline, server: ScriptedServer, work: Path
) -> None:
    server.add("/f", b"x")
    server.add("/one", b"", default=Behaviour(location="/f"))
    fetch(host, server.url("/one"), work / "f", headers={"Authorization": SECRET})
    assert server.requests("/f")[0].headers["authorization"] == SECRET


def test_userinfo_in_a_url_is_told_to_nobody(launch: Launcher, server: ScriptedServer, work: Path) -> None:
    server.add("/f", b"x")
    url = server.url("/f").replace("http://", f"http://user:{SECRET}@")
    host = launch("--log-level", "debug")
    done = fetch(host, url, work / "f")
    assert done["state"] == "completed"
    assert server.requests()[0].headers["authorization"].startswith("Basic ")
    assert SECRET not in host.stderr
    assert SECRET not in str(host.call("inspect", id=done["id"]))


def test_an_environment_proxy_is_not_used_for_loopback_secretly(
    launch: Launcher, server: ScriptedServer, other_server: ScriptedServer, work: Path
) -> None:
    """However proxies of the environment are treated: CGI's HTTP_PROXY in capitals is never used."""
    server.add("/f", b"x")
    host = launch(env={"HTTP_PROXY": other_server.url()})
    assert fetch(host, server.url("/f"), work / "f")["state"] == "completed"
    assert other_server.requests() == []
