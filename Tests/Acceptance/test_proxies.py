"""Proxies from the environment: used as curl uses them if the option is given, and reported otherwise."""

from __future__ import annotations

import os
import shutil
import ssl
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from fixtures import Launcher
from nginx_server import Nginx, free_port
from proxy_server import ScriptedProxy, Tinyproxy, find_tinyproxy
from scripted_server import Behaviour, ScriptedServer, content
from support import MIB, NO_RETRY, QUICK_RETRY, fetch, has_default_route
from towline_client import clean_environment

OPTION = "--proxy-from-environment"
PASSWORD = "s3cretword"


@pytest.fixture
def proxy() -> Iterator[ScriptedProxy]:
    scripted = ScriptedProxy()
    yield scripted
    scripted.close()


@pytest.fixture
def socks() -> Iterator[ScriptedProxy]:
    scripted = ScriptedProxy(socks=True)
    yield scripted
    scripted.close()


@pytest.mark.parametrize("name", ["http_proxy", "all_proxy", "ALL_PROXY"])
def test_http_goes_through_the_proxy(
    launch: Launcher, server: ScriptedServer, proxy: ScriptedProxy, work: Path, name: str
) -> None:
    server.add("/f", b"x")
    host = launch(OPTION, env={name: proxy.url})
    assert fetch(host, server.url("/f?q"), work / "f")["state"] == "completed"
    assert [(a.method, a.target) for a in proxy.log] == [("GET", server.url("/f?q"))]


@pytest.mark.parametrize("name", ["https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"])
def test_https_goes_through_a_tunnel(
    launch: Launcher, nginx: Nginx, proxy: ScriptedProxy, work: Path, name: str
) -> None:
    (nginx.root / "proxied.bin").write_bytes(content(1, MIB))
    host = launch(OPTION, env={name: proxy.url, "SSL_CERT_FILE": str(nginx.authority)})
    url = f"https://localhost:{nginx.https_port}/proxied.bin"
    headers = {"Authorization": PASSWORD, "Cookie": PASSWORD}
    done = fetch(host, url, work / "f", headers=headers)
    assert (done["state"], (work / "f").read_bytes()) == ("completed", content(1, MIB))
    assert [(a.method, a.target) for a in proxy.log] == [("CONNECT", f"localhost:{nginx.https_port}")]
    assert PASSWORD not in str(proxy.log)


def test_a_proxy_without_a_scheme_is_one_for_http(
    launch: Launcher, server: ScriptedServer, proxy: ScriptedProxy, work: Path
) -> None:
    server.add("/f", b"x")
    host = launch(OPTION, env={"http_proxy": f"127.0.0.1:{proxy.port}"})
    assert fetch(host, server.url("/f"), work / "f")["state"] == "completed"
    assert len(proxy.log) == 1


def test_names_are_the_proxy_s_to_resolve(
    launch: Launcher, server: ScriptedServer, proxy: ScriptedProxy, work: Path
) -> None:
    server.add("/f", b"x")
    host = launch(OPTION, env={"http_proxy": proxy.url})
    done = fetch(host, server.url("/f", host="bücher.invalid"), work / "f")
    assert done["state"] == "completed"
    assert proxy.log[0].target == server.url("/f", host="xn--bcher-kva.invalid")


def test_the_more_special_variable_wins(
    launch: Launcher, server: ScriptedServer, proxy: ScriptedProxy, socks: ScriptedProxy, work: Path
) -> None:
    server.add("/f", b"x")
    host = launch(OPTION, env={"http_proxy": proxy.url, "all_proxy": f"socks5://127.0.0.1:{socks.port}"})
    assert fetch(host, server.url("/f"), work / "f")["state"] == "completed"
    assert (len(proxy.log), len(socks.log)) == (1, 0)


@pytest.mark.parametrize("scheme", ["socks5", "socks5h"])
def test_a_socks_proxy_is_used(
    launch: Launcher, server: ScriptedServer, socks: ScriptedProxy, work: Path, scheme: str
) -> None:
    server.add("/f", b"x")
    host = launch(OPTION, env={"all_proxy": f"{scheme}://127.0.0.1:{socks.port}"})
    assert fetch(host, server.url("/f", host="localhost"), work / "f")["state"] == "completed"
    assert [a.target for a in socks.log] == ["localhost" if scheme == "socks5h" else "address"]


