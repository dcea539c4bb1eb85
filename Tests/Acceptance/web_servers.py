"""Real web servers on loopback, configured as their packages do: Apache, Caddy, lighttpd and nginx."""

from __future__ import annotations

import contextlib
import os
import socket
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from nginx_server import find_program, free_port

Command = list[str]


def nginx(prefix: Path, root: Path, port: int) -> Command:
    user = "user root;" if os.geteuid() == 0 else ""
    places = " ".join(
        f"{name}_temp_path {prefix}/{name};" for name in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    )
    (prefix / "nginx.conf").write_text(
        f"daemon off; {user} pid {prefix}/pid; events {{ }} "
        f"http {{ {places} access_log off; server {{ listen 127.0.0.1:{port}; root {root}; }} }}"
    )
    return ["nginx", "-p", str(prefix), "-e", str(prefix / "error.log"), "-c", str(prefix / "nginx.conf")]


def apache2(prefix: Path, root: Path, port: int) -> Command:
    modules = "/usr/lib/apache2/modules"
    # The ETag is made from size and time, the default since 2.4.
    (prefix / "httpd.conf").write_text(
        f"ServerRoot {prefix}\nServerName localhost\nListen 127.0.0.1:{port}\nPidFile {prefix}/pid\n"
        f"ErrorLog {prefix}/error.log\nDocumentRoot {root}\nMutex file:{prefix} default\n"
        f"LoadModule mpm_event_module {modules}/mod_mpm_event.so\n"
        f"LoadModule authz_core_module {modules}/mod_authz_core.so\n"
        f"<Directory {root}>\nRequire all granted\n</Directory>\n"
        + ("User www-data\nGroup www-data\n" if os.geteuid() == 0 else "")
    )
    return ["apache2", "-D", "FOREGROUND", "-f", str(prefix / "httpd.conf")]


def lighttpd(prefix: Path, root: Path, port: int) -> Command:
    (prefix / "lighttpd.conf").write_text(
        f'server.document-root = "{root}"\nserver.bind = "127.0.0.1"\nserver.port = {port}\n'
        f'server.errorlog = "{prefix}/error.log"\nserver.upload-dirs = ( "{prefix}" )\n'
        'mimetype.assign = ( "" => "application/octet-stream" )\n'
    )
    return ["lighttpd", "-D", "-f", str(prefix / "lighttpd.conf")]


def caddy(prefix: Path, root: Path, port: int) -> Command:
    (prefix / "Caddyfile").write_text(
        f"{{\n admin off\n auto_https off\n storage file_system {prefix}\n}}\n"
        f"http://127.0.0.1:{port} {{\n root * {root}\n file_server\n}}\n"
    )
    return ["caddy", "run", "--adapter", "caddyfile", "--config", str(prefix / "Caddyfile")]


SERVERS: dict[str, Callable[[Path, Path, int], Command]] = {
    "nginx": nginx,
    "apache2": apache2,
    "lighttpd": lighttpd,
    "caddy": caddy,
}


@contextlib.contextmanager
def serving(name: str, prefix: Path) -> Iterator[tuple[Path, str]]:
    """Runs a server; once it answers, yields the folder that it serves and its URL."""
    root, port = prefix / "root", free_port()
    root.mkdir(parents=True)
    # Some servers run their workers as another user.
    for folder in (root, *root.parents):
        if folder.stat().st_uid == os.geteuid() and folder != Path("/"):
            folder.chmod(folder.stat().st_mode | 0o011)
    program, *arguments = SERVERS[name](prefix, root, port)
    path = find_program(program)
    assert path is not None
    log = prefix / "output.log"
    with log.open("wb") as output:
        process = subprocess.Popen(
            [path, *arguments],
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            env={
                **os.environ,
                "HOME": str(prefix),
                "XDG_CONFIG_HOME": str(prefix),
                "XDG_DATA_HOME": str(prefix),
            },
        )
    try:
        deadline = time.monotonic() + 20
        while True:
            try:
                socket.create_connection(("127.0.0.1", port), 1).close()
                break
            except OSError:
                if process.poll() is not None or time.monotonic() > deadline:
                    raise RuntimeError(log.read_text(errors="replace")) from None
                time.sleep(0.02)
        yield root, f"http://127.0.0.1:{port}"
    finally:
        process.terminate()
        process.wait(20)


class Relay:
    """Forwards connections to a server, and holds its answers after some bytes until `release`."""

    def __init__(self, base: str, hold_after: int) -> None:
        self._port = int(base.rsplit(":", 1)[1])
        self._hold_after = hold_after
        self._gate = threading.Event()
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.base = f"http://127.0.0.1:{self._listener.getsockname()[1]}"
        threading.Thread(target=self._accept, daemon=True).start()

    def release(self) -> None:
        self._gate.set()

    def close(self) -> None:
        self._gate.set()
        self._listener.close()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                server = socket.create_connection(("127.0.0.1", self._port))
                threading.Thread(target=self._pass, args=(client, server, None), daemon=True).start()
                threading.Thread(
                    target=self._pass, args=(server, client, self._hold_after), daemon=True
                ).start()

    def _pass(self, source: socket.socket, sink: socket.socket, limit: int | None) -> None:
        passed = 0
        with contextlib.suppress(OSError):
            while piece := source.recv(65_536):
                passed += len(piece)
                if limit is not None and passed > limit:
                    self._gate.wait(30)
                sink.sendall(piece)
        for end in (source, sink):
            with contextlib.suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
