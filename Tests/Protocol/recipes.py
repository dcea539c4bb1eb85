"""Reads protocol/recipes.md: its conversations are compared exactly, its programs are saved and run."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from conversation import ORIGIN, Conversation
from examples import JSON, PROTOCOL, Block, blocks, differences
from fixtures import Launcher
from scripted_server import ScriptedServer

PAGE = PROTOCOL / "recipes.md"
#: the working directory in the conversations
FOLDER = "/home/me"
#: members whose values differ in every run: the page shows one of them, the same wherever it is the same
VARYING = {"session", "revision", "resumeData", "nextCursor"}

#: params that take such a value from an answer, and the member there
PASSED = {"resumeData": "resumeData", "changedSince": "revision", "cursor": "nextCursor"}


def address(url: str) -> str:
    return url.partition("://")[2].strip("/")


def named(name: str) -> Block:
    (found,) = [block for block in blocks(PAGE) if block.name == name]
    return found


class Recipe(Conversation):
    """A conversation of which every value that the page shows must be right."""

    def __init__(self, launch: Launcher, names: dict[tuple[str, Any], Any], **options: Any) -> None:
        super().__init__(launch(**options))
        # The page uses the lower ids.
        self.process._next_id = 1_000
        #: the real value of each varying one that the page shows
        self.names = names

    def send(self, message: JSON) -> None:
        params = message.get("params", {})
        for member, source in PASSED.items():
            key = (source, params.get(member))
            if key in self.names:
                params[member] = self.names[key]
        super().send(message)

    def differences(self, shown: JSON, real: JSON) -> list[str]:
        return differences(self.bind(shown, real), real, exact=True)

    def bind(self, shown: Any, real: Any) -> Any:
        """The shown message with the varying values that this run has."""
        if isinstance(shown, dict) and isinstance(real, dict):
            return {key: self.bind_member(key, value, real.get(key)) for key, value in shown.items()}
        if isinstance(shown, list) and isinstance(real, list) and len(shown) == len(real):
            return [self.bind(one, other) for one, other in zip(shown, real)]
        return shown

    def bind_member(self, key: str, shown: Any, real: Any) -> Any:
        if key in VARYING and shown is not None and type(shown) is type(real):
            taken = any(name[0] == key and value == real for name, value in self.names.items())
            # Two values on the page are two values here.
            return (
                shown
                if taken and (key, shown) not in self.names
                else self.names.setdefault((key, shown), real)
            )
        if key == "message":
            # For people, and free to change.
            return real
        return self.bind(shown, real)


class Stage:
    """The sessions of one recipe, each with its own state directory, in one working directory."""

    def __init__(self, launch: Launcher, server: ScriptedServer) -> None:
        self.launch = launch
        self.server = server
        self.names: dict[tuple[str, Any], Any] = {}
        self.sessions: dict[str, Recipe] = {}

    def session(self, name: str) -> Recipe:
        if name not in self.sessions:
            state = self.launch.home / name.partition(".")[0]
            self.sessions[name] = Recipe(self.launch, self.names, state=state)
        return self.sessions[name]

    def play(self, name: str) -> None:
        """Plays the block with this name."""
        block = named(name)
        text = block.text.replace(FOLDER, str(self.launch.work)).replace(
            address(ORIGIN), address(self.server.url())
        )
        here = Block(block.language, block.marks, text)
        try:
            self.session(block.marks["session"]).play(here, self.server.url())
        except AssertionError as error:
            raise AssertionError(f"recipe {name}: {error}") from error

    def start(self, session: str, url: str, **params: Any) -> None:
        """What the text takes for granted: a download that has received its first bytes."""
        process = self.session(session).process
        process.call("start", id="disk", url=url, path="disk.img", **params)
        process.wait_received("disk", 1 << 20)


def load(name: str) -> dict[str, Any]:
    """The names that a program of the page defines."""
    found: dict[str, Any] = {"__name__": name}
    exec(compile(named(name).text, f"{PAGE.name}: {name}", "exec"), found)
    return found


def program(name: str, folder: Path) -> Path:
    """Saves a program of the page."""
    path = folder / f"{name}.py"
    path.write_text(named(name).text)
    return path
