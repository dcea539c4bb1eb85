"""What README.md says of curl, wget and aria2 is what they do, on the same server as the service."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import urllib.request
from pathlib import Path
from typing import Any

import pytest
from nginx_server import free_port
from scripted_server import Behaviour, ScriptedServer, content
from support import MIB, poll

TOP = Path(__file__).resolve().parents[2]
SIZE = 4 * MIB
OLD, NEW = content(1, SIZE), content(2, SIZE)
COMMANDS = {
    "curl": ["curl", "-sS", "-C", "-", "-o", "a.bin"],
    "wget": ["wget", "-q", "-c", "--tries=1", "-O", "a.bin"],
    "aria2c": ["aria2c", "-q", "--no-conf", "-c", "--max-tries=1", "-o", "a.bin"],
    "towline-get": [str(TOP / "clients/shell/towline-get"), "-q", "-o", "a.bin"],
}


@pytest.fixture(params=COMMANDS)
def name(request: pytest.FixtureRequest) -> str:
    if shutil.which(COMMANDS[request.param][0]) is None:
        pytest.skip(f"{request.param} is not installed")
    return str(request.param)


def environment(home: Path, binary: Path) -> dict[str, str]:
    kept = {key: value for key, value in os.environ.items() if "proxy" not in key.lower()}
    return {**kept, "HOME": str(home), "TOWLINE": str(binary)}


def test_the_file_changed_between_two_runs(
    name: str, tmp_path: Path, server: ScriptedServer, binary: Path
) -> None:
    """The server offers ETag and Last-Modified, and heeds If-Range."""
    times = ["Mon, 05 Jan 2026 10:00:00 GMT", "Tue, 06 Jan 2026 10:00:00 GMT"]
    server.add("/a.bin", OLD, last_modified=times[0], default=Behaviour(hold_after=SIZE // 2))
    command = [*COMMANDS[name], server.url("/a.bin")]
    first = subprocess.Popen(command, cwd=tmp_path, env=environment(tmp_path, binary))
    server.wait(lambda: server.body_sent("/a.bin") >= SIZE // 2)
    poll(lambda: sum(f.stat().st_blocks for f in tmp_path.glob("a.bin*")) * 512 > MIB, what="a part on disk")
    # Under the final name, or not.
    assert (tmp_path / "a.bin").exists() == (name != "towline-get")
    first.terminate()
    first.wait(20)
    server.add("/a.bin", NEW, etag='"v2"', last_modified=times[1])
    second = subprocess.run(command, cwd=tmp_path, env=environment(tmp_path, binary), timeout=30)
    assert second.returncode == 0
    file = (tmp_path / "a.bin").read_bytes()
    if name == "towline-get":
        assert file == NEW
    else:
        assert len(file) == SIZE
        assert file not in (OLD, NEW)
        assert file[: MIB // 2] == OLD[: MIB // 2]
        assert file[-MIB:] == NEW[-MIB:]


class Aria2:
    """aria2 with its RPC, and the options that README.md names."""

    def __init__(self, folder: Path, *options: str) -> None:
        self.port = free_port()
        self.process = subprocess.Popen(
            ["aria2c", "--no-conf", "-q", "--enable-rpc", f"--rpc-listen-port={self.port}", *options],
            cwd=folder,
        )
        poll(lambda: self.version() or None, what="an answer of aria2")

    def version(self) -> str:
        try:
            return str(self.call("getVersion")["version"])
        except OSError:
            return ""

    def call(self, method: str, *params: Any) -> Any:
        body = {"jsonrpc": "2.0", "id": 1, "method": f"aria2.{method}", "params": params}
        request = urllib.request.Request(
            f"http://127.0.0.1:{self.port}/jsonrpc", json.dumps(body).encode(), {"Content-Type": "text/json"}
        )
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        with opener.open(request, timeout=10) as answer:
            return json.load(answer)["result"]

    def kill(self) -> None:
        self.process.kill()
        self.process.wait(10)


@pytest.mark.skipif(shutil.which("aria2c") is None, reason="aria2c is not installed")
def test_aria2_forgets_its_queue_when_it_is_killed(tmp_path: Path, server: ScriptedServer) -> None:
    """With a session file, and with its default interval of saving."""
    server.add("/a.bin", OLD, default=Behaviour(hold_after=MIB))
    session = tmp_path / "session"
    session.touch()
    options = (f"--save-session={session}", f"--input-file={session}")
    first = Aria2(tmp_path, *options)
    first.call("addUri", [server.url("/a.bin")])
    server.wait_requests("/a.bin", 1)
    first.kill()
    second = Aria2(tmp_path, *options)
    try:
        known = [
            second.call("tellActive"),
            second.call("tellWaiting", 0, 10),
            second.call("tellStopped", 0, 10),
        ]
        assert known == [[], [], []]
    finally:
        second.kill()
