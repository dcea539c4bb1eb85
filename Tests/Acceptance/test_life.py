"""How the process starts and exits: arguments, end of input, shutdown, signals, and the exit of its host."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import time
from pathlib import Path

import pytest
from fixtures import Launcher
from scripted_server import Behaviour, ScriptedServer, content
from support import MIB, NO_RETRY, Held, fetch, finish, line, poll, quickest
from towline_client import JSON, RPCError, Towline

PROMPT = 3.0


# Arguments


def test_version_is_one_line(launch: Launcher) -> None:
    ran = launch.run("--version")
    assert ran.returncode == 0
    assert ran.stdout.count("\n") == 1
    assert ran.stdout.startswith("towline ")


def test_help_names_every_option_of_the_protocol(launch: Launcher) -> None:
    ran = launch.run("--help")
    assert ran.returncode == 0
    for option in (
        *(
            "--state-dir",
            "--app",
            "--framing",
            "--on-host-exit",
            "--resume-on-start",
            "--log-level",
            "--version",
        ),
        *("--clientProcessId", "--allow-network-state", "--print-openrpc"),
    ):
        assert option in ran.stdout, option


@pytest.mark.parametrize(
    "args",
    [["--nope"], ["--state-dir"], ["--framing", "xml"], ["--log-level", "loud"], ["--on-host-exit", "dance"]],
    ids=" ".join,
)
def test_usage_errors_end_with_64_and_name_the_argument(launch: Launcher, args: list[str]) -> None:
    ran = launch.run(*args)
    assert ran.returncode == 64
    assert args[0] in ran.stderr
    assert ran.stdout == ""


def test_stdio_is_accepted_without_effect(launch: Launcher) -> None:
    assert launch("--stdio").call("ping") == {}


def test_a_terminal_and_no_arguments_give_a_short_help(launch: Launcher) -> None:
    primary, secondary = os.openpty()
    ran = subprocess.run([str(launch.binary)], stdin=secondary, capture_output=True, text=True, timeout=10)
    os.close(primary)
    os.close(secondary)
    assert ran.returncode == 64
    assert "--help" in ran.stdout + ran.stderr


def test_app_names_keep_downloads_apart(launch: Launcher) -> None:
    for name in ("one", "two"):
        process, _ = launch.pipe(
            line("start", 1, url="http://127.0.0.1:1/f", path=name, id=name, startPaused=True),
            line("list", 2),
            args=["--app", name],
            state=None,
        )
        assert [d["id"] for d in process.response(2)["result"]["downloads"]] == [name]
    assert (launch.home / ".local/state/towline/one/towline.db").exists()


def test_xdg_state_home_is_honoured(launch: Launcher, tmp_path: Path) -> None:
    launch.pipe(line("list", 1), state=None, env={"XDG_STATE_HOME": str(tmp_path / "xdg")})
    assert (tmp_path / "xdg/towline/default/towline.db").exists()


def test_the_state_directory_is_closed_to_others(launch: Launcher) -> None:
    launch.pipe(line("start", 1, url="http://127.0.0.1:1/f", path="f", startPaused=True))
    assert launch.state.stat().st_mode & 0o777 == 0o700
    for path in launch.state.rglob("*"):
        assert path.stat().st_mode & 0o077 == 0, path


# The state directory


@pytest.mark.parametrize("kind", ["a file", "below a file", "a dangling link"])
def test_a_state_directory_that_cannot_be_used_ends_with_73(
    launch: Launcher, tmp_path: Path, kind: str
) -> None:
    (tmp_path / "file").write_text("x")
    (tmp_path / "link").symlink_to(tmp_path / "nowhere" / "at all")
    paths = {"a file": "file", "below a file": "file/state", "a dangling link": "link"}
    process, status = launch.pipe(line("list", 1), state=tmp_path / paths[kind])
    assert status == 73
    assert paths[kind] in process.stderr


def test_a_schema_from_the_future_is_not_touched(launch: Launcher) -> None:
    launch.pipe(line("list", 1))
    database = launch.state / "towline.db"
    with sqlite3.connect(database) as connection:
        now = connection.execute("PRAGMA user_version").fetchone()[0]
        connection.execute("PRAGMA user_version = 9999")
    connection.close()
    before = database.read_bytes()
    process, status = launch.pipe(line("list", 1))
    assert status == 73
    assert "9999" in process.stderr
    assert str(now) in process.stderr
    assert database.read_bytes() == before


def test_a_damaged_database_is_set_aside_or_refused(launch: Launcher) -> None:
    launch.pipe(line("list", 1))
    database = launch.state / "towline.db"
    for extra in launch.state.glob("towline.db-*"):
        extra.unlink()
    database.write_bytes(b"this is no database" * 1000)
    process, status = launch.pipe(line("list", 1))
    assert status in (0, 73)
    assert process.stderr != ""


# End of input


def test_no_input_at_all_ends_with_0(launch: Launcher) -> None:
    process, status = launch.pipe()
    assert (status, process.stdout_bytes) == (0, b"")


def test_a_pipeline_goes_on_until_its_downloads_have_ended(
    launch: Launcher, server: ScriptedServer, work: Path
) -> None:
    data = content(1, 2 * MIB)
    server.add("/f", data, default=Behaviour(rate=4 * MIB))
    process, status = launch.pipe(line("start", 1, url=server.url("/f"), path="f"), line("wait", 2, all=True))
    assert status == 0
    assert (work / "f").read_bytes() == data
    assert process.response(2)["result"]["timedOut"] is False


def test_a_pipeline_with_a_failed_download_ends_with_1(launch: Launcher, server: ScriptedServer) -> None:
    _, status = launch.pipe(line("start", 1, url=server.url("/missing"), path="f", retry=NO_RETRY))
    assert status == 1


@pytest.mark.parametrize("bad", ["nonsense", line("nope", 1), line("get", 1, id="nobody")])
def test_a_pipeline_with_an_error_ends_with_1(launch: Launcher, bad: str) -> None:
    _, status = launch.pipe(line("ping", 2), bad)
    assert status == 1


def test_a_pipeline_writes_every_answer_before_it_ends(launch: Launcher) -> None:
    process = launch(read_at_once=False)
    process.raw("".join(line("info", n) + "\n" for n in range(400)))
    process.close_stdin()
    time.sleep(0.3)  # now the pipe is full and the process has seen the end of input
    process.start_reading()
    assert process.wait_exit() == 0
    assert [m["id"] for m in process.messages] == list(range(400))


def test_a_pipeline_does_not_wait_for_what_is_paused(launch: Launcher) -> None:
    process, status = launch.pipe(line("start", 1, url="http://127.0.0.1:1/f", path="f", startPaused=True))
    assert process.response(1)["result"]["download"]["state"] == "paused"
    assert status == 1, "not everything completed"


def test_a_pipeline_does_not_wait_for_downloads_of_others(
    launch: Launcher, server: ScriptedServer, work: Path
) -> None:
    Held(server).started(launch(), work / "f")
    _, status = launch.pipe(line("list", 1), timeout=PROMPT)
    assert status == 0


@pytest.mark.parametrize("initialized", [True, False], ids=["after initialize", "in header framing"])
def test_a_host_that_closes_stdin_is_taken_for_gone(
    launch: Launcher, server: ScriptedServer, work: Path, initialized: bool
) -> None:
    held = Held(server)
    process = launch(framing="line" if initialized else "header")
    if initialized:
        process.call("initialize", processId=None, capabilities={})
    download_id = held.started(process, work / "f")["id"]
    process.close_stdin()
    assert process.wait_exit(PROMPT) == (0 if initialized else 1)
    listed = launch().call("get", id=download_id)["download"]
    assert (listed["state"], listed["reason"]) == ("paused", "interrupted")
    assert listed["receivedBytes"] == held.after


def test_a_final_checkpoint_is_quick(launch: Launcher, server: ScriptedServer, work: Path) -> None:
    process = launch()
    process.call("initialize")
    process.call("configure", maxActive=8, maxActivePerHost=8)
    for n in range(8):
        Held(server, f"/{n}", seed=n).started(process, work / str(n))
    began = time.monotonic()
    process.close_stdin()
    process.wait_exit(PROMPT)
    assert time.monotonic() - began < 1.5 + 0.5  # the limit of the process, plus noise


def test_background_downloads_outlive_a_host_that_has_gone(
    launch: Launcher, server: ScriptedServer, work: Path
) -> None:
    held = Held(server)
    process = launch()
    process.call("initialize")
    held.started(process, work / "f", background=True)
    process.close_stdin()
    time.sleep(0.5)
    assert process.process.poll() is None
    held.release()
    process.wait_exit()
    assert (work / "f").read_bytes() == held.data


def test_on_host_exit_finish_outlives_a_host_that_has_gone(
    launch: Launcher, server: ScriptedServer, work: Path
) -> None:
    held = Held(server)
    process = launch("--on-host-exit", "finish")
    process.call("initialize")
    held.started(process, work / "f")
    process.close_stdin()
    time.sleep(0.3)
    held.release()
    process.wait_exit()
    assert (work / "f").read_bytes() == held.data


def test_on_host_exit_suspend_ends_a_pipeline_at_once(
    launch: Launcher, server: ScriptedServer, work: Path
) -> None:
    held = Held(server)
    process = launch("--on-host-exit", "suspend")
    held.started(process, work / "f")
    process.close_stdin()
    process.wait_exit(PROMPT)
    assert launch().call("list")["downloads"][0]["reason"] == "interrupted"


@pytest.mark.parametrize("command", ["pause", "resume", "cancel"])
def test_a_process_without_host_yields_to_another(
    launch: Launcher, server: ScriptedServer, work: Path, command: str
) -> None:
    held = Held(server)
    process = launch("--on-host-exit", "finish")
    process.call("initialize")
    download_id = held.started(process, work / "f")["id"]
    process.close_stdin()
    other = launch()

    def asked() -> JSON | None:
        try:
            return other.call(command, id=download_id, timeout=10)
        except RPCError as error:
            # The owner has not noticed the end of its input yet.
            if error.kind != "lockedElsewhere" or error.data["yields"]:
                raise
            return None

    result = poll(asked, what="a download that is handed over")
    expected = {"pause": ("paused",), "resume": ("queued", "active"), "cancel": ("canceled",)}[command]
    assert result["download"]["state"] in expected
    if command == "resume":
        assert other.call("get", id=download_id)["download"]["owner"] == "self"
    process.wait_exit()


# initialize, shutdown, exit


def test_initialize_answers_like_info(host: Towline) -> None:
    answer = host.call(
        "initialize", processId=None, clientInfo={"name": "t"}, capabilities={}, anything={"x": 1}
    )
    info = host.call("info")
    assert set(answer) >= {"name", "version", "protocol", "capabilities", "limits", "session"}
    assert {k: answer[k] for k in ("name", "version", "session")} == {
        k: info[k] for k in ("name", "version", "session")
    }


def test_initialize_twice_is_an_invalid_request(host: Towline) -> None:
    host.call("initialize")
    assert host.error("initialize").code == -32600


def test_after_initialize_a_destination_is_required(host: Towline, server: ScriptedServer) -> None:
    server.add("/f.bin", b"x")
    host.call("initialize")
    host.notify("initialized")
    error = host.error("start", url=server.url("/f.bin"))
    assert error.code == -32602
    assert error.names("path") or error.names("directory")


def test_without_initialize_the_working_directory_is_the_destination(
    host: Towline, server: ScriptedServer, work: Path
) -> None:
    server.add("/f.bin", b"x")
    download = host.call("start", url=server.url("/f.bin"))["download"]
    assert finish(host, download["id"])["path"] == str(work / "f.bin")


def test_shutdown_then_exit_ends_with_0(host: Towline) -> None:
    host.call("initialize")
    assert host.call("shutdown") is None
    host.notify("exit")
    assert host.wait_exit(PROMPT) == 0


def test_exit_without_shutdown_ends_with_1(host: Towline) -> None:
    host.call("initialize")
    host.notify("exit")
    assert host.wait_exit(PROMPT) == 1


def test_after_shutdown_requests_are_refused(host: Towline) -> None:
    host.call("initialize")
    host.call("shutdown")
    assert host.error("list").code in (-32600, 1012)


def test_shutdown_in_header_framing_then_end_of_input_ends_with_0(launch: Launcher) -> None:
    process = launch(framing="header")
    process.call("initialize", processId=os.getpid())
    assert process.call("shutdown") is None
    process.close_stdin()
    assert process.wait_exit(PROMPT) == 0


def test_shutdown_with_nothing_to_do_is_quick(launch: Launcher) -> None:
    def session() -> None:
        process = launch()
        process.call("initialize")
        process.call("shutdown")
        process.notify("exit")
        process.wait_exit()

    assert quickest(session) < 0.5


@pytest.mark.parametrize("mode", [None, "suspend"])
def test_shutdown_keeps_what_runs(launch: Launcher, server: ScriptedServer, work: Path, mode: str) -> None:
    held = Held(server)
    process = launch()
    download_id = held.started(process, work / "f")["id"]
    process.call("shutdown", **({"mode": mode} if mode else {}))
    known = launch().call("get", id=download_id)["download"]
    assert known["receivedBytes"] == held.after
    process.notify("exit")
    assert process.wait_exit(PROMPT) == 0
    assert launch().call("get", id=download_id)["download"]["reason"] == "interrupted"


def test_shutdown_can_cancel_what_runs(launch: Launcher, server: ScriptedServer, work: Path) -> None:
    process = launch()
    download_id = Held(server).started(process, work / "f")["id"]
    process.call("shutdown", mode="cancel")
    process.notify("exit")
    process.wait_exit(PROMPT)
    assert launch().call("get", id=download_id)["download"]["state"] == "canceled"
    assert list(work.iterdir()) == []


def test_shutdown_can_finish_what_runs(host: Towline, server: ScriptedServer, work: Path) -> None:
    held = Held(server)
    held.started(host, work / "f")
    request = host.send("shutdown", {"mode": "finish"})
    held.release()
    assert host.answer(request) is None
    assert (work / "f").read_bytes() == held.data


# Signals


@pytest.mark.parametrize(
    ("which", "status"), [(signal.SIGTERM, 143), (signal.SIGINT, 130), (signal.SIGHUP, 129)], ids=str
)
def test_signals_checkpoint_and_tell_which(
    launch: Launcher, server: ScriptedServer, work: Path, which: signal.Signals, status: int
) -> None:
    held = Held(server)
    process = launch()
    download_id = held.started(process, work / "f")["id"]
    process.signal(which)
    assert process.wait_exit(PROMPT) == status
    known = launch().call("get", id=download_id)["download"]
    assert (known["state"], known["reason"], known["receivedBytes"]) == ("paused", "interrupted", held.after)


def test_a_second_signal_ends_it_at_once(launch: Launcher, server: ScriptedServer, work: Path) -> None:
    """Another process locks the database, so that after one signal it takes all of its time."""

    def seconds(signals: int) -> float:
        process = launch("--state-dir", str(work / f"state{signals}"))
        held = Held(server, path=f"/{signals}")
        download_id = held.started(process, work / f"f{signals}")["id"]
        database = sqlite3.connect(work / f"state{signals}/towline.db", isolation_level=None)
        database.execute("BEGIN IMMEDIATE")
        process.send("pause", {"id": download_id})
        time.sleep(0.3)
        began = time.monotonic()
        for _ in range(signals):
            process.signal(signal.SIGTERM)
            time.sleep(0.1)
        assert process.wait_exit(PROMPT) == 143
        database.close()
        return time.monotonic() - began

    assert seconds(2) < seconds(1) - 0.5


def test_nohup_is_honoured(launch: Launcher) -> None:
    process = launch(ignore=[signal.SIGHUP])
    process.call("ping")
    process.signal(signal.SIGHUP)
    assert process.call("ping") == {}
    process.close_stdin()
    assert process.wait_exit() == 0


# The exit of the host


def test_a_host_named_by_argument_that_dies_ends_the_service(launch: Launcher) -> None:
    with subprocess.Popen(["sleep", "60"]) as stand_in:
        process = launch(f"--clientProcessId={stand_in.pid}")
        process.call("ping")
        stand_in.kill()
        stand_in.wait()
        assert process.wait_exit(10) == 141


def test_a_host_named_by_initialize_that_dies_ends_the_service(
    launch: Launcher, server: ScriptedServer, work: Path
) -> None:
    held = Held(server)
    with subprocess.Popen(["sleep", "60"]) as stand_in:
        process = launch()
        process.call("initialize", processId=stand_in.pid)
        download_id = held.started(process, work / "f")["id"]
        stand_in.kill()
        stand_in.wait()
        assert process.wait_exit(10) == 141
    known = launch().call("get", id=download_id)["download"]
    assert (known["reason"], known["receivedBytes"]) == ("interrupted", held.after)


def test_a_host_that_was_gone_when_named_is_not_waited_for(launch: Launcher) -> None:
    with subprocess.Popen(["true"]) as stand_in:
        stand_in.wait()
    process = launch(f"--clientProcessId={stand_in.pid}")
    assert process.call("ping") == {}


def test_a_stdout_without_reader_ends_the_service_with_141(
    launch: Launcher, server: ScriptedServer, work: Path
) -> None:
    held = Held(server, after=0)
    process = launch(read_at_once=False)
    process.raw_line(line("start", 1, url=held.url, path=str(work / "f"), id="a"))
    server.wait_requests("/held", 1)
    process.stop_having_a_reader()
    assert process.wait_exit(10) == 141
    assert launch().call("get", id="a")["download"]["reason"] == "interrupted"


def test_head_ends_a_pipeline_with_141(launch: Launcher, server: ScriptedServer, work: Path) -> None:
    Held(server, after=0)
    start = line("start", 1, url=server.url("/held"), path=str(work / "f"), id="a")
    script = f'printf "%s\\n" \'{start}\' | "$0" --state-dir "$1" | head -1; echo "${{PIPESTATUS[1]}}"'
    ran = subprocess.run(
        ["bash", "-c", script, str(launch.binary), str(launch.state)],
        capture_output=True,
        text=True,
        timeout=20,
    )
    assert ran.stdout.splitlines()[-1] == "141"


def test_output_that_cannot_be_written_ends_with_74(launch: Launcher) -> None:
    def status() -> int:
        with Path("/dev/full").open("wb") as full:
            ran = subprocess.run(
                [str(launch.binary), "--state-dir", str(launch.state)],
                input=(line("ping", 1) + "\n").encode(),
                stdout=full,
                stderr=subprocess.PIPE,
                timeout=20,
            )
        return ran.returncode

    # Several times: the end of input must not overtake the failing write.
    assert [status() for _ in range(8)] == [74] * 8


# stdout and stderr


def test_nothing_but_messages_goes_to_stdout(launch: Launcher, server: ScriptedServer) -> None:
    server.add("/f", b"x")
    process, status = launch.pipe(
        line("start", 1, url=server.url("/f"), path="f"),
        args=["--log-level", "debug"],
        env={"TOWLINE_LOG": "debug"},
    )
    assert status == 0
    assert process.messages
    assert process.violations == []


def test_a_closed_stderr_stops_nothing(launch: Launcher, server: ScriptedServer, work: Path) -> None:
    server.add("/f", b"x")
    start = line("start", 1, url=server.url("/f"), path=str(work / "f"))
    script = f'printf "%s\\n" \'{start}\' | "$0" --log-level debug --state-dir "$1" 2>&-'
    ran = subprocess.run(
        ["bash", "-c", script, str(launch.binary), str(launch.state)], capture_output=True, timeout=20
    )
    assert ran.returncode == 0
    assert (work / "f").read_bytes() == b"x"


def test_a_quiet_run_leaves_stderr_empty(launch: Launcher, server: ScriptedServer) -> None:
    server.add("/f", b"x")
    process, _ = launch.pipe(line("start", 1, url=server.url("/f"), path="f"))
    assert process.stderr == ""


def test_a_process_without_work_sleeps(host: Towline, server: ScriptedServer, work: Path) -> None:
    server.add("/f", b"x")
    fetch(host, server.url("/f"), work / "f")
    ticks = Path(f"/proc/{host.process.pid}/stat")

    def cpu() -> int:
        fields = ticks.read_text().rsplit(")", 1)[1].split()
        return int(fields[11]) + int(fields[12])

    before = cpu()
    time.sleep(1)
    assert cpu() - before <= 5


def test_the_process_leaves_no_lock_behind(launch: Launcher, server: ScriptedServer, work: Path) -> None:
    held = Held(server)
    first = launch()
    download_id = held.started(first, work / "f")["id"]
    first.kill()
    poll(lambda: launch().call("get", id=download_id)["download"]["owner"] == "none")
