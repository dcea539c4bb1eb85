"""clients/shell/towline.sh: the library, from scripts of its users."""

from __future__ import annotations

import json
import re
import threading
from pathlib import Path

import pytest
from scripted_server import Behaviour, ScriptedServer, content
from shell_support import LIBRARY, Fakes, Shell, ended, eventually, exists, service_of
from support import MIB

DATA = content(3, 2 * MIB)
OPEN = "towline_open\ntrap towline_close EXIT\n"


def examples() -> list[str]:
    """The examples of the library's header."""
    header = LIBRARY.read_text().split("# Functions\n")[0]
    blocks = re.findall(r"(?:^#     .*\n|^#\n(?=#     ))+", header, re.MULTILINE)
    return [re.sub(r"^#(     )?", "", block, flags=re.MULTILINE) for block in blocks]


def test_the_first_example_of_the_header_works(shell: Shell, server: ScriptedServer) -> None:
    server.add("/archive.tar", DATA)
    (shell.home / "Downloads").mkdir()
    script = examples()[0].replace("source clients/shell/towline.sh", f"source {LIBRARY}")
    done = shell.run("bash", "-c", script.replace("https://example.org", server.url()))
    finished = f"finished: {shell.home}/Downloads/archive.tar\n"
    assert (done.returncode, done.stdout) == (0, finished), done.stderr
    done = shell.run("bash", "-c", script.replace("https://example.org/archive.tar", server.url("/none")))
    assert done.stderr == "failed: The server answered 404.\n"


def test_the_second_example_of_the_header_works(shell: Shell, server: ScriptedServer) -> None:
    server.add("/a", DATA)
    server.add("/b", DATA)
    (shell.work / "urls.txt").write_text(f"{server.url('/a')}\n{server.url('/b')}\n")
    done = shell.bash(OPEN + examples()[1].replace("/srv/mirror", str(shell.work)))
    assert done.returncode == 0, done.stderr
    assert (shell.work / "a").read_bytes() == (shell.work / "b").read_bytes() == DATA
    assert len([line for line in done.stdout.splitlines() if line.endswith(f" changed {len(DATA)}")]) >= 2


def test_the_third_example_of_the_header_works(shell: Shell, server: ScriptedServer) -> None:
    server.add("/a", DATA, default=Behaviour(hold_after=100_000, gate=threading.Event()))
    script = f"""
        towline_start {server.url("/none")}; towline_wait "$TOWLINE_ID" || true
        towline_start {server.url("/a")}; id=$TOWLINE_ID
    """
    done = shell.bash(OPEN + script + examples()[2])
    assert (done.returncode, done.stdout) == (0, server.url("/none") + "\n"), done.stderr
    assert (shell.work / "a.towline").exists()


def test_every_function_of_the_header_is_there_and_no_other(shell: Shell) -> None:
    listed = re.search(r"# Functions\n((?:#     .*\n)+)", LIBRARY.read_text())
    assert listed
    names = {name for line in listed.group(1).splitlines() for name in re.findall(r"\btowline_\w+", line)}
    done = shell.bash("compgen -A function towline_")
    assert set(done.stdout.split()) - {"towline_find"} == names


