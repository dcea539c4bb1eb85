"""The command `python -m towline`."""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import json
import os
import signal
import sys
from collections.abc import Iterable, Sequence
from types import FrameType
from typing import Any, Optional

from . import __version__
from .binary import find_binary
from .calls import StartOptions, absolute
from .display import Lines, display, name_of, plain, size
from .errors import DestinationConflict, LockedElsewhere, RPCError, TowlineError
from .models import (
    Changed,
    Checksum,
    Download,
    EventsLost,
    Outcome,
    Progress,
    Removed,
    State,
    without_userinfo,
)
from .sync import Events, Towline

INTERRUPTED = 128 + signal.SIGINT
#: Waiting for one of these is waiting for the user.
HOPELESS = frozenset({"needsUrl", "diskFull"})
UNFINISHED: tuple[State, ...] = ("queued", "active", "waiting", "paused")
ALL: tuple[State, ...] = (*UNFINISHED, "failed", "completed", "canceled")


def main(arguments: Optional[Sequence[str]] = None) -> int:
    """Runs the command; returns its exit status: 0 all came, 1 not all came, 2 usage, 130 after Ctrl-C."""
    options = parser().parse_args(arguments)
    signal.signal(signal.SIGTERM, _end)
    try:
        return int(options.run(options))
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:
        # Whoever read our output has gone; Python would complain of that once more at its end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except (TowlineError, OSError, ValueError) as error:
        complain(str(error))
        return 1


def _end(number: int, frame: Optional[FrameType]) -> None:
    """SIGTERM: as orderly as Ctrl-C."""
    sys.exit(128 + number)


def complain(text: str) -> None:
    print(f"towline: {plain(text)}", file=sys.stderr)


# The commands


def get(options: argparse.Namespace) -> int:
    if options.output is not None and len(options.url) > 1:
        complain("-o names one file, and there are several URLs")
        return 2
    with client(options) as service, shown(options) as view:
        events = service.events()
        begun: list[Download] = []
        failed = 0
        for url in dict.fromkeys(options.url):
            try:
                begun.append(begin(service, url, options))
            except (RPCError, OSError) as error:
                failed += 1
                view.say(f"failed   {plain(url.partition('?')[0])} ({plain(str(error))})")
        if options.background:
            for download in begun:
                print(download.id)
            return 1 if failed else 0
        return 1 if follow(service, events, begun, view) or failed else 0


def begin(service: Towline, url: str, options: argparse.Namespace) -> Download:
    """Starts a download or goes on with it, so that the same command can be given again at any time."""
    start: StartOptions = {"if_exists": options.if_exists, "background": options.background}
    if options.checksum is not None:
        start["checksum"] = options.checksum
    if options.header:
        start["headers"] = dict(options.header)
    place = absolute(options.output if options.output is not None else options.directory)
    identity = "\0".join((url, place, str(options.output is None), str(options.checksum), options.if_exists))
    start["id"] = "get-" + hashlib.sha256(identity.encode()).hexdigest()[:32]

    def ask() -> Download:
        if options.output is not None:
            return service.start(url, place, **start).download
        return service.start(url, directory=place, create_directories=True, **start).download

    try:
        found = ask()
    except (DestinationConflict, LockedElsewhere) as conflict:
        holder = conflict.data.get("id")
        if not isinstance(holder, str):
            raise
        # A record of the very same download is as good, be it another program's or another process at work.
        found = service.get(holder)
        if found.url != without_userinfo(url):
            raise
    if found.owner == "other":
        service.subscribe(ids=[found])
        found = service.get(found)  # it may have ended before we looked on
    if found.state == "canceled" or (found.state == "completed" and not still_there(found)):
        service.remove(found)
        found = ask()
    elif found.state in ("paused", "failed"):
        found = service.resume(found).download
    return found


def still_there(download: Download) -> bool:
    """Whether the file of a completed download is where it was put, as long as it was."""
    with contextlib.suppress(OSError):
        if download.path is not None:
            present = os.stat(download.path).st_size
            return download.total_bytes is None or present == download.total_bytes
    return False


def follow(service: Towline, events: Events, begun: Iterable[Download], view: Lines) -> int:
    """Shows the downloads until each has come, or cannot go on by itself; returns how many have not come."""
    failed = 0
    open_ids = {download.id for download in begun}

    def look(download: Download) -> None:
        nonlocal failed
        if download.id not in open_ids:
            return
        view.changed(download)
        if download.is_interrupted and download.owner == "none":
            with contextlib.suppress(RPCError):  # the process that fetched it has gone
                service.resume(download)
            return
        stopped = download.state == "paused" and not download.is_interrupted
        if download.is_final or stopped or download.reason in HOPELESS:
            open_ids.discard(download.id)
            if download.state == "completed":
                print(download.path, flush=True)
            else:
                failed += 1

    for download in begun:
        look(download)
    while open_ids:
        event = next(events)
        if isinstance(event, Changed):
            look(event.download)
        elif isinstance(event, Progress) and event.id in open_ids:
            view.progress(event)
        elif isinstance(event, Removed) and event.revision is None and event.id in open_ids:
            # By another process: its end cannot be asked any more. What this one removes, it starts again.
            open_ids.discard(event.id)
            complain(f"{event.id} was removed by another process")
            failed += 1
        elif isinstance(event, EventsLost):
            for known in list(open_ids):
                look(service.get(known))
    return failed


def resume(options: argparse.Namespace) -> int:
    with client(options) as service, shown(options) as view:
        events = service.events()
        begun = []
        failed = 0
        for target in targets(service, options):
            try:
                begun.append(service.resume(target).download)
            except RPCError as error:
                failed += 1
                complain(str(error))
        return 1 if follow(service, events, begun, view) or failed else 0


