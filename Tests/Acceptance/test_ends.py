"""All kinds of signals, and hosts that die at an awkward moment."""

from __future__ import annotations

import shutil
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from fixtures import Launcher
from scripted_server import ScriptedServer
from support import Held
from towline_client import Towline

PROMPT = 3.0
#: These end a program by default and do not report a crash (SIGTERM, SIGINT and SIGHUP: test_life.py).
SIGNALS = ("QUIT", "USR1", "USR2", "ALRM", "VTALRM", "PROF", "XCPU", "IO", "PWR", "RTMIN", "RTMAX")


@pytest.mark.parametrize("name", SIGNALS)
def test_every_signal_that_asks_for_an_end_keeps_the_bytes(
    launch: Launcher, server: ScriptedServer, work: Path, name: str
) -> None:
    which = signal.Signals[f"SIG{name}"]
    held = Held(server)
    process = launch()
    download_id = held.started(process, work / "f")["id"]
    waiting = process.send("wait", {"id": download_id})
    process.call("ping")  # now it has read the wait
    process.signal(which)
    assert process.wait_exit(PROMPT) == 128 + which
    assert process.response(waiting)["error"]["data"]["kind"] == "shuttingDown"
    known = launch().call("get", id=download_id)["download"]
    assert (known["state"], known["reason"], known["receivedBytes"]) == ("paused", "interrupted", held.after)


@pytest.mark.parametrize("which", [signal.SIGQUIT, signal.SIGUSR1, signal.SIGALRM])
def test_a_signal_that_was_ignored_at_the_start_stays_so(launch: Launcher, which: signal.Signals) -> None:
    process = launch(ignore=[which])
    process.call("ping")
    process.signal(which)
    assert process.call("ping") == {}
    process.close_stdin()
    assert process.wait_exit() == 0


# A host dies right after its first answer, and the kernel is slow to answer the call that watches it.

SLOW_LOOK = ("-e", "trace=pidfd_open", "-e", "inject=pidfd_open:delay_enter=300000")


@pytest.mark.parametrize("how", ["argument", "initialize", "initialize options"])
@pytest.mark.skipif(shutil.which("strace") is None, reason="needs strace")
def test_a_host_that_dies_right_after_its_first_answer_is_noticed(launch: Launcher, how: str) -> None:
    with subprocess.Popen(["sleep", "60"]) as stand_in:
        args = [f"--clientProcessId={stand_in.pid}"] if how == "argument" else []
        process = launch(*args, prefix=["strace", "-f", "-qq", "-o", "/dev/null", *SLOW_LOOK])
        first: dict[str, Callable[[Towline], object]] = {
            "argument": lambda host: host.call("ping"),
            "initialize": lambda host: host.call("initialize", processId=stand_in.pid),
            "initialize options": lambda host: host.call(
                "initialize", initializationOptions={"processId": stand_in.pid}
            ),
        }
        first[how](process)
        stand_in.kill()
        stand_in.wait()
        assert process.wait_exit(10) == 141
