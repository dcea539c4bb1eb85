"""Proxies for tests: a scripted HTTP proxy, a SOCKS 5 proxy, and tinyproxy."""

from __future__ import annotations

import contextlib
import shutil
import socket
import ssl
import subprocess
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

from nginx_server import free_port


@dataclass
class Asked:
    """One request as the proxy saw it."""

    method: str
    target: str
    headers: dict[str, str] = field(default_factory=dict)


class ScriptedProxy:
    """An HTTP proxy on 127.0.0.1. It resolves every name to this machine, so no DNS is needed."""

    def __init__(self, *, socks: bool = False, tls: ssl.SSLContext | None = None) -> None:
        self._tls = tls
        self.log: list[Asked] = []
        #: The status with which it refuses every request.
        self.refusal: int | None = None
        self._serve = self._serve_socks if socks else self._serve_http
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=64)
        self.port: int = self._listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def close(self) -> None:
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            threading.Thread(target=self._guarded, args=(connection,), daemon=True).start()

    def _guarded(self, connection: socket.socket) -> None:
        with connection, contextlib.suppress(OSError, ValueError, IndexError):
            if self._tls is None:
                self._serve(connection)
            else:
                with self._tls.wrap_socket(connection, server_side=True) as secured:
                    self._serve(secured)

    def _serve_http(self, connection: socket.socket) -> None:
        head = b""
        while b"\r\n\r\n" not in head:
            chunk = connection.recv(65_536)
            if not chunk:
                return
            head += chunk
        first, *lines = head.split(b"\r\n\r\n", 1)[0].decode("latin-1").split("\r\n")
        method, target, _ = first.split(" ", 2)
        headers = {n.strip().lower(): v.strip() for n, _, v in (text.partition(":") for text in lines)}
        self.log.append(Asked(method, target, headers))
        if self.refusal is not None:
            connection.sendall(b"HTTP/1.1 %d No\r\nContent-Length: 0\r\n\r\n" % self.refusal)
            return
        if method == "CONNECT":
            with socket.create_connection(("127.0.0.1", int(target.rpartition(":")[2]))) as server:
                connection.sendall(b"HTTP/1.1 200 Established\r\nX-From: proxy\r\n\r\n")
                join(connection, server)
            return
        parts = urlsplit(target)
        origin_form = target[len(f"{parts.scheme}://{parts.netloc}") :]
        kept = [text for text in lines if not text.lower().startswith(("proxy-", "connection:"))]
        forwarded = "\r\n".join([f"{method} {origin_form} HTTP/1.1", *kept, "Connection: close", "", ""])
        with socket.create_connection(("127.0.0.1", parts.port or 80)) as server:
            server.sendall(forwarded.encode("latin-1"))
            # One request per connection.
            server.shutdown(socket.SHUT_WR)
            relay(server, connection)

    def _serve_socks(self, connection: socket.socket) -> None:
        connection.recv(2 + connection.recv(2, socket.MSG_PEEK)[1])
        connection.sendall(b"\5\0")
        head = connection.recv(5)
        rest = head[4] if head[3] == 3 else 3
        name = connection.recv(rest)
        port = int.from_bytes(connection.recv(2), "big")
        self.log.append(Asked("SOCKS", name.decode() if head[3] == 3 else "address"))
        if self.refusal is not None:
            connection.sendall(b"\5\2\0\1\0\0\0\0\0\0")
            return
        with socket.create_connection(("127.0.0.1", port)) as server:
            connection.sendall(b"\5\0\0\1\0\0\0\0\0\0")
            join(connection, server)


def relay(source: socket.socket, target: socket.socket) -> None:
    """Copies until the end of input, then closes the other side."""
    with contextlib.suppress(OSError):
        while chunk := source.recv(65_536):
            target.sendall(chunk)
    with contextlib.suppress(OSError):
        target.shutdown(socket.SHUT_WR)


def join(one: socket.socket, other: socket.socket) -> None:
    back = threading.Thread(target=relay, args=(other, one), daemon=True)
    back.start()
    relay(one, other)
    back.join()


class Tinyproxy:
    """The proxy from Debian, with a user name and a password."""

    def __init__(self, program: str, folder: Path) -> None:
        self.port = free_port()
        self.log_file = folder / "tinyproxy.log"
        configuration = folder / "tinyproxy.conf"
        configuration.write_text(
            f'Port {self.port}\nListen 127.0.0.1\nTimeout 60\nLogFile "{self.log_file}"\nLogLevel Connect\n'
            "MaxClients 50\nBasicAuth user pass\n"
        )
        self.process = subprocess.Popen(
            [program, "-d", "-c", str(configuration)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        deadline = time.monotonic() + 10
        while True:
            try:
                socket.create_connection(("127.0.0.1", self.port), 1).close()
                return
            except OSError:
                if self.process.poll() is not None or time.monotonic() > deadline:
                    raise RuntimeError(self.log_file.read_text()) from None
                time.sleep(0.02)

    def close(self) -> None:
        self.process.terminate()
        self.process.wait(10)


def find_tinyproxy() -> str | None:
    return shutil.which("tinyproxy") or shutil.which("tinyproxy", path="/usr/sbin:/usr/bin")
