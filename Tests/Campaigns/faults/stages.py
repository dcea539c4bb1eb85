"""One case: the scenario under the fault, checks, the end of the fault, and the rest of the downloads."""

from __future__ import annotations

import errno
from pathlib import Path
from random import Random

from campaign import Result
from scripted_server import ScriptedServer

from .case import Case, File, Over
from .points import Point
from .scenarios import SCENARIOS, leave
from .shim import FAIL, SIDES

#: Error kind by errno; all others are `io`.
KINDS = {
    errno.ENOSPC: "diskFull",
    errno.EDQUOT: "diskFull",
    errno.EFBIG: "fileTooLarge",
}
#: How the fault ends: by itself, after a kill of the process, or after its exit.
ENDINGS = ("live", "live", "kill", "leave")
KILL_BOUND_BYTES = 1 << 20


def run_point(
    binary: Path,
    library: Path,
    server: ScriptedServer,
    folder: Path,
    random: Random,
    point: Point,
    prefix: str,
) -> Result:
    case = Case(binary, library, server, folder, random, prefix)
    ending = random.choice(ENDINGS)
    case.arm = lambda: case.shim.arm(
        SIDES[point.side],
        point.calls,
        point.nth,
        error=point.error,
        for_ever=point.for_ever,
        mode=point.mode,
    )
    try:
        SCENARIOS[point.scenario](case)
        fired = case.shim.fired
        case.counts["points met" if fired else "points not reached"] += 1
        case.hear()
        case.check_names()
        case.check_flushed()
        _check_clear(case, point, fired)
        _end_fault(case, ending)
        case.finish_all()
        _check_refetched(case)
        case.hear()
        case.check_flushed()
        _check_end(case, point, ending)
    except Over:
        pass
    finally:
        case.close()
    failures = [f"{text}\n  at {point}, then {ending}" for text in dict.fromkeys(case.failures)]
    return Result(failures=failures, refetched_bytes=case.refetched_bytes, counts=case.counts)


def _check_clear(case: Case, point: Point, fired: int) -> None:
    """A permanent fault of the data disk is reported by kind and errno."""
    if case.host is None or not fired:
        return
    for file in case.files.values():
        if not file.promises.get("exists") or {"removed", "canceled"} & set(file.promises):
            continue
        download = case.get(file)
        if download is None:
            continue
        error = download["error"]
        case.counts[f"under the fault {download['state']}" + (f" {error['kind']}" if error else "")] += 1
        if download["state"] in ("completed", "paused") or point.side != "data" or point.mode != FAIL:
            continue
        if download["state"] not in ("failed", "waiting"):
            # After a single fault, a download that has not met it may still be active; one that waits for a
            # descriptor tries again and again.
            if point.for_ever and point.error != errno.EMFILE:
                case.fail(f"{file.id} is neither finished nor waiting: {download['state']}")
            continue
        kind = KINDS.get(point.error, "io")
        # A download that waits with others for a full disk may report the errno of another one.
        errors = (errno.ENOSPC, errno.EDQUOT) if kind == "diskFull" else (point.error,)
        if error is None or error["kind"] != kind or error["errno"] not in errors:
            case.fail(
                f"{file.id} is {download['state']} and reports {error}, not {kind} and errno {point.error}"
            )
        elif kind == "diskFull" and (download["state"], download["reason"]) != ("waiting", "diskFull"):
            case.fail(f"{file.id} is {download['state']}/{download['reason']} on a full disk")


def _end_fault(case: Case, ending: str) -> None:
    for file in case.files.values():
        download = case.get(file) if case.host is not None and file.promises.get("exists") else None
        file.held_bytes = download["receivedBytes"] if download else 0
        file.seen_requests = len(case.server.requests(f"/{case.prefix}/{file.id}"))
    if case.host is not None and ending == "kill":
        case.hear()
        case.host.kill()
        case.host = None
    elif case.host is not None and ending == "leave":
        case.hear()
        leave(case)
    case.shim.repair()
    if case.host is None:
        if not case.launch():
            case.fail("the service does not start after the repair")
            raise Over
        case.check_promises()
        case.counts[f"ended by {ending}"] += 1
    else:
        case.counts["ended by live"] += 1


def _refetched(case: Case, file: File) -> int:
    later = case.server.requests(f"/{case.prefix}/{file.id}")[file.seen_requests :]
    return max(0, file.held_bytes - later[0].range_start) if later and file.held_bytes else 0


def _check_refetched(case: Case) -> None:
    """What the service reported as received is kept; a kill may lose up to 1 MiB."""
    for file in case.files.values():
        count = _refetched(case, file)
        case.refetched_bytes = max(case.refetched_bytes, count)
        if count > KILL_BOUND_BYTES:
            case.fail(f"{file.id}: {count} received bytes were fetched again")


def _check_end(case: Case, point: Point, ending: str) -> None:
    """What is left at the end."""
    assert case.host is not None
    for file in case.files.values():
        download = None if file.promises.get("removed") else case.get(file)
        if download and download["state"] == "canceled":
            case.host.call("remove", id=file.id)
    leave(case)
    case.check_database()
    # A file that the service had made when it could not record it, before it exited.
    may_stay = point.side == "state" and ending != "live"
    # The kill may come before the message that a file could not be removed.
    refused = any(entry.injected and entry.call in ("unlink", "stat") for entry in case.shim.log())
    may_stay |= point.side == "data" and ending == "kill" and refused
    said = "".join(host.stderr for host in case.hosts)
    names = {file.path.name for file in case.files.values()} | {"f.bin"}
    for name in sorted(path.name for path in case.data.iterdir()):
        # Also allowed: a file that could not be removed, with a message.
        if name not in names and not may_stay and f"cannot remove {case.data / name}" not in said:
            case.fail(f"{name} was left behind")
    aside = [path.name for path in case.state.iterdir() if ".damaged-" in path.name]
    if aside and point.scenario != "damaged":
        case.fail(f"a sound database has been set aside: {aside}")
