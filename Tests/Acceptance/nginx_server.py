"""nginx on loopback, over http and https, with its own certificate authority."""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path

CONFIGURATION = """
daemon off;
worker_processes 1;
{user}
pid {prefix}/nginx.pid;
error_log {prefix}/error.log warn;
events {{ worker_connections 1024; }}
http {{
    client_body_temp_path {prefix}/body;
    proxy_temp_path {prefix}/proxy;
    fastcgi_temp_path {prefix}/fastcgi;
    uwsgi_temp_path {prefix}/uwsgi;
    scgi_temp_path {prefix}/scgi;
    default_type application/octet-stream;
    sendfile on;
    keepalive_requests 100000;
    log_format sent escape=json '{{"uri":"$uri","range":"$http_range","ifRange":"$http_if_range",'
        '"status":$status,"sent":$body_bytes_sent}}';
    access_log {prefix}/access.log sent;
    root {root};
    server {{
        listen 127.0.0.1:{http_port};
        location /limited/ {{ alias {root}/; limit_rate 4m; }}
    }}
    server {{
        listen 127.0.0.1:{https_port} ssl;
        ssl_certificate {prefix}/server.pem;
        ssl_certificate_key {prefix}/server.key;
        location = /downgrade {{ return 302 http://127.0.0.1:{http_port}/small.bin; }}
    }}
}}
"""


@dataclass
class Nginx:
    """A running nginx. It serves files in `root` at once."""

    prefix: Path
    root: Path
    http_port: int
    https_port: int
    process: subprocess.Popen[bytes]

    @property
    def http(self) -> str:
        return f"http://127.0.0.1:{self.http_port}"

    @property
    def https(self) -> str:
        return f"https://localhost:{self.https_port}"

    @property
    def authority(self) -> Path:
        """The certificate that a client must trust."""
        return self.prefix / "authority.pem"

    def log(self, uri: str | None = None) -> list[dict[str, object]]:
        text = (self.prefix / "access.log").read_text()
        return [e for e in map(json.loads, text.splitlines()) if uri in (None, e["uri"])]

    def close(self) -> None:
        self.process.terminate()
        self.process.wait(10)


def missing_programs() -> list[str]:
    return [name for name in ("nginx", "openssl") if find_program(name) is None]


def find_program(name: str) -> str | None:
    return shutil.which(name) or shutil.which(name, path="/usr/sbin:/usr/local/sbin:/sbin")


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return int(listener.getsockname()[1])


def make_certificates(prefix: Path) -> None:
    """Makes an authority and a certificate that it signed for localhost and 127.0.0.1."""

    def openssl(*args: str) -> None:
        subprocess.run(["openssl", *args], check=True, capture_output=True, cwd=prefix)

    extensions = "basicConstraints=critical,CA:TRUE"
    key = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes")
    openssl(
        *("req", "-x509", *key, "-days", "30", "-subj", "/CN=Test authority", "-addext", extensions),
        *("-keyout", "authority.key", "-out", "authority.pem"),
    )
    openssl("req", "-new", *key, "-subj", "/CN=localhost", "-keyout", "server.key", "-out", "server.csr")
    (prefix / "names.cnf").write_text("subjectAltName=DNS:localhost,IP:127.0.0.1\n")
    openssl(
        *("x509", "-req", "-in", "server.csr", "-CA", "authority.pem", "-CAkey", "authority.key"),
        *("-CAcreateserial", "-days", "30", "-extfile", "names.cnf", "-out", "server.pem"),
    )


def start_nginx(prefix: Path) -> Nginx:
    """Starts nginx with all its files under `prefix`; returns once it answers."""
    root = prefix / "root"
    root.mkdir(parents=True)
    make_certificates(prefix)
    http_port, https_port = free_port(), free_port()
    configuration = prefix / "nginx.conf"
    configuration.write_text(
        CONFIGURATION.format(
            prefix=prefix,
            root=root,
            http_port=http_port,
            https_port=https_port,
            user="user root;" if os.geteuid() == 0 else "",
        )
    )
    program = find_program("nginx")
    assert program is not None
    process = subprocess.Popen(
        [program, "-p", str(prefix), "-e", str(prefix / "error.log"), "-c", str(configuration)],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    deadline = time.monotonic() + 10
    while True:
        try:
            socket.create_connection(("127.0.0.1", https_port), 1).close()
            return Nginx(prefix, root, http_port, https_port, process)
        except OSError:
            if process.poll() is not None or time.monotonic() > deadline:
                raise RuntimeError((prefix / "error.log").read_text()) from None
            time.sleep(0.02)
