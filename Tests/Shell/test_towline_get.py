"""clients/shell/towline-get: what it fetches, says and returns."""

from __future__ import annotations

import os
import signal
import subprocess
import threading
from pathlib import Path

import pytest
from proxy_server import ScriptedProxy
from scripted_server import Behaviour, ScriptedServer, content
from shell_support import GET, Fakes, Shell, ended, eventually, exists, service_of
from support import MIB, sha256

SIZE = 6 * MIB
DATA = content(1, SIZE)


def hold(server: ScriptedServer, path: str, after: int = SIZE // 2) -> threading.Event:
    """Serves DATA there; the first request is held in the middle until the event is set."""
    gate = threading.Event()
    server.add(path, DATA).then(Behaviour(hold_after=after, gate=gate))
    return gate


def wait_held(server: ScriptedServer, path: str, after: int = SIZE // 2) -> None:
    server.wait(lambda: server.body_sent(path) >= after)


def received(shell: Shell, name: str, least: int) -> None:
    """Waits until the partial has so much."""
    partial = shell.work / f"{name}.towline"
    eventually(lambda: partial.exists() and partial.stat().st_blocks * 512 >= least, "the partial")


# ---- Downloads that finish


def test_one_file_comes_and_its_path_is_printed(shell: Shell, server: ScriptedServer) -> None:
    server.add("/a.bin", DATA)
    done = shell.get(server.url("/a.bin"))
    assert (done.returncode, done.stdout) == (0, f"{shell.work}/a.bin\n"), done.stderr
    assert (shell.work / "a.bin").read_bytes() == DATA
    assert "a.bin: 6.0 MiB in" in done.stderr
    assert "\x1b" not in done.stderr


def test_the_proxy_of_the_environment_is_used_when_asked_for(shell: Shell, server: ScriptedServer) -> None:
    server.add("/a.bin", b"x")
    proxy = ScriptedProxy()
    shell.environment["http_proxy"] = proxy.url
    try:
        for options, count in (([], 0), (["--proxy-from-environment"], 1)):
            done = shell.get(*options, "-o", f"file{count}", server.url("/a.bin"))
            assert done.returncode == 0, done.stderr
            assert len(proxy.log) == count
    finally:
        proxy.close()


def test_several_files_come_at_the_same_time(shell: Shell, server: ScriptedServer) -> None:
    names = [f"{n}.bin" for n in range(3)]
    gates = [hold(server, f"/{name}") for name in names]
    process = shell.start(GET, "-d", "down load", *(server.url(f"/{name}") for name in names))
    for name in names:
        wait_held(server, f"/{name}")
    for gate in gates:
        gate.set()
    done = ended(process)
    assert done.returncode == 0, done.stderr
    assert sorted(done.stdout.splitlines()) == [f"{shell.work}/down load/{name}" for name in names]
    assert all((shell.work / "down load" / name).read_bytes() == DATA for name in names)
    assert "3 of 3 finished" in done.stderr


def test_o_names_the_file(shell: Shell, server: ScriptedServer) -> None:
    server.add("/a.bin", DATA)
    (shell.work / "sub").mkdir()
    done = shell.get("--output=sub/it's mine", server.url("/a.bin"))
    assert (done.returncode, done.stdout) == (0, f"{shell.work}/sub/it's mine\n"), done.stderr


@pytest.mark.parametrize(
    "name", ["a b", "$(touch pwned)", "it's", 'say "a"', "-rf", "ü", "a;b&c", "%s%n", "*"]
)
def test_no_name_is_taken_for_anything_else(shell: Shell, server: ScriptedServer, name: str) -> None:
    target = "/" + "".join(
        c if c.isalnum() and c.isascii() else "".join(f"%{b:02X}" for b in c.encode()) for c in name
    )
    server.add(target, b"x" * 1000)
    done = shell.get(server.url(target))
    assert done.returncode == 0, done.stderr
    assert not (shell.work / "pwned").exists()
    (file,) = shell.work.iterdir()
    assert done.stdout == f"{file}\n"


def test_the_same_url_twice_is_one_download(shell: Shell, server: ScriptedServer) -> None:
    server.add("/a.bin", DATA)
    done = shell.get(server.url("/a.bin"), server.url("/a.bin"))
    assert (done.returncode, done.stdout) == (0, f"{shell.work}/a.bin\n"), done.stderr
    assert len(server.requests("/a.bin")) == 1


def test_a_checksum_that_agrees(shell: Shell, server: ScriptedServer) -> None:
    server.add("/a.bin", DATA)
    done = shell.get("--checksum", f"sha256:{sha256(DATA).upper()}", server.url("/a.bin"))
    assert done.returncode == 0, done.stderr


def test_a_checksum_that_does_not_agree_leaves_no_file_until_the_server_is_mended(
    shell: Shell, server: ScriptedServer
) -> None:
    resource = server.add("/a.bin", content(2, SIZE))
    words = ("--checksum", f"sha256:{sha256(DATA)}", server.url("/a.bin"))
    done = shell.get(*words)
    assert (done.returncode, done.stdout) == (1, "")
    assert "sha256" in done.stderr
    assert not (shell.work / "a.bin").exists()
    resource.data, resource.etag = DATA, '"v2"'
    done = shell.get(*words)
    assert done.returncode == 0, done.stderr
    assert (shell.work / "a.bin").read_bytes() == DATA


def test_quiet_says_nothing(shell: Shell, server: ScriptedServer) -> None:
    server.add("/a.bin", DATA)
    done = shell.get("-q", server.url("/a.bin"))
    assert (done.returncode, done.stdout, done.stderr) == (0, f"{shell.work}/a.bin\n", "")


def test_lines_tell_how_it_goes(shell: Shell, server: ScriptedServer) -> None:
    server.add("/a.bin", DATA, default=Behaviour(rate=2 * MIB))
    done = shell.get(server.url("/a.bin"))
    lines = done.stderr.splitlines()
    assert done.returncode == 0
    assert lines[0] == "a.bin: started"
    assert any(" of 6.0 MiB, " in line and "MiB/s" in line for line in lines), lines


# ---- Downloads that fail


def test_a_failure_does_not_keep_the_others_from_coming(shell: Shell, server: ScriptedServer) -> None:
    server.add("/a.bin", DATA)
    done = shell.get(server.url("/missing"), server.url("/a.bin"), "ftp://127.0.0.1/x")
    assert (done.returncode, done.stdout) == (1, f"{shell.work}/a.bin\n")
    assert f"towline-get: {server.url('/missing')}: The server answered 404." in done.stderr
    assert "towline-get: ftp://127.0.0.1/x: " in done.stderr
    assert "1 of 3 finished" in done.stderr


def test_a_password_in_the_url_is_not_shown(shell: Shell, server: ScriptedServer) -> None:
    done = shell.get(server.url("/missing", host="me:secret@127.0.0.1"))
    assert done.returncode == 1
    assert server.url("/missing") in done.stderr
    assert "secret" not in done.stderr


def test_events_that_were_lost_are_made_up_for(shell: Shell, server: ScriptedServer, fakes: Fakes) -> None:
    """A service that drops every change of a download behind one eventsLost."""
    server.add("/a.bin", DATA)
    real = shell.environment["TOWLINE"]
    fakes.add(
        "towline",
        f"""'{real}' "$@" | jq -c --unbuffered '
        if .method == "changed" and .params.download.state == "completed"
        then {{jsonrpc, method: "eventsLost", params: {{fromSeq: 1, toSeq: .params.seq}}}}
        else select(.method != "progress") end'""",
    )
    shell.environment["TOWLINE"] = f"{fakes.folder}/towline"
    done = shell.get(server.url("/a.bin"))
    assert (done.returncode, done.stdout) == (0, f"{shell.work}/a.bin\n"), done.stderr


def test_a_file_that_is_there_is_not_overwritten(shell: Shell, server: ScriptedServer) -> None:
    server.add("/a.bin", DATA)
    (shell.work / "a.bin").write_text("mine")
    done = shell.get("-o", "a.bin", server.url("/a.bin"))
    assert (done.returncode, done.stdout) == (1, "")
    assert f"{shell.work}/a.bin exists" in done.stderr
    assert (shell.work / "a.bin").read_text() == "mine"


def test_a_directory_that_is_missing_is_named(shell: Shell, server: ScriptedServer) -> None:
    server.add("/a.bin", DATA)
    done = shell.get("-o", "none/a.bin", server.url("/a.bin"))
    assert done.returncode == 1
    assert f"{shell.work}/none" in done.stderr


@pytest.mark.parametrize(
    "words",
    [
        (),
        ("--bogus", "http://127.0.0.1/"),
        ("-o",),
        ("-o", "", "http://127.0.0.1/"),
        ("-o", "a", "-d", "b", "http://127.0.0.1/"),
        ("-o", "a", "http://127.0.0.1/1", "http://127.0.0.1/2"),
        ("-o", "a/", "http://127.0.0.1/1"),
        ("--checksum", "sha256:12", "http://127.0.0.1/"),
        ("--checksum", "crc32:12345678", "http://127.0.0.1/"),
        ("--checksum", "sha256:" + "0" * 64, "http://127.0.0.1/1", "http://127.0.0.1/2"),
    ],
    ids=" ".join,
)
def test_a_wrong_call_is_refused(shell: Shell, words: tuple[str, ...]) -> None:
    done = shell.get(*words)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("towline-get: ")
    assert "--help" in done.stderr


def test_help_goes_to_standard_output(shell: Shell) -> None:
    done = shell.get("--help")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("usage: towline-get [--setup] [-o FILE | -d DIRECTORY]")


def test_a_state_directory_that_cannot_be_used_is_named(shell: Shell, server: ScriptedServer) -> None:
    (shell.home / "state").write_text("a file")
    shell.environment["XDG_STATE_HOME"] = str(shell.home / "state")
    done = shell.get(server.url("/a.bin"))
    assert (done.returncode, done.stdout) == (1, "")
    assert "its state directory cannot be used" in done.stderr


# ---- The same command again


def test_the_same_command_again_fetches_nothing(shell: Shell, server: ScriptedServer) -> None:
    server.add("/a.bin", DATA)
    first = shell.get(server.url("/a.bin"))
    again = shell.get(server.url("/a.bin"))
    assert (again.returncode, again.stdout) == (0, first.stdout), again.stderr
    assert len(server.requests("/a.bin")) == 1


@pytest.mark.parametrize("change", ["removed", "changed"])
def test_a_finished_file_that_was_removed_comes_again(
    shell: Shell, server: ScriptedServer, change: str
) -> None:
    server.add("/a.bin", DATA)
    assert shell.get(server.url("/a.bin")).returncode == 0
    file = shell.work / "a.bin"
    file.unlink()
    if change == "changed":
        file.write_text("mine")
    done = shell.get(server.url("/a.bin"))
    if change == "removed":
        assert done.returncode == 0, done.stderr
        assert file.read_bytes() == DATA
    else:
        assert done.returncode == 1
        assert file.read_text() == "mine"


def test_a_failed_one_is_tried_again(shell: Shell, server: ScriptedServer) -> None:
    assert shell.get(server.url("/a.bin")).returncode == 1
    server.add("/a.bin", DATA)
    done = shell.get(server.url("/a.bin"))
    assert (done.returncode, done.stdout) == (0, f"{shell.work}/a.bin\n"), done.stderr


def test_one_that_another_client_left_is_taken_over(
    shell: Shell, server: ScriptedServer, binary: Path
) -> None:
    hold(server, "/a.bin")
    request = (
        '{"jsonrpc":"2.0","id":1,"method":"initialize"}\n'
        f'{{"jsonrpc":"2.0","id":2,"method":"start","params":{{"url":"{server.url("/a.bin")}",'
        f'"path":"{shell.work}/a.bin"}}}}\n'
    )
    other = subprocess.Popen(
        [binary], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True, env=shell.environment
    )
    assert other.stdin
    other.stdin.write(request)
    other.stdin.flush()
    received(shell, "a.bin", MIB)
    other.stdin.close()
    other.wait(20)
    done = shell.get("-o", "a.bin", server.url("/a.bin"))
    assert done.returncode == 0, done.stderr
    assert "a.bin: resumed, " in done.stderr
    assert (shell.work / "a.bin").read_bytes() == DATA


# ---- Interrupted


def interrupt(
    shell: Shell, server: ScriptedServer, number: signal.Signals
) -> subprocess.CompletedProcess[str]:
    """Runs it and sends the signal to all of its processes in the middle, as a terminal does."""
    hold(server, "/a.bin")
    process = shell.start(GET, server.url("/a.bin"))
    wait_held(server, "/a.bin")
    received(shell, "a.bin", SIZE // 2 - MIB)
    os.killpg(process.pid, number)
    return ended(process)


def test_after_ctrl_c_the_same_command_goes_on(shell: Shell, server: ScriptedServer) -> None:
    done = interrupt(shell, server, signal.SIGINT)
    assert (done.returncode, done.stdout) == (-signal.SIGINT, "")
    assert "a.bin: interrupted, " in done.stderr
    assert "the same command resumes it" in done.stderr
    assert (shell.work / "a.bin.towline").exists()
    again = shell.get(server.url("/a.bin"))
    assert (again.returncode, again.stdout) == (0, f"{shell.work}/a.bin\n"), again.stderr
    assert "a.bin: resumed, " in again.stderr
    assert (shell.work / "a.bin").read_bytes() == DATA
    # What is sent but was not read, in the buffers of two sockets, counts too.
    assert server.body_sent("/a.bin") <= SIZE + MIB


def test_after_ctrl_c_a_shell_sees_130(shell: Shell, server: ScriptedServer) -> None:
    hold(server, "/a.bin")
    script = f"trap : INT; '{GET}' {server.url('/a.bin')}; echo status $?"
    process = shell.start("bash", "-c", script)
    wait_held(server, "/a.bin")
    os.killpg(process.pid, signal.SIGINT)
    assert ended(process).stdout == "status 130\n"


def test_ctrl_c_ends_a_loop_around_it(shell: Shell, server: ScriptedServer) -> None:
    hold(server, "/a.bin")
    server.add("/b.bin", DATA)
    script = f"for url in {server.url('/a.bin')} {server.url('/b.bin')}; do '{GET}' $url; done"
    process = shell.start("bash", "-c", script)
    wait_held(server, "/a.bin")
    os.killpg(process.pid, signal.SIGINT)
    assert ended(process).returncode == -signal.SIGINT
    assert not server.requests("/b.bin")


def test_of_several_those_that_had_come_stay(shell: Shell, server: ScriptedServer) -> None:
    server.add("/b.bin", DATA)
    hold(server, "/a.bin")
    words = (GET, server.url("/a.bin"), server.url("/b.bin"))
    process = shell.start(*words)
    wait_held(server, "/a.bin")
    eventually((shell.work / "b.bin").exists, "b.bin")
    os.killpg(process.pid, signal.SIGINT)
    ended(process)
    done = shell.run(*words)
    assert done.returncode == 0, done.stderr
    assert sorted(done.stdout.splitlines()) == [f"{shell.work}/a.bin", f"{shell.work}/b.bin"]
    assert len(server.requests("/b.bin")) == 1


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_other_signals_keep_what_has_come(
    shell: Shell, server: ScriptedServer, number: signal.Signals
) -> None:
    done = interrupt(shell, server, number)
    assert done.returncode == -number
    again = shell.get(server.url("/a.bin"))
    assert again.returncode == 0, again.stderr
    assert server.body_sent("/a.bin") <= SIZE + MIB


def test_when_it_is_killed_the_service_ends_too(shell: Shell, server: ScriptedServer) -> None:
    hold(server, "/a.bin")
    process = shell.start(GET, server.url("/a.bin"))
    wait_held(server, "/a.bin")
    received(shell, "a.bin", SIZE // 2 - MIB)
    service = service_of(process)
    process.kill()
    ended(process)
    eventually(lambda: not exists(service), "the end of the service")
    assert shell.get(server.url("/a.bin")).returncode == 0
    assert server.body_sent("/a.bin") <= SIZE + MIB


def test_when_the_service_is_killed_it_says_so(shell: Shell, server: ScriptedServer) -> None:
    hold(server, "/a.bin")
    process = shell.start(GET, server.url("/a.bin"))
    wait_held(server, "/a.bin")
    received(shell, "a.bin", SIZE // 2 - MIB)
    os.kill(service_of(process), signal.SIGKILL)
    done = ended(process)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.splitlines()[-1] == (
        "towline-get: the service ended: signal KILL (exit status 137); "
        "what was received is kept, and the same command resumes it"
    )
    assert shell.get(server.url("/a.bin")).returncode == 0
    assert server.body_sent("/a.bin") <= SIZE + 2 * MIB


# ---- Several at once


def test_two_at_once_do_not_disturb_each_other(shell: Shell, server: ScriptedServer) -> None:
    gates = [hold(server, "/a.bin"), hold(server, "/b.bin")]
    first = shell.start(GET, server.url("/a.bin"))
    second = shell.start(GET, server.url("/b.bin"))
    wait_held(server, "/a.bin")
    wait_held(server, "/b.bin")
    for gate in gates:
        gate.set()
    assert ended(first).stdout == f"{shell.work}/a.bin\n"
    assert ended(second).stdout == f"{shell.work}/b.bin\n"


def test_the_second_of_the_same_waits_for_the_first(shell: Shell, server: ScriptedServer) -> None:
    gate = hold(server, "/a.bin")
    first = shell.start(GET, server.url("/a.bin"))
    wait_held(server, "/a.bin")
    second = shell.start(GET, server.url("/a.bin"))
    assert second.stderr
    assert second.stderr.readline() == "a.bin: another process downloads it; waiting for that\n"
    gate.set()
    for done in (ended(first), ended(second)):
        assert (done.returncode, done.stdout) == (0, f"{shell.work}/a.bin\n"), done.stderr
    assert len(server.requests("/a.bin")) == 1


def test_a_url_with_a_password_finds_its_download_under_another_id(
    shell: Shell, server: ScriptedServer
) -> None:
    server.add("/a.bin", DATA)
    url = server.url("/a.bin").replace("//", "//me:secret@")
    made = shell.bash(
        f"source {GET.parent}/towline.sh && towline_open"
        f" && towline_start {url} path=a.bin startPaused:=true && towline_close"
    )
    assert made.returncode == 0, made.stderr
    done = shell.get(url, "-o", "a.bin")
    assert (done.returncode, done.stdout) == (0, f"{shell.work}/a.bin\n"), done.stderr
    assert "secret" not in done.stderr


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_the_second_of_the_same_goes_on_when_the_first_dies(
    shell: Shell, server: ScriptedServer, number: signal.Signals
) -> None:
    hold(server, "/a.bin")
    first = shell.start(GET, server.url("/a.bin"))
    wait_held(server, "/a.bin")
    received(shell, "a.bin", SIZE // 2 - MIB)
    second = shell.start(GET, server.url("/a.bin"))
    assert second.stderr
    second.stderr.readline()
    os.killpg(first.pid, number)
    assert ended(first).returncode == -number
    done = ended(second)
    assert (done.returncode, done.stdout) == (0, f"{shell.work}/a.bin\n"), done.stderr
    assert (shell.work / "a.bin").read_bytes() == DATA
    assert server.body_sent("/a.bin") <= SIZE + 2 * MIB


def test_apps_are_kept_apart(shell: Shell, server: ScriptedServer) -> None:
    server.add("/a.bin", DATA)
    assert shell.get("--app", "one", "-d", "1", server.url("/a.bin")).returncode == 0
    assert (shell.home / ".local/state/towline/one/towline.db").exists()
