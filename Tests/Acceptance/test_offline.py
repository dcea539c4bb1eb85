"""Waiting for the network: when it is down, how the wait ends, and which failures have another cause."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from fixtures import Launcher, WallClock
from network import BEYOND, CLIENT, SERVER, Network, obstacle
from scripted_server import Behaviour, ScriptedServer, content
from support import MIB, NO_RETRY, fetch, finish, poll, resume_start
from towline_client import JSON, Towline

HOUR = 3_600


@pytest.fixture(scope="session")
def may_make_networks() -> None:
    reason = obstacle()
    if reason is not None:
        pytest.skip(reason)


@pytest.fixture
def network(may_make_networks: None) -> Iterator[Network]:
    made = Network()
    yield made
    made.close()


@pytest.fixture
def host(launch: Launcher, network: Network) -> Towline:
    return launch(prefix=network.prefix)


def start(host: Towline, url: str, path: Path, **params: object) -> None:
    host.call("start", id="d", url=url, path=str(path), **{"retry": NO_RETRY, **params})


def wait_offline(host: Towline, download_id: str = "d") -> JSON:
    download = host.wait_state(download_id, "waiting", "failed")
    assert (download["state"], download["reason"]) == ("waiting", "offline"), download["error"]
    assert download["retryAt"] is None
    return download


def attempts(host: Towline) -> int:
    return len(host.call("inspect", id="d")["attempts"])


def test_a_download_waits_for_the_network_and_goes_on_with_it(
    host: Towline, network: Network, work: Path
) -> None:
    server = network.server()
    server.add("/f", b"x")
    start(host, server.url("/f"), work / "f")
    assert wait_offline(host)["error"]["kind"] == "connect"
    assert host.call("inspect", id="d")["consecutiveFailures"] == 0
    network.up()
    assert finish(host, "d")["state"] == "completed"


def test_a_route_is_enough_and_no_retry_is_spent(host: Towline, network: Network, work: Path) -> None:
    """The network comes and goes; the only retry is kept for failures of the server."""
    server = network.server()
    server.add("/f", b"x").then(Behaviour(status=503))
    start(host, server.url("/f"), work / "f", retry={"maxAttempts": 1, "initialDelayMs": 10})
    wait_offline(host)
    for tries in range(2, 5):
        host.call("resume", id="d")
        poll(lambda n=tries: attempts(host) == n, what="another try")
        wait_offline(host)
    network.up(default_route=False)
    assert finish(host, "d")["state"] == "completed"
    assert len(server.requests()) == 2


def test_a_name_that_nobody_can_be_asked_for_waits(launch: Launcher, network: Network, work: Path) -> None:
    server = network.server()
    server.add("/f", b"x")
    network.serve_names(SERVER)
    host = launch(prefix=network.prefix)
    start(host, server.url("/f", host="files.example"), work / "f")
    assert wait_offline(host)["error"]["kind"] == "dns"
    network.up()
    assert finish(host, "d")["state"] == "completed"
    assert host.call("get", id="d")["download"]["error"] is None


def test_a_place_that_only_the_default_route_leads_to_waits_for_it(
    host: Towline, network: Network, work: Path
) -> None:
    server = network.server(BEYOND)
    server.add("/f", b"x")
    network.up(default_route=False)
    start(host, server.url("/f"), work / "f")
    wait_offline(host)
    network.up()
    assert finish(host, "d")["state"] == "completed"


def test_a_network_that_goes_while_bytes_come_is_waited_for(
    host: Towline, network: Network, work: Path
) -> None:
    data = content(1, 2 * MIB)
    server = network.server()
    server.add("/f", data).then(Behaviour(hold_after=MIB))
    network.up()
    start(host, server.url("/f"), work / "f", stallTimeoutMs=1_000)
    host.wait_received("d", MIB)
    network.down()
    assert wait_offline(host)["receivedBytes"] == MIB
    network.up()
    done = finish(host, "d")
    assert (done["state"], done["transfer"]["mode"]) == ("completed", "resumed")
    assert (work / "f").read_bytes() == data
    assert [r.range_start for r in server.requests()] == [0, resume_start(MIB)]


def test_a_pulled_cable_is_an_absent_network(host: Towline, network: Network, work: Path) -> None:
    """The routes still exist."""
    server = network.server()
    server.add("/f", b"x")
    network.up()
    network.pull_cable()
    start(host, server.url("/f"), work / "f", connectTimeoutMs=1_000)
    wait_offline(host)
    network.plug_cable()
    assert finish(host, "d")["state"] == "completed"


@pytest.mark.parametrize("kind", ["blackhole", "prohibit", "unreachable"])
def test_a_route_that_leads_nowhere_is_an_absent_network(
    host: Towline, network: Network, work: Path, kind: str
) -> None:
    server = network.server(BEYOND)
    server.add("/f", b"x")
    network.up(default_route=False)
    network.route("add", kind, "default")
    start(host, server.url("/f"), work / "f")
    wait_offline(host)
    assert host.call("inspect", id="d")["consecutiveFailures"] == 0
    network.route("del", kind, "default")
    network.up()
    assert finish(host, "d")["state"] == "completed"


@pytest.mark.parametrize("kind", ["prohibit", "unreachable"])
def test_a_rule_that_goes_brings_the_network_back(
    host: Towline, network: Network, work: Path, kind: str
) -> None:
    """No address, link or route changes."""
    server = network.server()
    server.add("/f", b"x")
    network.up()
    poll(network.is_quiet, what="the addresses")
    network.rule("add", "prio", "10", "to", SERVER, kind)
    start(host, server.url("/f"), work / "f")
    wait_offline(host)
    # By time alone, each try would wait longer than the one before.
    for tries in range(2, 5):
        host.call("resume", id="d")
        poll(lambda n=tries: attempts(host) == n, what="another try")
        wait_offline(host)
    # The service checks once more soon after a wait begins.
    time.sleep(1)
    network.rule("del", "prio", "10")
    assert host.wait_state("d", "completed", timeout=8)["state"] == "completed"


def test_where_the_routes_cannot_tell_it_tries_again(
    launch: Launcher, network: Network, clock: WallClock, work: Path
) -> None:
    """A machine on the local network is down; nothing changes on this machine when it appears."""
    network.up(default_route=False)
    host = launch(prefix=network.prefix, env=clock.environment)
    late = "10.219.7.9"
    start(host, f"http://{late}:8765/f", work / "f", connectTimeoutMs=500)
    wait_offline(host)
    network.add_address(late)
    network.server(late, port=8765).add("/f", b"x")
    # In steps too short to look as if the process had been stopped.
    for seconds in (3, 6):
        clock.pass_by(seconds)
        time.sleep(1.2)
    assert finish(host, "d")["state"] == "completed"
    assert len(network.servers[0].requests()) == 1


def test_even_this_machine_can_be_out_of_reach(host: Towline, network: Network, work: Path) -> None:
    server = network.server("127.0.0.1", near=True)
    server.add("/f", b"x")
    network.loopback("down")
    start(host, server.url("/f", host="localhost"), work / "f", connectTimeoutMs=500)
    wait_offline(host)
    network.loopback("up")
    assert finish(host, "d")["state"] == "completed"


def test_connections_from_before_a_suspend_are_not_used_again(
    launch: Launcher, server: ScriptedServer, clock: WallClock, work: Path
) -> None:
    """Middleboxes may have dropped them without notice."""
    server.add("/f", b"x")
    host = launch(env=clock.environment)
    for name in ("1", "2"):
        assert fetch(host, server.url("/f"), work / name)["state"] == "completed"
    clock.suspend(HOUR)
    for name in ("3", "4"):
        assert fetch(host, server.url("/f"), work / name)["state"] == "completed"
    first, second, third, _ = [r.connection for r in server.requests()]
    assert first == second
    assert third != second


def test_all_that_wait_go_on(host: Towline, network: Network, work: Path) -> None:
    server = network.server()
    names = [f"d{n}" for n in range(20)]
    for name in names:
        server.add(f"/{name}", name.encode())
        host.call("start", id=name, url=server.url(f"/{name}"), path=str(work / name), retry=NO_RETRY)
    for name in names:
        wait_offline(host, name)
    network.up()
    counts = host.call("wait", all=True, timeout=60)["counts"]
    assert counts["completed"] == len(names)


def test_commands_end_the_wait(host: Towline, network: Network, work: Path) -> None:
    server = network.server()
    server.add("/f", b"x")
    start(host, server.url("/f"), work / "f")
    wait_offline(host)
    assert host.call("pause", id="d")["download"]["reason"] == "user"
    network.up()
    with pytest.raises(AssertionError):
        host.wait_state("d", "completed", "active", timeout=1.5)
    assert server.requests() == []
    host.call("resume", id="d")
    assert finish(host, "d")["state"] == "completed"


@pytest.mark.parametrize("kind", ["the system's", "a virtual machine's"])
def test_a_suspend_ends_the_wait(
    launch: Launcher, network: Network, clock: WallClock, work: Path, kind: str
) -> None:
    """Nothing reports a network change during system sleep, so the service tries at once after waking."""
    host = launch(prefix=network.prefix, env=clock.environment)
    server = network.server()
    start(host, server.url("/f"), work / "f")
    wait_offline(host)
    assert attempts(host) == 1
    if kind == "the system's":
        clock.suspend(HOUR)
    else:
        clock.pass_by(HOUR)
    poll(lambda: attempts(host) == 2, what="another try")
    wait_offline(host)
    assert host.call("inspect", id="d")["consecutiveFailures"] == 0


def test_after_a_minute_the_wait_counts_as_settled(
    launch: Launcher, network: Network, clock: WallClock, work: Path
) -> None:
    host = launch(prefix=network.prefix, env=clock.environment)
    start(host, f"http://{SERVER}/f", work / "f")
    wait_offline(host)
    waiting = host.send("wait", {"id": "d", "until": "settled"})
    assert host.call("wait", id="d", until="settled", timeoutMs=300)["timedOut"] is True
    clock.pass_by(61)
    answer = host.answer(waiting)
    assert (answer["timedOut"], answer["download"]["reason"]) == (False, "offline")


@pytest.mark.parametrize("door", ["another process", "the next process"])
def test_after_a_minute_it_counts_as_settled_for_whoever_waits(
    launch: Launcher, network: Network, clock: WallClock, work: Path, door: str
) -> None:
    """Also for a session that did not start the download."""
    host = launch(prefix=network.prefix, env=clock.environment)
    start(host, f"http://{SERVER}/f", work / "f")
    wait_offline(host)
    if door == "the next process":
        host.kill()
        other = launch("--resume-on-start", prefix=network.prefix, env=clock.environment)
        poll(lambda: other.call("get", id="d")["download"]["reason"] == "offline", what="another wait")
    else:
        other = launch(prefix=network.prefix, env=clock.environment)
    waits = [other.send("wait", {**what, "until": "settled"}) for what in ({"id": "d"}, {"ids": ["d"]})]
    assert other.call("wait", id="d", until="settled", timeoutMs=1_000)["timedOut"] is True
    clock.pass_by(61)
    answers = [other.answer(wait) for wait in waits]
    assert [answer["timedOut"] for answer in answers] == [False, False]
    assert answers[0]["download"]["reason"] == "offline"
    assert answers[1]["counts"]["waiting"] == 1


def test_a_pipeline_ends_after_a_minute_without_a_network(
    launch: Launcher, network: Network, clock: WallClock, work: Path
) -> None:
    host = launch(prefix=network.prefix, env=clock.environment)
    start(host, f"http://{SERVER}/f", work / "f")
    wait_offline(host)
    host.close_stdin()
    clock.pass_by(61)
    assert host.wait_exit(20) == 1


# Failures that do not mean a missing network


def test_a_server_that_refuses_is_there(host: Towline, network: Network, work: Path) -> None:
    network.up(default_route=False)
    start(host, f"http://{SERVER}:9/f", work / "f")
    done = finish(host, "d")
    assert (done["state"], done["error"]["kind"]) == ("failed", "connect")


def test_a_link_without_carrier_is_no_matter_to_this_machine(
    host: Towline, network: Network, work: Path
) -> None:
    """Traffic to an address of this machine never leaves it."""
    data = content(1, MIB)
    network.up(default_route=False)
    second = "10.219.7.3"
    network.add_own_address(second)
    network.pull_cable()
    for address in (CLIENT, second):
        server = network.server(address, near=True)
        server.add("/f", data).then(Behaviour(drop_after=MIB // 2))
        name = f"f-{address}"
        host.call(
            "start",
            id=name,
            url=server.url("/f"),
            path=str(work / name),
            retry={"maxAttempts": 2, "initialDelayMs": 10},
        )
        assert host.wait_state(name, "completed", "failed")["state"] == "completed"
        assert (work / name).read_bytes() == data
        host.call(
            "start", id=f"r-{address}", url=f"http://{address}:9/f", path=str(work / "r"), retry=NO_RETRY
        )
        done = host.wait_state(f"r-{address}", "completed", "failed")
        assert (done["state"], done["error"]["kind"]) == ("failed", "connect")


def test_this_machine_needs_no_network(host: Towline, network: Network, work: Path) -> None:
    start(host, "http://127.0.0.1:9/f", work / "f")
    done = finish(host, "d")
    assert (done["state"], done["error"]["kind"]) == ("failed", "connect")


def test_a_name_that_is_not_known_is_no_absent_network(
    launch: Launcher, network: Network, work: Path
) -> None:
    """The network works, but its name server is down."""
    network.serve_names(SERVER)
    assert network.names is not None
    network.names.close()
    network.up()
    host = launch(prefix=network.prefix)
    start(host, "http://files.example/f", work / "f")
    done = finish(host, "d")
    assert (done["state"], done["error"]["kind"]) == ("failed", "dns")


def test_a_server_that_is_silent_on_a_network_is_no_absent_network(
    host: Towline, network: Network, work: Path
) -> None:
    network.up()
    start(host, "http://10.221.0.1/f", work / "f", connectTimeoutMs=500)
    done = finish(host, "d")
    assert done["state"] == "failed"
