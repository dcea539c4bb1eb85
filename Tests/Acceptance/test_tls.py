"""TLS: keys are logged only on request, and servers that require more than the client has."""

from __future__ import annotations

import socket
import ssl
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest
from fixtures import Launcher
from nginx_server import Nginx
from support import NO_RETRY, QUICK_RETRY, fetch
from towline_client import JSON


@pytest.fixture
def small(nginx: Nginx) -> str:
    (nginx.root / "small").write_bytes(b"small")
    return f"{nginx.https}/small"


def test_the_environment_alone_writes_no_keys(
    launch: Launcher, nginx: Nginx, small: str, work: Path, tmp_path: Path
) -> None:
    keys = tmp_path / "keys"
    host = launch(env={"SSL_CERT_FILE": str(nginx.authority), "SSLKEYLOGFILE": str(keys)})
    assert fetch(host, small, work / "f", retry=NO_RETRY)["state"] == "completed"
    assert not keys.exists()


def test_keys_are_written_on_request_and_for_us_alone(
    launch: Launcher, nginx: Nginx, small: str, work: Path, tmp_path: Path
) -> None:
    keys, other = tmp_path / "keys", tmp_path / "other"
    environment = {"SSL_CERT_FILE": str(nginx.authority), "SSLKEYLOGFILE": str(other)}
    host = launch("--tls-key-log", str(keys), env=environment)
    assert fetch(host, small, work / "f", retry=NO_RETRY)["state"] == "completed"
    assert keys.read_text().startswith(("CLIENT_RANDOM ", "SERVER_HANDSHAKE_TRAFFIC_SECRET "))
    assert keys.stat().st_mode & 0o777 == 0o600
    assert not other.exists()


def test_a_key_log_that_cannot_be_written_is_said_at_the_start(launch: Launcher, tmp_path: Path) -> None:
    ran = launch.run("--tls-key-log", str(tmp_path / "none" / "keys"))
    assert ran.returncode == 78
    assert "--tls-key-log" in ran.stderr
    assert str(tmp_path / "none" / "keys") in ran.stderr


# One error kind for each cause


@contextmanager
def asking_server(
    nginx: Nginx, context: ssl.SSLContext, certificate: Path | None = None
) -> Iterator[tuple[str, list[int]]]:
    """A TLS server with this context; yields its URL, and a list that gets one entry per connection.

    Uses the given certificate, with its key in a file beside it, or that of nginx.
    """
    pem = certificate or nginx.prefix / "server.pem"
    context.load_cert_chain(pem, pem.with_suffix(".key"))
    connections: list[int] = []
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def serve() -> None:
            with suppress(OSError):
                while True:
                    connection, _ = listener.accept()
                    connections.append(1)
                    with connection, suppress(OSError):
                        secured = context.wrap_socket(
                            connection, server_side=True, do_handshake_on_connect=False
                        )
                        try:
                            secured.do_handshake()
                            secured.recv(65_536)
                        except ssl.SSLError:
                            # The alert has been sent; a reset could discard it.
                            with socket.socket(fileno=secured.detach()) as raw:
                                raw.shutdown(socket.SHUT_WR)
                                raw.settimeout(5)
                                while raw.recv(65_536):
                                    pass

        threading.Thread(target=serve, daemon=True).start()
        yield f"https://localhost:{listener.getsockname()[1]}/f", connections
        listener.shutdown(socket.SHUT_RDWR)


def refused(launch: Launcher, nginx: Nginx, url: str, work: Path) -> JSON:
    """The error of a download whose TLS connection failed."""
    end = fetch(launch(env={"SSL_CERT_FILE": str(nginx.authority)}), url, work / "f", retry=QUICK_RETRY)
    assert end["state"] == "failed"
    error: JSON = end["error"]
    assert (error["kind"], error["retryable"]) == ("tls", False), error
    assert "localhost:" in error["message"]
    return error


@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3], ids=["1.2", "1.3"])
def test_a_client_certificate_that_is_asked_for_has_one_kind(
    launch: Launcher, nginx: Nginx, work: Path, version: ssl.TLSVersion
) -> None:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = context.maximum_version = version
    context.verify_mode = ssl.CERT_REQUIRED
    context.load_verify_locations(nginx.authority)
    with asking_server(nginx, context) as (url, connections):
        refused(launch, nginx, url, work)
        assert len(connections) == 1


@pytest.mark.parametrize("alert", [40, 42, 44, 45, 46, 48, 49, 80, 116])
def test_every_alert_of_the_server_is_its_refusal(
    launch: Launcher, nginx: Nginx, work: Path, alert: int
) -> None:
    """Also alerts about certificates: they are about the client's certificate, not the server's own."""
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def serve() -> None:
            connection, _ = listener.accept()
            with connection, suppress(OSError):
                connection.recv(65_536)
                connection.sendall(bytes([21, 3, 3, 0, 2, 2, alert]))
                connection.shutdown(socket.SHUT_WR)
                connection.settimeout(5)
                while connection.recv(65_536):
                    pass

        threading.Thread(target=serve, daemon=True).start()
        error = refused(launch, nginx, f"https://localhost:{listener.getsockname()[1]}/f", work)
        assert alert != 45 or "expired" in error["message"]


