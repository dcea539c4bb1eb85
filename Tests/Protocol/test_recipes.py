"""The conversations of protocol/recipes.md are what the service does."""

from __future__ import annotations

import base64
import json
import sqlite3
import threading
from collections.abc import Iterator

import pytest
from fixtures import Launcher
from recipes import PAGE, Stage
from scripted_server import Behaviour, ScriptedServer, content

DATA = content(1, 4 << 20)
HELD = 1 << 20
SECRETS = ("pass", "better", "k-123", "k-456", base64.b64encode(b"me:better").decode())


@pytest.fixture
def gate() -> Iterator[threading.Event]:
    made = threading.Event()
    yield made
    made.set()


@pytest.fixture
def stage(launch: Launcher, server: ScriptedServer, gate: threading.Event) -> Stage:
    server.add("/disk.img", DATA, default=Behaviour(hold_after=HELD, gate=gate))
    return Stage(launch, server)


def basic(text: str) -> str:
    return "Basic " + base64.b64encode(text.encode()).decode()


def stored(stage: Stage) -> list[str]:
    """The headers that the database has."""
    path = stage.launch.home / "credentials" / "towline.db"
    assert path.stat().st_mode & 0o077 == 0
    with sqlite3.connect(path) as database:
        return [row[0] for row in database.execute("SELECT headers FROM download")]


def test_credentials_are_sent_and_stored_but_not_shown(stage: Stage, server: ScriptedServer) -> None:
    resource = server.add("/report.pdf", b"%PDF", default=Behaviour(status=401))
    stage.play("credentials")
    (kept,) = stored(stage)
    assert "k-123" in kept
    assert "me:pass" in kept
    resource.default = Behaviour()
    stage.play("new-password")
    sent = [(r.headers["authorization"], r.headers["x-api-key"]) for r in server.requests("/report.pdf")]
    assert sent == [(basic("me:pass@word"), "k-123"), (basic("me:better"), "k-456")]
    assert stored(stage) == []
    process = stage.session("credentials").process
    process.finish()
    shown = json.dumps(process.messages) + process.stderr
    assert [secret for secret in SECRETS if secret in shown] == []


def test_an_expired_link_is_replaced(stage: Stage, server: ScriptedServer, gate: threading.Event) -> None:
    url = server.url("/disk.img")
    stage.start("expired", f"{url}?token=old")
    process = stage.session("expired").process
    process.call("pause", id="disk")
    server.resources["/disk.img"].default = Behaviour(status=403)
    gate.set()
    process.call("resume", id="disk")
    stage.play("expired")
    before = len(server.requests())
    server.resources["/disk.img"].default = Behaviour()
    stage.play("new-link")
    assert [r.target for r in server.requests()[before:]] == ["/disk.img?token=new"]
    assert (stage.launch.work / "disk.img").read_bytes() == DATA
    again = {"id": "disk", "path": "disk.img"}
    assert process.error("start", url=f"{url}?token=old", **again).code == 1004
    assert process.call("start", url=f"{url}?token=new", **again)["created"] is False


def test_a_download_moves(stage: Stage, server: ScriptedServer, gate: threading.Event) -> None:
    stage.start("from", server.url("/disk.img") + "?token=1", headers={"X-Api-Key": "k-123"})
    stage.play("export")
    (text,) = [value for (member, _), value in stage.names.items() if member == "resumeData"]
    assert "k-123" not in text
    assert "token=1" not in text
    other = stage.session("to").process
    assert other.error("start", id="moved", resumeData=text).data["path"] == "params.url"
    stage.play("import")
    stage.play("forget")
    gate.set()
    stage.play("moved")
    assert [path.name for path in stage.launch.work.iterdir()] == ["disk.img"]
    assert (stage.launch.work / "disk.img").read_bytes() == DATA
    assert server.requests("/disk.img")[1].range_start > 0
    assert "x-api-key" not in server.requests("/disk.img")[1].headers


def test_the_page_lists_its_recipes() -> None:
    text = PAGE.read_text()
    titles = [line[3:] for line in text.splitlines() if line.startswith("## ")]
    links = [f"[{title}](#{title.lower().replace(' ', '-').replace(',', '')})" for title in titles]
    assert ", ".join(links) in " ".join(text.split())