def test_pause_resume_cancel(shell: Shell, server: ScriptedServer) -> None:
    server.add("/a", DATA).then(Behaviour(hold_after=MIB, gate=threading.Event()))
    server.add("/b", DATA, default=Behaviour(hold_after=MIB, gate=threading.Event()))
    done = shell.bash(
        OPEN
        + f"""
        say() {{ local -n a=TOWLINE_ANSWER; echo "${{a[state]}} ${{a[reason]}} ${{a[changed]:-}}"; }}
        towline_start {server.url("/a")} id=a metadata:='{{"row": 3}}'
        echo "$TOWLINE_ID ${{TOWLINE_ANSWER[created]}}"
        jq -c .download.metadata <<<"$TOWLINE_RESULT"
        towline_start {server.url("/b")} id=b
        towline_pause a && say
        towline_pause a && say
        towline_resume a && say
        towline_wait a && say
        towline_cancel a || echo "$TOWLINE_ERROR_KIND"
        towline_cancel b && say
        towline_pause --all && jq -c . <<<"$TOWLINE_RESULT"
        towline_wait a b || echo "${{TOWLINE_ANSWER[counts.completed]}} ${{TOWLINE_ANSWER[counts.canceled]}}"
        towline_remove a
        towline_get a || echo "$TOWLINE_ERROR_KIND"
        """
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[:2] == ["a true", '{"row":3}']
    assert done.stdout.splitlines()[2:6] == [
        "paused user true",
        "paused user false",
        "queued  true",
        "completed  ",
    ]
    assert done.stdout.splitlines()[6:8] == ["invalidState", "canceled  true"]
    assert json.loads(done.stdout.splitlines()[8])["changed"] == 0
    assert done.stdout.splitlines()[9:] == ["1 1", "downloadNotFound"]


def test_events_come_in_order_while_answers_are_waited_for(shell: Shell, server: ScriptedServer) -> None:
    server.add("/a", DATA, default=Behaviour(rate=4 * MIB))
    done = shell.bash(
        OPEN
        + f"""
        towline_call configure progressIntervalMs:=50
        towline_start {server.url("/a")}
        towline_wait "$TOWLINE_ID"
        while towline_event 0; do echo "${{TOWLINE_EVENT[method]}} ${{TOWLINE_EVENT[state]:-}}"; done
        """
    )
    lines = done.stdout.splitlines()
    changes = [line for line in lines if line.startswith("changed")]
    assert changes[-1] == "changed completed"
    assert lines[-1] == "changed completed"
    # What nobody has read of one download's progress does not pile up.
    assert len(lines) - len(changes) <= 1


def test_the_queue_has_a_limit(shell: Shell, server: ScriptedServer) -> None:
    server.add("/a", b"x" * 1000)
    done = shell.bash(
        f"""
        TOWLINE_QUEUE_LIMIT=3
        {OPEN}
        for i in 1 2 3 4; do towline_start {server.url("/a")} path=$i; towline_wait "$TOWLINE_ID"; done
        n=0; while towline_event 0; do n=$((n + 1)); done
        echo "$n $TOWLINE_EVENTS_LOST ${{TOWLINE_EVENT[state]}}"
        """
    )
    # The place of a progress event that a change made obsolete counts too.
    assert re.fullmatch("[123] yes completed\n", done.stdout), done


def test_much_that_nobody_reads_does_not_stop_it(shell: Shell) -> None:
    """Far more than a pipe can buffer, in both directions."""
    done = shell.bash(
        OPEN
        + """
        for ((i = 0; i < 30; i++)); do
            printf -v n '%04d' "$i"
            _towline_send '{"jsonrpc":"2.0","id":"x'$n'","method":"start","params":{"url":"http://127.0.0.1:9/'$n'","path":"/tmp/none/'$n'"}}'
            _towline_send '{"jsonrpc":"2.0","id":"y'$n'","method":"rpc.discover"}'
        done
        towline_call ping
        towline_list
        jq '.downloads | length' <<<"$TOWLINE_RESULT"
        """
    )
    assert (done.returncode, done.stdout) == (0, "0\n"), done.stderr


def test_a_list_has_all_pages(shell: Shell) -> None:
    done = shell.bash(
        OPEN
        + """
        start='"method":"start","params":{"startPaused":true,"url":"http://127.0.0.1:9/","path":"'$PWD
        for i in {1..120}; do _towline_send '{"jsonrpc":"2.0","id":"'$i'",'"$start/$i"'"}}'; done
        towline_list
        jq '.downloads | map(.id) | unique | length' <<<"$TOWLINE_RESULT"
        towline_list limit:=7
        jq '.downloads | length' <<<"$TOWLINE_RESULT"
        """
    )
    assert (done.returncode, done.stdout) == (0, "120\n7\n"), done.stderr


def test_relative_paths_are_the_scripts_own(shell: Shell, server: ScriptedServer) -> None:
    server.add("/a", DATA)
    (shell.work / "deep er").mkdir()
    done = shell.bash(
        OPEN
        + f"""
        cd 'deep er'
        towline_start {server.url("/a")}; towline_wait "$TOWLINE_ID"; echo "${{TOWLINE_ANSWER[path]}}"
        towline_start {server.url("/a")} path=b; towline_wait "$TOWLINE_ID"; echo "${{TOWLINE_ANSWER[path]}}"
        """
    )
    assert done.stdout == f"{shell.work}/deep er/a\n{shell.work}/deep er/b\n", done.stderr


def test_a_refusal_does_not_hide(shell: Shell) -> None:
    done = shell.bash(
        OPEN
        + """
        towline_call start url=http://127.0.0.1/ chekcsum=1 directory=/tmp ||
            echo "$? $TOWLINE_ERROR_KIND $(jq .code <<<"$TOWLINE_ERROR")"
        towline_call ping && echo "$? [$TOWLINE_ERROR_KIND]"
        towline_call bogus
        echo 'not reached'
        """
    )
    assert done.stdout == "1 invalidParams -32602\n0 []\n"
    assert done.returncode == 1


@pytest.mark.parametrize(
    ("call", "message"),
    [
        ("towline_call ping x", "name=text or name:=json"),
        ("towline_call ping x:={", "is not JSON"),
        ("towline_get ../x", "not an id"),
        ("towline_open", "open already"),
        ("x=$(towline_call ping)", "not in a subshell"),
        ("towline_call ping | cat", "not in a subshell"),
        ("towline_follow", "FUNCTION ID"),
    ],
)
def test_a_wrong_call_says_what_is_wrong(shell: Shell, call: str, message: str) -> None:
    done = shell.bash(f"{OPEN}set +e -o pipefail\n{call}\necho $?\ntowline_call ping && echo good")
    assert done.stdout == "64\ngood\n"
    assert message in done.stderr


def test_a_service_that_was_killed_does_not_end_the_script(shell: Shell, server: ScriptedServer) -> None:
    done = shell.bash(
        """
        towline_open
        kill -KILL "$TOWLINE_PID"
        for n in 1 2; do
            towline_call ping || echo "$? $TOWLINE_ERROR_KIND $TOWLINE_STATUS $TOWLINE_ERROR_MESSAGE"
        done
        towline_event 1 || echo $?
        towline_close
        towline_open
        towline_call ping && echo again
        towline_close
        """
    )
    ending = "2 serviceEnded 137 the service ended: signal KILL (exit status 137)"
    assert done.stdout.splitlines() == [ending, "2 serviceEnded 137 the service is not open", "2", "again"], (
        done.stderr
    )
    assert done.stderr == ""


def test_the_service_ends_with_a_script_that_does_not_close_it(shell: Shell) -> None:
    done = shell.bash("towline_open\necho $TOWLINE_PID\nsleep 1000 >&- 2>&- &\n echo $!")
    service, child = map(int, done.stdout.split())
    eventually(lambda: not exists(service), "the end of the service")
    assert exists(child)


def test_close_keeps_what_is_unfinished(shell: Shell, server: ScriptedServer) -> None:
    server.add("/a", DATA).then(Behaviour(hold_after=MIB, gate=threading.Event()))
    script = f"""
        towline_start {server.url("/a")} id=a
        until [[ ${{TOWLINE_EVENT[phase]:-}} == downloading ]]; do towline_event; done
        towline_close; echo "status $TOWLINE_STATUS"
        towline_open; towline_get a; echo "${{TOWLINE_ANSWER[state]}} ${{TOWLINE_ANSWER[reason]}}"
        towline_start {server.url("/a")} id=a; echo "${{TOWLINE_ANSWER[resumed]}}"
        towline_close finish
        towline_open; towline_get a; echo "${{TOWLINE_ANSWER[state]}}"
    """
    done = shell.bash(OPEN + script)
    assert done.stdout.splitlines() == ["status 0", "paused interrupted", "true", "completed"], done.stderr


def test_several_scripts_share_one_state_directory(shell: Shell, server: ScriptedServer) -> None:
    gate = threading.Event()
    server.add("/a", DATA).then(Behaviour(hold_after=MIB, gate=gate))
    first = shell.start(
        "bash",
        "-c",
        f"set -eu; source {LIBRARY}; towline_open; towline_start {server.url('/a')} id=a; towline_wait a",
    )
    server.wait(lambda: server.body_sent("/a") >= MIB)
    done = shell.bash(
        OPEN
        + f"""
        towline_get a; echo "${{TOWLINE_ANSWER[state]}} ${{TOWLINE_ANSWER[owner]}}"
        towline_pause a || echo "$TOWLINE_ERROR_KIND"
        towline_start {server.url("/a")} id=a; echo "${{TOWLINE_ANSWER[created]}} ${{TOWLINE_ANSWER[owner]}}"
        """
    )
    assert done.stdout.splitlines() == ["active other", "lockedElsewhere", "false other"], done.stderr
    gate.set()
    assert ended(first).returncode == 0


def test_a_trap_is_not_late(shell: Shell, server: ScriptedServer) -> None:
    server.add("/a", DATA, default=Behaviour(hold_after=MIB, gate=threading.Event()))
    process = shell.start(
        "bash",
        "-c",
        f"source {LIBRARY}; trap 'echo trapped; towline_close; exit 3' TERM; towline_open;"
        f"towline_start {server.url('/a')}; towline_wait $TOWLINE_ID",
    )
    service = service_of(process)
    server.wait(lambda: server.body_sent("/a") >= MIB)
    process.terminate()
    done = ended(process)
    assert (done.returncode, done.stdout) == (3, "trapped\n"), done.stderr
    assert not exists(service)


# ---- Against services that only a test would write

INITIALIZED = '{"jsonrpc":"2.0","id":1,"result":{"processId":1}}'


def test_a_message_that_comes_in_pieces(shell: Shell, fakes: Fakes) -> None:
    """A tiny timeout must not lose the part of a line that was read."""
    fakes.add("jq", 'if [[ $* == *unbuffered* ]]; then exec cat; fi; exec /usr/bin/jq "$@"')
    fakes.add(
        "towline",
        r"""
        printf 'answer\x1f1\x1fok\x1f{}\n'; read -r _
        for piece in event $'\x1fch' $'anged\x1fa\x1f{}' $'\x1fstate=act' ive $'\n'; do
            printf %s "$piece"; sleep 0.1
        done
        cat >/dev/null""",
    )
    shell.environment["PATH"] = f"{fakes.folder}:{shell.environment['PATH']}"
    done = shell.bash(
        f"""
        towline_open --binary {fakes.folder}/towline
        n=0; until towline_event 0.02; do n=$((n + 1)); done
        echo "${{TOWLINE_EVENT[id]}} ${{TOWLINE_EVENT[state]}}"
        """
    )
    assert done.stdout == "a active\n", done.stderr


def test_follow_asks_again_when_events_were_lost(shell: Shell, fakes: Fakes) -> None:
    fakes.add(
        "towline",
        f"""
        read -r _; printf '%s\\n' '{INITIALIZED}'
        read -r _; printf '%s\\n' '{{"id":2,"result":{{"download":{{"id":"a","state":"active"}}}}}}'
        printf '%s\\n' '{{"jsonrpc":"2.0","method":"eventsLost","params":{{"fromSeq":1,"toSeq":2}}}}'
        read -r _; printf '%s\\n' '{{"id":3,"result":{{"download":{{"id":"a","state":"completed"}}}}}}'
        cat >/dev/null""",
    )
    done = shell.bash(
        f"""
        towline_open --binary {fakes.folder}/towline
        show() {{ echo "${{TOWLINE_EVENT[method]}}"; }}
        towline_follow show a && echo came
        """
    )
    assert done.stdout == "eventsLost\ncame\n", done.stderr


def test_a_request_of_the_service_is_answered(shell: Shell, fakes: Fakes) -> None:
    fakes.add(
        "towline",
        f"""
        read -r _; printf '%s\\n' '{INITIALIZED}'
        read -r _; printf '%s\\n' '{{"jsonrpc":"2.0","id":"towline:1","method":"ask","params":{{"id":"a"}}}}'
        read -r answer; jq -n --argjson a "$answer" -c '{{jsonrpc:"2.0",id:2,result:{{got:$a}}}}'
        cat >/dev/null""",
    )
    done = shell.bash(
        f'towline_open --binary {fakes.folder}/towline; towline_call ping; echo "$TOWLINE_RESULT"'
    )
    assert json.loads(done.stdout)["got"]["id"] == "towline:1", done.stderr
    assert json.loads(done.stdout)["got"]["error"]["code"] == -32601


def test_members_in_any_order_and_hostile_text(shell: Shell, fakes: Fakes) -> None:
    text = "\\u001f\\u0000\\n\\u001b[2J$(touch pwned)`touch pwned`\\u2028ü=\\\\n"
    fakes.add(
        "towline",
        f"""
        read -r _; printf '%s\\n' '{INITIALIZED}'
        read -r _
        printf '%s\\n' '{{"params":{{"id":"9","method":"x"}},"method":"progress","jsonrpc":"2.0"}}'
        printf '%s\\n' '{{"result":{{"download":{{"id":"a","path":"{text}"}},"extra":null}},"id":2}}'
        cat >/dev/null""",
    )
    done = shell.bash(
        f"""
        towline_open --binary {fakes.folder}/towline; towline_get a
        echo "${{TOWLINE_ANSWER[path]}}|${{TOWLINE_ANSWER[extra]}}"
        jq .download.path <<<"$TOWLINE_RESULT"
        towline_event 0; echo "${{TOWLINE_EVENT[method]}} ${{TOWLINE_EVENT[id]}}"
        """
    )
    flat, exact, event = done.stdout.removesuffix("\n").split("\n")
    assert flat == "????[2J$(touch pwned)`touch pwned`\u2028ü=\\n|"
    assert json.loads(exact) == json.loads(f'"{text}"')
    assert event == "progress 9"
    assert not (shell.work / "pwned").exists()


@pytest.mark.parametrize(
    ("status", "message"), [(73, "state directory"), (127, "cannot be run"), (0, "exit status 0")]
)
def test_a_service_that_does_not_start(shell: Shell, fakes: Fakes, status: int, message: str) -> None:
    fakes.add("towline", f"exit {status}")
    done = shell.bash(f'towline_open --binary {fakes.folder}/towline || echo "$? $TOWLINE_ERROR_MESSAGE"')
    assert done.returncode == 0
    assert done.stdout.startswith("2 the service ended: ")
    assert message in done.stdout


def test_where_the_binary_is_looked_for(shell: Shell, fakes: Fakes, tmp_path: Path) -> None:
    """By argument, TOWLINE, the repository's release build, PATH: the first that is named."""
    library = tmp_path / "repo/clients/shell/towline.sh"
    library.parent.mkdir(parents=True)
    library.write_bytes(LIBRARY.read_bytes())
    fakes.add("towline")
    release = tmp_path / "repo/.build-release/release/towline"

    def find(argument: str = "", **environment: str) -> str:
        shell.environment = {"HOME": str(shell.home), "PATH": f"{fakes.folder}:/usr/bin:/bin", **environment}
        return shell.run(
            "bash", "-c", f"source {library}; towline_find {argument} || echo none"
        ).stdout.strip()

    assert find() == f"{fakes.folder}/towline"
    release.parent.mkdir(parents=True)
    release.write_text("#!/bin/sh\n")
    release.chmod(0o755)
    assert find() == str(release)
    assert find(TOWLINE="/bin/true") == "/bin/true"
    assert find("/bin/false", TOWLINE="/bin/true") == "/bin/false"
    # What was named and is missing is not replaced by another.
    assert find(TOWLINE="/none") == "none"
    assert find("/none", TOWLINE="/bin/true") == "none"


def test_other_shells_are_told(shell: Shell) -> None:
    done = shell.run("dash", "-c", f". {LIBRARY}")
    assert done.returncode == 64
    assert "bash 4.4 or newer is needed" in done.stderr


def test_requests_that_are_sent_together(shell: Shell, server: ScriptedServer) -> None:
    """One write, more than a pipe can buffer; answers arrive as events, also past the limit of the queue."""
    server.add("/a", DATA)
    done = shell.bash(
        f"""
        TOWLINE_QUEUE_LIMIT=50
        towline_open
        towline_send start '{{"id":"first","url":"{server.url("/a")}","path":"{shell.work}/a"}}'
        first=$TOWLINE_REQUEST
        for n in {{1..400}}; do towline_send get "id=none-$n-{"x" * 40}" x="{"y" * 200}"; done
        towline_flush
        towline_call ping
        answers=0
        while ((answers < 401)); do
            towline_event
            [[ ${{TOWLINE_EVENT[method]}} == answer ]] || continue
            ((++answers))
            if ((TOWLINE_EVENT[request] == first)); then
                echo "${{TOWLINE_EVENT[outcome]}} ${{TOWLINE_EVENT[id]}} ${{TOWLINE_EVENT[created]}}"
            elif [[ ${{TOWLINE_EVENT[outcome]}} != error ]]; then
                echo "not refused"
            fi
        done
        towline_close
        """
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "ok first true\n", "")


def test_only_the_members_that_are_wanted(shell: Shell, server: ScriptedServer) -> None:
    server.add("/a", DATA)
    done = shell.bash(
        f"""
        TOWLINE_FIELDS='state error.kind'
        towline_open
        towline_start {server.url("/a")} id=a path=$'a\\nb'
        echo "${{TOWLINE_ANSWER[state]}} $TOWLINE_ID|${{TOWLINE_ANSWER[url]:-}}|$TOWLINE_RESULT"
        towline_wait a
        echo "${{TOWLINE_ANSWER[state]}}"
        towline_get b || echo "$TOWLINE_ERROR_KIND"
        towline_list fields:='["path"]'
        jq -c '.downloads[0].path' <<<"$TOWLINE_RESULT"
        towline_close
        TOWLINE_FIELDS=''
        towline_open
        towline_get a
        echo "${{TOWLINE_ANSWER[path]##*/}} ${{TOWLINE_ANSWER[path.json]##*/}}"
        """
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout == (f'queued a||\ncompleted\ndownloadNotFound\n"{shell.work}/a\\nb"\na?b a\\nb"\n')