AUTHORITY = """[ca]
default_ca = own
[own]
database = index
serial = serial
new_certs_dir = .
default_md = sha256
policy = any
x509_extensions = names
[any]
commonName = supplied
[names]
basicConstraints = critical, CA:TRUE
subjectAltName = DNS:localhost
"""


def test_an_expired_certificate_of_the_server_is_our_own_finding(
    launch: Launcher, nginx: Nginx, work: Path, tmp_path: Path
) -> None:
    certificate = tmp_path / "own.pem"
    for name, text in [("ca", AUTHORITY), ("index", ""), ("serial", "01\n")]:
        (tmp_path / name).write_text(text)
    request = "req -new -newkey rsa:2048 -nodes -subj /CN=localhost -keyout own.key -out request"
    sign = "ca -config ca -batch -selfsign -notext -keyfile own.key -in request -out own.pem"
    for command in (request, f"{sign} -startdate 20200101000000Z -enddate 20200102000000Z"):
        subprocess.run(["openssl", *command.split()], cwd=tmp_path, check=True, capture_output=True)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    with asking_server(nginx, context, certificate) as (url, connections):
        end = fetch(launch(env={"SSL_CERT_FILE": str(certificate)}), url, work / "f", retry=QUICK_RETRY)
        assert (end["error"]["kind"], end["error"]["retryable"]) == ("tlsCertificate", False), end["error"]
        assert "expired" in end["error"]["message"]
        assert len(connections) == 1


def test_no_common_version_is_a_refusal(launch: Launcher, nginx: Nginx, work: Path) -> None:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.set_ciphers("ALL:@SECLEVEL=0")
    with pytest.warns(DeprecationWarning, match="TLS"):
        context.maximum_version = ssl.TLSVersion.TLSv1_1
    with asking_server(nginx, context) as (url, connections):
        refused(launch, nginx, url, work)
        assert len(connections) == 1


def test_a_name_that_is_not_served_is_a_refusal(launch: Launcher, nginx: Nginx, work: Path) -> None:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.sni_callback = lambda *_: ssl.ALERT_DESCRIPTION_UNRECOGNIZED_NAME
    with asking_server(nginx, context) as (url, connections):
        refused(launch, nginx, url, work)
        assert len(connections) == 1


@pytest.mark.parametrize(
    "greeting", ["HTTP", b"SSH-2.0-OpenSSH_9.2\r\n", b"220 mail.example ESMTP\r\n"], ids=str
)
def test_no_tls_under_an_https_url_is_a_refusal(
    launch: Launcher, nginx: Nginx, work: Path, greeting: str | bytes
) -> None:
    if isinstance(greeting, str):
        refused(launch, nginx, f"https://localhost:{nginx.http_port}/small", work)
        return
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def serve() -> None:
            connection, _ = listener.accept()
            with connection:
                connection.sendall(greeting)
                connection.settimeout(5)
                with suppress(OSError):
                    while connection.recv(65_536):
                        pass

        threading.Thread(target=serve, daemon=True).start()
        refused(launch, nginx, f"https://localhost:{listener.getsockname()[1]}/f", work)


def test_a_connection_that_breaks_in_the_handshake_is_tried_again(
    launch: Launcher, nginx: Nginx, work: Path
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def serve() -> None:
            for _ in range(3):
                connection, _ = listener.accept()
                with connection:
                    connection.recv(100)

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        retry = {**QUICK_RETRY, "maxAttempts": 2}
        end = fetch(launch(), f"https://localhost:{listener.getsockname()[1]}/f", work / "f", retry=retry)
        thread.join(10)
        assert not thread.is_alive()
    assert (end["error"]["kind"], end["error"]["retryable"]) == ("tls", True)


# Certificate authorities of another system


@pytest.mark.parametrize("path", ["/etc/ssl/ca-bundle.pem", "/etc/ssl/cert.pem"])
def test_the_authorities_are_found_where_the_system_has_them(
    launch: Launcher, nginx: Nginx, small: str, work: Path, path: str
) -> None:
    """As for a libcurl built on another distribution, whose default path does not exist here."""
    script = 'mount -t tmpfs none /etc/ssl && cp "$0" "$1" && shift && exec "$@"'
    prefix = ["unshare", "--mount", "--", "sh", "-c", script, str(nginx.authority), path]
    if subprocess.run([*prefix, "true"], capture_output=True).returncode != 0:
        pytest.skip("needs root and a mount namespace")
    end = fetch(launch(prefix=prefix), small, work / "f", retry=NO_RETRY)
    assert end["state"] == "completed", end
