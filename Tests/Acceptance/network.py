"""A network of two machines in namespaces: one runs the service, the other the servers.

Needs root and iproute2. Changes nothing outside the two namespaces.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import shutil
import socket
import subprocess
import threading
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from scripted_server import ScriptedServer

T = TypeVar("T")
CLONE_NEWNET = 0x40000000
#: The servers, the service, and an address that only a default route reaches.
SERVER = "10.219.7.1"
CLIENT = "10.219.7.2"
BEYOND = "10.220.0.1"


def obstacle() -> str | None:
    """Why no network can be made here; None if it can."""
    if os.geteuid() != 0:
        return "needs root"
    if shutil.which("ip", path=f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin") is None:
        return "needs iproute2"
    name = f"towline-{os.getpid()}-try"
    try:
        ip("netns", "add", name)
        try:
            # This mounts, which fails if the root is not a mount point (a bare chroot).
            ip("netns", "exec", name, "true")
        finally:
            ip("netns", "del", name)
    except subprocess.CalledProcessError:
        return "needs the right to make network namespaces, and a root that is a mount point"
    return None


def ip(*words: str) -> str:
    path = f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin"
    env = {**os.environ, "PATH": path}
    return subprocess.run(["ip", *words], check=True, capture_output=True, env=env, text=True).stdout


class Network:
    """Two namespaces and a link between them. The service's side starts with only its loopback interface."""

    def __init__(self) -> None:
        self.name = f"towline-{os.getpid()}-c"
        self.far = f"towline-{os.getpid()}-s"
        self.servers: list[ScriptedServer] = []
        self.names: NameServer | None = None
        self.folder = Path("/etc/netns") / self.name
        for name in (self.name, self.far):
            ip("netns", "add", name)
            ip("-n", name, "link", "set", "lo", "up")
        near_end, far_end = ("tow0", "netns", self.name), ("tow0", "netns", self.far)
        ip("link", "add", *near_end, "type", "veth", "peer", "name", *far_end)
        ip("-n", self.far, "addr", "add", f"{SERVER}/24", "dev", "tow0")
        ip("-n", self.far, "addr", "add", f"{BEYOND}/32", "dev", "lo")
        ip("-n", self.far, "link", "set", "tow0", "up")

    def loopback(self, state: str) -> None:
        """Sets the loopback interface of the service's side `up` or `down`."""
        ip("-n", self.name, "link", "set", "lo", state)

    @property
    def prefix(self) -> list[str]:
        """The command prefix that runs a command on the service's side."""
        return ["ip", "netns", "exec", self.name]

    def close(self) -> None:
        for server in self.servers:
            server.close()
        if self.names is not None:
            self.names.close()
        for name in (self.name, self.far):
            with contextlib.suppress(subprocess.CalledProcessError):
                ip("netns", "del", name)
        shutil.rmtree(self.folder, ignore_errors=True)

    def up(self, *, default_route: bool = True) -> None:
        """Brings the interface of the service's side up and configures it."""
        ip("-n", self.name, "link", "set", "tow0", "up")
        ip("-n", self.name, "addr", "replace", f"{CLIENT}/24", "dev", "tow0")
        if default_route:
            ip("-n", self.name, "route", "replace", "default", "via", SERVER)

    def down(self) -> None:
        """Takes the interface down, which removes its addresses and routes."""
        ip("-n", self.name, "link", "set", "tow0", "down")
        ip("-n", self.name, "addr", "flush", "dev", "tow0")

    def pull_cable(self) -> None:
        """Takes the link down; addresses and routes stay."""
        ip("-n", self.far, "link", "set", "tow0", "down")

    def plug_cable(self) -> None:
        ip("-n", self.far, "link", "set", "tow0", "up")

    def add_address(self, address: str) -> None:
        """Adds an address on the servers' side, and forgets failed look-ups of it."""
        ip("-n", self.far, "addr", "add", f"{address}/24", "dev", "tow0")
        ip("-n", self.name, "neigh", "flush", "all")

    def add_own_address(self, address: str) -> None:
        """Adds an address on the service's side."""
        ip("-n", self.name, "addr", "add", f"{address}/24", "dev", "tow0")

    def is_quiet(self) -> bool:
        """Whether duplicate address detection has finished on both sides; it takes longer than the link."""
        return all("tentative" not in ip("-n", name, "addr") for name in (self.name, self.far))

    def route(self, *words: str) -> None:
        """Runs `ip route` on the service's side."""
        ip("-n", self.name, "route", *words)

    def rule(self, *words: str, family: str = "-4") -> None:
        """Runs `ip rule` on the service's side."""
        ip("-n", self.name, family, "rule", *words)

    def server(self, address: str = SERVER, port: int = 0, *, near: bool = False) -> ScriptedServer:
        """Starts a server on the servers' side, or with `near` on the service's side."""
        made = self._there(lambda: ScriptedServer(port, address), self.name if near else self.far)
        self.servers.append(made)
        return made

    def serve_names(self, address: str) -> None:
        """Resolves every name to this address, while the name server is reachable."""
        self.folder.mkdir(parents=True)
        (self.folder / "resolv.conf").write_text(f"nameserver {SERVER}\noptions timeout:1 attempts:1\n")
        self.names = self._there(lambda: NameServer(SERVER, address), self.far)

    @staticmethod
    def _there(make: Callable[[], T], name: str) -> T:
        """Calls `make` in a thread inside the namespace: a socket stays in the namespace of its creator."""
        made: list[T] = []

        def run() -> None:
            with open(f"/run/netns/{name}", "rb") as namespace:
                if ctypes.CDLL(None, use_errno=True).setns(namespace.fileno(), CLONE_NEWNET) != 0:
                    raise OSError(ctypes.get_errno(), "setns")
            made.append(make())

        thread = threading.Thread(target=run)
        thread.start()
        thread.join()
        return made[0]


class NameServer:
    """Answers every query for an IPv4 address with the same address, and other queries with no records."""

    def __init__(self, own: str, answer: str) -> None:
        self.answer = socket.inet_aton(answer)
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.socket.bind((own, 53))
        threading.Thread(target=self._run, daemon=True).start()

    def close(self) -> None:
        with contextlib.suppress(OSError):
            self.socket.shutdown(socket.SHUT_RDWR)
        self.socket.close()

    def _run(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                query, asker = self.socket.recvfrom(512)
                if not query:
                    return
                end = query.index(b"\0", 12) + 5
                is_address = query[end - 4 : end - 2] == b"\0\1"
                head = query[:2] + b"\x81\x80\0\1" + (b"\0\1" if is_address else b"\0\0") + b"\0\0\0\0"
                record = b"\xc0\x0c\0\1\0\1\0\0\0\0\0\4" + self.answer if is_address else b""
                self.socket.sendto(head + query[12:end] + record, asker)
