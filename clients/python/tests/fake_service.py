"""A stand-in for the service where a test needs what the real one does not do: it speaks protocol 1.0 in one
loop, keeps nothing, and misbehaves on request. Every message that it reads goes to the file FAKE_LOG.

FAKE_STATUS: exit at once with this status. FAKE_CRASH: die of SIGKILL at this method, once for each
character in the file FAKE_CRASHES.
"""

import json
import os
import signal
import sys
import time
from typing import Any, Optional

DOWNLOAD: dict[str, Any] = {
    "id": "d1",
    "url": "http://h/f",
    "finalUrl": None,
    "path": "/d/f",
    "partialPath": None,
    "keptPaths": [],
    "suggestedFileName": None,
    "contentType": None,
    "state": "active",
    "reason": None,
    "phase": None,
    "owner": "self",
    "receivedBytes": 10,
    "totalBytes": 100,
    "transferredBytes": 10,
    "contiguousBytes": 10,
    "bytesPerSecond": None,
    "etaMs": None,
    "connections": 1,
    "attempt": 1,
    "resumable": True,
    "lengthVerified": True,
    "transfer": None,
    "retryAt": None,
    "checksum": None,
    "error": None,
    "priority": 0,
    "metadata": None,
    "createdAt": "2026-01-02T03:04:05.678Z",
    "updatedAt": "2026-01-02T03:04:05.678Z",
    "completedAt": None,
    "revision": 1,
    "aMemberOfALaterVersion": [1, 2],
}
INFO: dict[str, Any] = {
    "name": "towline",
    "version": "9.9.9",
    "protocol": "1.0",
    "capabilities": {},
    "limits": {},
    "stateDirectory": "/",
    "libraries": {},
    "processId": os.getpid(),
    "uptimeMs": 0,
    "session": f"session-{os.getpid()}",
}
SETTINGS = {
    "maxActive": 8,
    "maxActivePerHost": 6,
    "progressIntervalMs": 250,
    "defaults": {"headers": {}, "userAgent": None, "connectTimeoutMs": 1, "stallTimeoutMs": 1, "retry": {}},
}


def write(message: dict[str, Any]) -> None:
    data = json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n"
    while data:
        data = data[os.write(1, data) :]


def event(seq: int, **members: Any) -> None:
    params = {"session": INFO["session"], "seq": seq, "download": {**DOWNLOAD, **members}}
    write({"method": "changed", "params": params})


def progress(received: int) -> None:
    names = ("id", "path", "attempt", "totalBytes", "bytesPerSecond", "etaMs", "connections")
    params = {"session": INFO["session"], "receivedBytes": received, **{n: DOWNLOAD[n] for n in names}}
    write({"method": "progress", "params": params})


def result_of(method: str, params: dict[str, Any]) -> Optional[Any]:
    download = {**DOWNLOAD, "id": params.get("id", "d1")}
    page = {"removed": [], "nextCursor": None, "revision": 1, "session": INFO["session"], "seq": 0}
    if method == "big":
        return {"text": "x" * params["size"]}
    if method == "events":
        for seq in range(1, params["changes"] + 1):
            event(seq)
            progress(seq)
        if params.get("final"):
            event(params["changes"] + 1, state="completed", owner="none")
        return {}
    if method == "sleep":
        time.sleep(params["seconds"])
        return {}
    if method == "garbage":
        for data in (b"not json\n", b"[]\n", b'{"jsonrpc":"2.0","id":99999,"result":{}}\n', b"\xff\n\n"):
            os.write(1, data)
        write({"method": "announcedLater", "params": {}})
        write({"method": "changed", "params": {"download": 3}})
        return {}
    if method == "resume" and "all" not in params:
        return {"download": download, "seq": 0, "changed": True}
    if method == "list" and "ids" in params:
        interrupted = {"state": "paused", "reason": "interrupted", "owner": "none"}
        return {"downloads": [{**DOWNLOAD, "id": i, **interrupted} for i in params["ids"]], **page}
    results: dict[str, Any] = {
        "initialize": INFO,
        "info": INFO,
        "ping": {},
        "start": {"download": download, "seq": 0, "created": True, "resumed": False},
        "get": {"download": download},
        "list": {"downloads": [], **page},
        "pause": {"download": download, "seq": 0, "changed": True},
        "update": {"download": {**download, "url": params.get("url", "http://h/f")}},
        "export": {"resumeData": "opaque"},
        "configure": SETTINGS,
        "subscribe": {"subscription": f"s{os.getpid()}", "session": INFO["session"], "seq": 0},
        "unsubscribe": {},
        "wait": {"download": {**download, "state": "completed", "owner": "none"}, "timedOut": False},
        "odd": [],
    }
    return results.get(method)


def crashes() -> bool:
    """True once for each character in the file."""
    path = os.environ.get("FAKE_CRASHES", "")
    if not path or not os.path.getsize(path):
        return False
    os.truncate(path, os.path.getsize(path) - 1)
    return True


def main() -> None:
    if "FAKE_STATUS" in os.environ:
        print("towline: error: cannot use the state directory", file=sys.stderr)
        sys.exit(int(os.environ["FAKE_STATUS"]))
    with open(os.path.join(os.path.dirname(os.environ["FAKE_LOG"]), "pids"), "a") as pids:
        pids.write(f"{os.getpid()}\n")
    for line in sys.stdin.buffer:
        message = json.loads(line)
        with open(os.environ["FAKE_LOG"], "a") as log:
            log.write(json.dumps(message) + "\n")
        method = message["method"]
        if method == os.environ.get("FAKE_CRASH") and crashes():
            os.kill(os.getpid(), signal.SIGKILL)
        if "id" not in message:
            continue
        result = result_of(method, message.get("params") or {})
        if result is None:
            error = {"code": -32601, "message": "no such method", "data": {"kind": "methodNotFound"}}
            write({"id": message["id"], "error": error})
        else:
            write({"id": message["id"], "result": result})


if __name__ == "__main__":
    main()