@pytest.mark.parametrize("scheme", ["http", "https"])
def test_a_proxy_that_speaks_tls_is_trusted_as_servers_are(
    launch: Launcher, nginx: Nginx, work: Path, scheme: str
) -> None:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(nginx.prefix / "server.pem", nginx.prefix / "server.key")
    proxy = ScriptedProxy(tls=context)
    (nginx.root / "secured.bin").write_bytes(content(4, MIB))
    url = f"{nginx.https if scheme == 'https' else nginx.http}/secured.bin"
    try:
        environment = {"all_proxy": f"https://localhost:{proxy.port}"}
        refused = fetch(launch(OPTION, env=environment), url, work / "f", retry=NO_RETRY)
        assert refused["error"]["kind"] == "tlsCertificate"
        host = launch(OPTION, env={**environment, "SSL_CERT_FILE": str(nginx.authority)})
        done = fetch(host, url, work / "g")
        assert done["state"] == "completed", done["error"]
        assert (work / "g").read_bytes() == content(4, MIB)
        assert len(proxy.log) == 1
    finally:
        proxy.close()


def environments() -> dict[str, dict[str, str]]:
    """`no_proxy` variables, with and without an exception for 127.0.0.1 or a.localhost."""
    direct = ["127.0.0.1", "*", "127.0.0.0/8", "x.example, 127.0.0.1", "x.example 127.0.0.1"]
    proxied = ["127.0.0.2", "10.0.0.0/8", "27.0.0.1", "", "0.0.1"]
    named = ["a.localhost", "localhost", ".localhost", "A.LOCALHOST"]
    foreign = ["calhost", "b.localhost", "x.a.localhost"]
    found = {}
    for host, bypassing, others in (("127.0.0.1", direct, proxied), ("a.localhost", named, foreign)):
        for value in bypassing:
            found[f"{host} not by {value!r}"] = {"host": host, "direct": "yes", "no_proxy": value}
        for value in others:
            found[f"{host} by {value!r}"] = {"host": host, "direct": "", "no_proxy": value}
    found["in capitals"] = {"host": "127.0.0.1", "direct": "yes", "NO_PROXY": "127.0.0.1"}
    found["small letters first"] = {"host": "127.0.0.1", "direct": "", "no_proxy": "x", "NO_PROXY": "*"}
    return found


@pytest.mark.skipif(shutil.which("curl") is None, reason="needs curl")
@pytest.mark.parametrize("case", environments())
def test_no_proxy_is_read_as_curl_reads_it(
    launch: Launcher, server: ScriptedServer, proxy: ScriptedProxy, work: Path, case: str
) -> None:
    variables = environments()[case]
    host_name, direct = variables.pop("host"), bool(variables.pop("direct"))
    server.add("/f", b"x")
    url = server.url("/f", host=host_name)
    variables["http_proxy"] = proxy.url
    # What curl does with the same variables.
    environment = {**clean_environment(work), **variables}
    subprocess.run(["curl", "-s", "-o", os.devnull, url], env=environment, check=True, timeout=20)
    assert (len(proxy.log) == 0) == direct
    host = launch(OPTION, env=variables)
    assert fetch(host, url, work / "f")["state"] == "completed"
    assert len(proxy.log) == (0 if direct else 2)


def test_capitals_are_no_proxy_for_http(
    launch: Launcher, server: ScriptedServer, proxy: ScriptedProxy, work: Path
) -> None:
    """CGI servers set HTTP_PROXY from a request header, so any client could choose it."""
    server.add("/f", b"x")
    host = launch(OPTION, env={"HTTP_PROXY": proxy.url})
    assert fetch(host, server.url("/f"), work / "f")["state"] == "completed"
    assert proxy.log == []


def test_an_empty_variable_is_no_proxy(launch: Launcher, server: ScriptedServer, work: Path) -> None:
    server.add("/f", b"x")
    host = launch(OPTION, env={"http_proxy": "", "all_proxy": ""})
    assert fetch(host, server.url("/f"), work / "f")["state"] == "completed"


def test_without_the_option_there_is_no_proxy(
    launch: Launcher, server: ScriptedServer, proxy: ScriptedProxy, work: Path
) -> None:
    server.add("/f", b"x")
    host = launch(env={"http_proxy": proxy.url, "all_proxy": proxy.url})
    assert fetch(host, server.url("/f"), work / "f")["state"] == "completed"
    assert proxy.log == []