def pause(options: argparse.Namespace) -> int:
    with client(options) as service:
        return tell(service, options, service.pause)


def cancel(options: argparse.Namespace) -> int:
    with client(options) as service:
        return tell(service, options, service.cancel)


def tell(service: Towline, options: argparse.Namespace, change: Any) -> int:
    failed = 0
    for target in targets(service, options):
        try:
            outcome: Outcome = change(target)
            was = "" if outcome.changed else " already"
            print(f"{outcome.download.id} {outcome.download.state}{was}")
        except RPCError as error:
            failed += 1
            complain(str(error))
    return 1 if failed else 0


def targets(service: Towline, options: argparse.Namespace) -> list[str]:
    """The ids of what the command line names by id or by URL."""
    if options.all:
        return [download.id for download in service.list(states=UNFINISHED)]
    if not options.target:
        raise ValueError("name downloads by id or URL, or give --all")
    ids: list[str] = []
    for target in options.target:
        if "://" not in target:
            ids.append(target)
            continue
        found = [d.id for d in service.list(states=(*UNFINISHED, "failed")) if d.url == target]
        if not found:
            raise ValueError(f"there is no unfinished download of {target.partition('?')[0]}")
        ids += found
    return ids


def list_(options: argparse.Namespace) -> int:
    states: Sequence[State] = options.state or ALL
    with client(options) as service:
        if options.json:
            for value in service.list_values(states=states):
                print(json.dumps(value))
            return 0
        for download in service.list(states=states):
            amount = size(download.received_bytes)
            if download.state != "completed":
                amount = f"{amount} of {size(download.total_bytes)}"
            reason = download.error.kind if download.error is not None else download.reason
            state = download.state + (f" ({reason})" if reason else "")
            print(f"{download.id}  {state}  {amount}  {plain(download.path or name_of(download))}")
    return 0


def which(options: argparse.Namespace) -> int:
    print(find_binary(options.towline))
    return 0


# The command line


def client(options: argparse.Namespace) -> Towline:
    return Towline(
        options.towline,
        app=options.app,
        state_dir=options.state_dir,
        args=["--proxy-from-environment"] if options.proxy_from_environment else [],
        progress_interval_ms=200,
    )


def shown(options: argparse.Namespace) -> Lines:
    return display(quiet=options.quiet, bars=False if options.no_bars else None)


def header(text: str) -> tuple[str, str]:
    name, colon, value = text.partition(":")
    if not colon or not name.strip():
        raise argparse.ArgumentTypeError(f"not a header, which looks like 'Name: value': {text}")
    return name.strip(), value.strip()


def checksum(text: str) -> Checksum:
    try:
        return Checksum.parse(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def parser() -> argparse.ArgumentParser:
    common = argparse.ArgumentParser(add_help=False)
    common.add_argument("--towline", metavar="PATH", help="the service to run (else $TOWLINE, bundled, PATH)")
    common.add_argument("--app", metavar="NAME", help="whose downloads (default: default)")
    common.add_argument("--state-dir", metavar="DIR", help="where records are kept")
    common.add_argument(
        "--proxy-from-environment",
        action="store_true",
        help="use the proxies of http_proxy, https_proxy, all_proxy, no_proxy",
    )
    showing = argparse.ArgumentParser(add_help=False)
    showing.add_argument("-q", "--quiet", action="store_true", help="tell of failures only")
    showing.add_argument("--no-bars", action="store_true", help="lines instead of progress bars")
    naming = argparse.ArgumentParser(add_help=False)
    naming.add_argument("target", nargs="*", metavar="URL|ID", help="which downloads")
    naming.add_argument("--all", action="store_true", help="all that are unfinished")

    made = argparse.ArgumentParser(
        prog="python -m towline",
        description="Download files that survive a Ctrl-C, a crash and a power cut.",
        epilog="Exit status: 0 all came, 1 not all came, 2 usage, 130 Ctrl-C (the same command goes on).",
    )
    made.add_argument("--version", action="version", version=f"towline {__version__}")
    commands = made.add_subparsers(required=True, metavar="COMMAND")

    add = commands.add_parser("get", parents=[common, showing], help="download, or go on where it was")
    add.set_defaults(run=get)
    add.add_argument("url", nargs="+", metavar="URL")
    place = add.add_mutually_exclusive_group()
    place.add_argument("-o", "--output", metavar="FILE", help="the file to make")
    place.add_argument("-d", "--directory", metavar="DIR", default=".", help="for the files; made if missing")
    add.add_argument("--checksum", type=checksum, metavar="ALGORITHM:HEX", help="what the file must have")
    add.add_argument(
        "--if-exists",
        choices=("error", "overwrite", "rename", "skip"),
        default="error",
        help="when another file has the name (default: error)",
    )
    add.add_argument(
        "-H", "--header", action="append", type=header, metavar="'NAME: VALUE'", help="a request header"
    )
    add.add_argument("-b", "--background", action="store_true", help="go on without this command; prints ids")

    for name, run, text, parents in (
        ("pause", pause, "stop downloads, keep what is there", [common, naming]),
        ("resume", resume, "go on with downloads and show them", [common, showing, naming]),
        ("cancel", cancel, "give downloads up", [common, naming]),
    ):
        commands.add_parser(name, parents=parents, help=text).set_defaults(run=run)

    add = commands.add_parser("list", parents=[common], help="show the downloads")
    add.set_defaults(run=list_)
    add.add_argument("--state", action="append", choices=ALL, help="only these; may be given several times")
    add.add_argument("--json", action="store_true", help="a JSON object a line")

    commands.add_parser("which", parents=[common], help="print the path of the service").set_defaults(
        run=which
    )
    return made
