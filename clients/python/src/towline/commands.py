"""What the subcommands of the command do."""

from __future__ import annotations

import argparse
import contextlib
import json
from collections.abc import Sequence
from types import TracebackType
from typing import Any, Optional

from .binary import find_binary
from .compat import Self
from .display import Lines, display
from .errors import RPCError, TowlineError
from .events import Changed, EventsLost, Progress, Removed
from .kept import Wanted, bare, begin, forget, records_of, replace_failed
from .models import Download, Outcome, State, without_userinfo
from .options import StartOptions
from .streams import complain
from .sync import Events, Towline
from .text import name_of, plain, size

#: Waiting for one of these is waiting for the user.
HOPELESS = frozenset({"needsUrl", "diskFull"})
UNFINISHED: tuple[State, ...] = ("queued", "active", "waiting", "paused")
FINAL: tuple[State, ...] = ("failed", "completed", "canceled")
ALL: tuple[State, ...] = (*UNFINISHED, *FINAL)


def client(options: argparse.Namespace) -> Towline:
    return Towline(
        options.towline,
        app=options.app,
        state_dir=options.state_dir,
        args=["--proxy-from-environment"] if options.proxy_from_environment else [],
        progress_interval=0.2,
    )


def shown(options: argparse.Namespace) -> Lines:
    return display(options.out, quiet=options.quiet, bars=False if options.no_bars else None)


class Following:
    """Downloads that are shown until each is finished, or cannot continue by itself."""

    def __init__(self, service: Towline, view: Lines) -> None:
        self._service = service
        self._view = view
        self._events: Events = service.events()
        self._wanted: dict[str, Wanted] = {}
        self._open: dict[str, Download] = {}
        self.failures = 0

    def add(self, download: Download, wanted: Optional[Wanted] = None) -> None:
        self._open[download.id] = download
        if wanted is not None:
            self._wanted[download.id] = wanted

    @property
    def ids(self) -> list[str]:
        return list(self._open)

    @property
    def taken(self) -> set[str]:
        """Every download that this command has, or had."""
        return {*self._open, *self._wanted}

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: Optional[type[BaseException]],
        error: Optional[BaseException],
        traceback: Optional[TracebackType],
    ) -> None:
        if isinstance(error, (KeyboardInterrupt, SystemExit)):
            self._say_what_is_kept()

    def run(self) -> None:
        for download in list(self._open.values()):
            self._see(download)
        while self._open:
            self._take(next(self._events))

    def _take(self, event: object) -> None:
        if isinstance(event, Changed):
            self._see(event.download)
        elif isinstance(event, Progress) and event.id in self._open:
            self._view.progress(event)
        elif isinstance(event, Removed) and event.revision is None and event.id in self._open:
            # By another process: its end cannot be asked any more. What this one removes, it starts again.
            del self._open[event.id]
            complain(f"{event.id} was removed by another process")
            self.failures += 1
        elif isinstance(event, EventsLost):
            for known in self.ids:
                self._see(self._service.get(known))

    def _see(self, download: Download) -> None:
        if download.id not in self._open:
            return
        self._open[download.id] = download
        if download.state == "failed" and self._replace(download):
            return
        self._view.changed(download)
        if download.is_interrupted and download.owner == "none":
            with contextlib.suppress(RPCError):  # the process that had it ended
                self._service.resume(download)
            return
        stopped = download.state == "paused" and not download.is_interrupted
        if download.is_final or stopped or download.reason in HOPELESS:
            del self._open[download.id]
            if download.state == "completed":
                self._view.path(download.path)
            else:
                self.failures += 1

    def _replace(self, failed: Download) -> bool:
        wanted = self._wanted.get(failed.id)
        if wanted is None:
            return False
        with contextlib.suppress(RPCError):
            found = replace_failed(self._service, wanted, failed, self.taken)
            if found is not None:
                del self._open[failed.id]
                self.add(found, wanted)
                self._see(found)
                return True
        return False

    def _say_what_is_kept(self) -> None:
        """After Ctrl-C: what finished meanwhile is printed, and of the rest how much is kept."""
        self._view.end()
        received: dict[str, int] = {}
        with contextlib.suppress(TowlineError):  # it ends anyway
            for download in self._service.list(states=UNFINISHED):
                if download.id in self._open:
                    self._open[download.id] = download
            self._service.shutdown("suspend")
            while (event := self._events.poll()) is not None:
                if isinstance(event, Progress):
                    received[event.id] = event.received_bytes
                elif isinstance(event, Changed) and event.download.state == "completed":
                    self._see(event.download)
        mine = [download for download in self._open.values() if download.owner != "other"]
        for download in mine:
            count = max(received.get(download.id, 0), download.received_bytes)
            self._view.note(f"kept     {name_of(download)} ({size(count)} of {size(download.total_bytes)})")
        if mine:
            self._view.note("the same command resumes")