def test_a_download_goes_on_through_the_proxy(
    launch: Launcher, server: ScriptedServer, proxy: ScriptedProxy, work: Path
) -> None:
    data = content(2, MIB)
    server.add("/f", data).then(Behaviour(drop_after=MIB // 2))
    host = launch(OPTION, env={"http_proxy": proxy.url})
    done = fetch(host, server.url("/f"), work / "f", retry=QUICK_RETRY)
    assert (done["state"], done["transfer"]["mode"]) == ("completed", "resumed")
    assert (work / "f").read_bytes() == data
    assert len(proxy.log) == 2


def test_a_password_goes_to_the_proxy_and_nowhere_else(
    launch: Launcher, server: ScriptedServer, proxy: ScriptedProxy, work: Path
) -> None:
    server.add("/f", b"x")
    url = f"http://user:{PASSWORD}@127.0.0.1:{proxy.port}"
    host = launch(OPTION, "--log-level", "debug", env={"http_proxy": url})
    done = fetch(host, server.url("/f"), work / "f")
    assert done["state"] == "completed"
    assert proxy.log[0].headers["proxy-authorization"].startswith("Basic ")
    assert "proxy-authorization" not in server.requests()[0].headers
    proxy.close()
    failed = fetch(host, server.url("/f"), work / "g", retry=NO_RETRY)
    assert failed["error"]["kind"] == "proxy"
    assert PASSWORD not in host.stderr + str(host.messages) + str(host.call("inspect", id=failed["id"]))


@pytest.mark.parametrize(("status", "retryable"), [(407, False), (403, False), (503, True), (502, True)])
def test_a_proxy_that_refuses_a_tunnel_is_told_as_such(
    launch: Launcher, proxy: ScriptedProxy, work: Path, status: int, retryable: bool
) -> None:
    proxy.refusal = status
    host = launch(OPTION, env={"https_proxy": proxy.url})
    error = fetch(host, "https://h.invalid/f", work / "f", retry=NO_RETRY)["error"]
    assert (error["kind"], error["httpStatus"], error["retryable"]) == ("proxy", status, retryable)
    assert "proxy" in error["message"]


def test_a_proxy_that_wants_a_password_for_http_is_told_as_such(
    launch: Launcher, proxy: ScriptedProxy, work: Path
) -> None:
    proxy.refusal = 407
    host = launch(OPTION, env={"http_proxy": proxy.url})
    error = fetch(host, "http://h.invalid/f", work / "f")["error"]
    assert (error["kind"], error["httpStatus"], error["retryable"]) == ("proxy", 407, False)


@pytest.mark.parametrize("url", ["http://h.invalid/f", "https://h.invalid/f"])
def test_a_proxy_that_is_not_there_is_told_as_such(launch: Launcher, work: Path, url: str) -> None:
    host = launch(OPTION, env={"all_proxy": f"http://127.0.0.1:{free_port()}"})
    error = fetch(host, url, work / "f", retry=NO_RETRY)["error"]
    assert (error["kind"], error["retryable"]) == ("proxy", True)
    assert "proxy" in error["message"]
    assert "--proxy-from-environment" not in error["message"]


@pytest.mark.skipif(not has_default_route(), reason="needs a default route")
def test_a_proxy_whose_name_is_unknown_is_told_as_such(launch: Launcher, work: Path) -> None:
    host = launch(OPTION, env={"all_proxy": "http://proxy.invalid:3128"})
    error = fetch(host, "http://127.0.0.1:9/f", work / "f", retry=NO_RETRY)["error"]
    assert error["kind"] == "proxy"


@pytest.mark.parametrize(
    "url", ["ftp://127.0.0.1:1", "socks9://h.invalid:1", f"ftp://u:{PASSWORD}@[::1]:1", "http://127.0.0.1:x"]
)
def test_a_proxy_that_is_not_understood_is_told_as_such(launch: Launcher, work: Path, url: str) -> None:
    """Whatever the network is like: another try would not help."""
    host = launch(OPTION, env={"http_proxy": url})
    done = fetch(host, f"http://127.0.0.1:{free_port()}/f", work / "f")
    error = done["error"]
    assert (done["state"], error["kind"], error["retryable"]) == ("failed", "proxy", False)
    assert "proxy" in error["message"]
    assert PASSWORD not in str(host.messages) + host.stderr


def test_a_socks_proxy_that_refuses_is_told_as_such(
    launch: Launcher, socks: ScriptedProxy, work: Path
) -> None:
    socks.refusal = 2
    host = launch(OPTION, env={"all_proxy": f"socks5h://127.0.0.1:{socks.port}"})
    error = fetch(host, "http://h.invalid/f", work / "f", retry=NO_RETRY)["error"]
    assert error["kind"] == "proxy"


def test_a_server_that_is_asked_directly_is_not_taken_for_the_proxy(
    launch: Launcher, proxy: ScriptedProxy, work: Path
) -> None:
    host = launch(OPTION, env={"http_proxy": proxy.url, "no_proxy": "127.0.0.1"})
    error = fetch(host, f"http://127.0.0.1:{free_port()}/f", work / "f", retry=NO_RETRY)["error"]
    assert error["kind"] == "connect"


@pytest.mark.parametrize("name", ["http_proxy", "https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"])
@pytest.mark.parametrize("kind", ["dns", "connect"])
def test_a_failure_tells_of_a_proxy_that_is_not_used(
    launch: Launcher, proxy: ScriptedProxy, work: Path, kind: str, name: str
) -> None:
    if kind == "dns" and not has_default_route():
        pytest.skip("needs a default route: without one a name that is not found is waited for")
    host = launch(env={name: f"http://user:{PASSWORD}@127.0.0.1:{proxy.port}"})
    where = "name.invalid" if kind == "dns" else f"127.0.0.1:{free_port()}"
    error = fetch(host, f"http://{where}/f", work / "f", retry=NO_RETRY)["error"]
    assert error["kind"] == kind
    assert name in error["message"]
    assert "--proxy-from-environment" in error["message"]
    assert PASSWORD not in str(host.messages) + host.stderr


@pytest.mark.parametrize(
    "variables", [{}, {"http_proxy": ""}, {"no_proxy": "x"}, {"HTTP_PROXY": "http://h:1"}], ids=str
)
def test_a_failure_tells_of_no_proxy_where_none_is_set(
    launch: Launcher, work: Path, variables: dict[str, str]
) -> None:
    host = launch(env=variables)
    error = fetch(host, f"http://127.0.0.1:{free_port()}/f", work / "f", retry=NO_RETRY)["error"]
    assert error["kind"] == "connect"
    assert "prox" not in error["message"].lower()


@pytest.fixture
def tinyproxy(tmp_path: Path) -> Iterator[Tinyproxy]:
    program = find_tinyproxy()
    if program is None:
        pytest.skip("needs tinyproxy")
    running = Tinyproxy(program, tmp_path)
    yield running
    running.close()


def test_a_real_proxy_carries_http_and_https(
    launch: Launcher, nginx: Nginx, tinyproxy: Tinyproxy, work: Path
) -> None:
    (nginx.root / "real.bin").write_bytes(content(3, 3 * MIB))
    named = f"http://user:pass@127.0.0.1:{tinyproxy.port}"
    host = launch(OPTION, env={"all_proxy": named, "SSL_CERT_FILE": str(nginx.authority)})
    for scheme, port in (("http", nginx.http_port), ("https", nginx.https_port)):
        done = fetch(host, f"{scheme}://127.0.0.1:{port}/real.bin", work / scheme)
        assert done["state"] == "completed", done["error"]
        assert (work / scheme).read_bytes() == content(3, 3 * MIB)
    log = tinyproxy.log_file.read_text()
    assert f"CONNECT 127.0.0.1:{nginx.https_port}" in log
    assert f"GET http://127.0.0.1:{nginx.http_port}/real.bin" in log


def test_a_real_proxy_that_gets_no_password_is_told_as_such(
    launch: Launcher, nginx: Nginx, tinyproxy: Tinyproxy, work: Path
) -> None:
    host = launch(OPTION, env={"all_proxy": f"http://127.0.0.1:{tinyproxy.port}"})
    for scheme, port in (("http", nginx.http_port), ("https", nginx.https_port)):
        error = fetch(host, f"{scheme}://localhost:{port}/x", work / scheme, retry=QUICK_RETRY)["error"]
        assert (error["kind"], error["httpStatus"], error["retryable"]) == ("proxy", 407, False)
