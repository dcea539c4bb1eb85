"""The environment of the service: folders, and a server with the files of a scenario."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from pathlib import Path

from scripted_server import Behaviour, ScriptedServer
from towline_client import JSON

from power_loss.plans import Item

#: The same in recordings and checks, because the state contains URLs.
PORT = 8040


class Folders:
    """Where the service has its state and puts its files, on the volumes mounted at `points`."""

    def __init__(self, points: Sequence[Path]) -> None:
        self.state = points[0] / "state"
        self.downloads = points[-1] / "downloads"


def serve(server: ScriptedServer, items: Sequence[Item], is_scripted: bool) -> dict[str, threading.Event]:
    """Serves the items, as the scenario says or each at once. Setting an event releases a held body."""
    gates = {}
    for item in items:
        resource = server.add(f"/{item.id}", item.data)
        server.add(f"/moved/{item.id}", item.data)
        resource.default = Behaviour(chunked=item.is_chunked)
        if not is_scripted:
            continue
        resource.default = Behaviour(chunked=item.is_chunked, rate=item.rate)
        if item.held_after is not None:
            gate = gates[item.id] = threading.Event()
            held = Behaviour(hold_after=item.held_after, gate=gate)
            resource.then(held)
            if item.stays_held:
                resource.default = held
    return gates


def start_params(item: Item, url: str, folders: Folders) -> JSON:
    return {"id": item.id, "url": url, "path": str(folders.downloads / item.file), **item.params}