def get(options: argparse.Namespace) -> int:
    if options.output is not None and len(options.url) > 1:
        complain("-o names one file, and there are several URLs")
        return 2
    start: StartOptions = {"if_exists": options.if_exists, "background": options.background}
    if options.header:
        start["headers"] = dict(options.header)
    wanted = [
        Wanted.build(url, options.output, options.directory, options.checksum, start)
        for url in dict.fromkeys(options.url)
    ]
    with client(options) as service, shown(options) as view:
        if options.forget:
            return 1 if sum(forget_all(service, one, view) for one in wanted) else 0
        with Following(service, view) as following:
            for one in wanted:
                try:
                    following.add(begin(service, one, following.taken), one)
                except RPCError as error:
                    following.failures += 1
                    view.failed(f"failed   {plain(bare(one.url))} ({plain(str(error))})")
            if options.background:
                for id in following.ids:
                    options.out.line(id)
            else:
                following.run()
        return 1 if following.failures else 0


def forget_all(service: Towline, wanted: Wanted, view: Lines) -> int:
    """Drops what is kept of one URL; returns how often that failed."""
    failures = 0
    records = list(records_of(service, wanted))
    for download in records:
        name = name_of(download)
        try:
            forget(service, download)
        except RPCError as error:
            failures += 1
            view.failed(f"failed   {name} ({plain(str(error))})")
            continue
        stays = download.state == "completed"
        what = "the file stays" if stays else f"{size(download.received_bytes)} deleted"
        view.note(f"forgot   {name} ({what})")
    if not records:
        view.note(f"forgot   {plain(wanted.name)} (nothing was kept)")
    return failures


def resume(options: argparse.Namespace) -> int:
    with client(options) as service, shown(options) as view:
        with Following(service, view) as following:
            for target in targets(service, options):
                try:
                    following.add(service.resume(target).download)
                except RPCError as error:
                    following.failures += 1
                    complain(str(error))
            following.run()
        return 1 if following.failures else 0


def pause(options: argparse.Namespace) -> int:
    with client(options) as service:
        return each(service, options, service.pause)


def cancel(options: argparse.Namespace) -> int:
    with client(options) as service:
        return each(service, options, service.cancel)


def each(service: Towline, options: argparse.Namespace, change: Any) -> int:
    failed = 0
    for target in targets(service, options):
        try:
            outcome: Outcome = change(target)
            was = "" if outcome.changed else " already"
            options.out.line(f"{outcome.download.id} {outcome.download.state}{was}")
        except RPCError as error:
            failed += 1
            complain(str(error))
    return 1 if failed else 0


def remove(options: argparse.Namespace) -> int:
    with client(options) as service:
        return drop(service, options, named(service, options.target, ALL))


def clean(options: argparse.Namespace) -> int:
    states: tuple[State, ...] = FINAL if options.failed else ("completed", "canceled")
    with client(options) as service:
        return drop(service, options, [download.id for download in service.list(states=states)])


def drop(service: Towline, options: argparse.Namespace, ids: Sequence[str]) -> int:
    failed = 0
    for id in ids:
        try:
            service.remove(id, delete_file=options.delete_file)
            options.out.line(f"{id} removed")
        except RPCError as error:
            failed += 1
            complain(str(error))
    return 1 if failed else 0


def targets(service: Towline, options: argparse.Namespace) -> list[str]:
    """The ids of the unfinished downloads that the command line names."""
    if options.all:
        return [download.id for download in service.list(states=UNFINISHED)]
    if not options.target:
        raise ValueError("name downloads by id or URL, or give --all")
    return named(service, options.target, (*UNFINISHED, "failed"))


def named(service: Towline, names: Sequence[str], states: Sequence[State]) -> list[str]:
    """The ids of what is named by id or by URL."""
    ids: list[str] = []
    for name in names:
        if "://" not in name:
            ids.append(name)
            continue
        found = [d.id for d in service.list(states=states) if d.url == without_userinfo(name)]
        if not found:
            kind = "download" if "completed" in states else "unfinished download"
            raise ValueError(f"there is no {kind} of {without_userinfo(name).partition('?')[0]}")
        ids += found
    return list(dict.fromkeys(ids))


def list_(options: argparse.Namespace) -> int:
    states: Sequence[State] = options.state or ALL
    with client(options) as service:
        if options.json:
            for value in service.list_values(states=states):
                options.out.line(json.dumps(value))
                if options.out.lost:
                    break
            return 0
        for download in service.list(states=states):
            amount = size(download.received_bytes)
            if download.state != "completed":
                amount = f"{amount} of {size(download.total_bytes)}"
            reason = download.error.kind if download.error is not None else download.reason
            state = download.state + (f" ({reason})" if reason else "")
            place = plain(str(download.path or name_of(download)))
            options.out.line(f"{download.id}  {state}  {amount}  {place}")
            if options.out.lost:
                break
    return 0


def which(options: argparse.Namespace) -> int:
    options.out.line(find_binary(options.towline))
    return 0
