"""The methods of the protocol as values: what to send, how to read the answer, whether to repeat it.

Both clients send these.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Callable, Generic, Literal, Optional, Protocol, TypeVar, Union

from .binary import PathLike
from .compat import Unpack
from .errors import ProtocolError, WaitTimedOut
from .models import (
    BulkOutcome,
    Checksum,
    Download,
    Inspection,
    Outcome,
    Page,
    ServiceInfo,
    Settings,
    Started,
    State,
    StateCounts,
    Subscription,
)
from .options import ConfigureOptions, EventNames, StartOptions, UpdateOptions, to_params
from .wire import milliseconds, to_wire

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)

Verb = Literal["pause", "resume", "cancel"]
Until = Literal["final", "settled"]
ShutdownMode = Literal["suspend", "finish", "cancel"]

#: How many ids one request may name.
IDS_LIMIT = 500


class HasId(Protocol):
    @property
    def id(self) -> str: ...


#: A download: by its id, or anything that has it (Download, Started, an event).
Target = Union[str, HasId]


@dataclass(frozen=True)
class Call(Generic[T_co]):
    """One request. `repeatable`: sent again by itself when the service died before it answered."""

    method: str
    params: Mapping[str, Any]
    read: Callable[[Any], T_co]
    repeatable: bool = False
    #: May take as long as a download.
    long: bool = False


def id_of(target: Target) -> str:
    return target if isinstance(target, str) else target.id


def absolute(path: PathLike) -> str:
    """The path made absolute by the program's working directory: the service's may be another."""
    text = os.path.abspath(os.path.expanduser(os.fspath(path)))
    try:
        text.encode()
    except UnicodeEncodeError:
        raise ValueError(f"the protocol knows UTF-8 paths only: {text!r}") from None
    return text


def file_path(path: PathLike) -> str:
    """The absolute path of a file to make. One that names a directory is refused here, in plain words."""
    text = absolute(path)
    if os.fspath(path).endswith(os.sep) and not os.path.isdir(text):
        raise FileNotFoundError(f"there is no directory {text}")
    if os.path.isdir(text):
        raise IsADirectoryError(f"{text} is a directory: give it as `directory`, or name a file in it")
    return text


def initialize(events: EventNames, progress_interval: Optional[float], resume: bool) -> Call[ServiceInfo]:
    params: dict[str, Any] = {"processId": os.getpid(), "events": events, "resumeInterrupted": resume}
    if progress_interval is not None:
        params["progressIntervalMs"] = milliseconds(progress_interval)
    return Call("initialize", params, ServiceInfo.from_wire)


def start(
    url: Optional[str] = None,
    path: Optional[PathLike] = None,
    directory: Optional[PathLike] = None,
    file_name: Optional[str] = None,
    **options: Unpack[StartOptions],
) -> Call[Started]:
    params: dict[str, Any] = {}
    if url is not None:
        params["url"] = url
    elif "resume_data" not in options:
        raise TypeError("give a URL, or resume_data")
    if path is not None:
        if directory is not None or file_name is not None:
            raise TypeError("give a path, or a directory and perhaps a file_name, not both")
        params["path"] = file_path(path)
    else:
        if directory is not None:
            params["directory"] = absolute(directory)
        elif "resume_data" not in options:
            params["directory"] = absolute(os.curdir)
        if file_name is not None:
            params["fileName"] = file_name
    params.update(to_params(StartOptions, options))
    checksum = options.get("checksum")
    if isinstance(checksum, str):
        params["checksum"] = to_wire(Checksum.parse(checksum))
    return Call("start", params, Started.from_wire, repeatable="id" in params)


def change(verb: Verb, target: Target, delete_partial: Optional[bool] = None) -> Call[Outcome]:
    params: dict[str, Any] = {"id": id_of(target)}
    if delete_partial is not None:
        params["deletePartial"] = delete_partial
    return Call(verb, params, Outcome.from_wire)


def change_several(
    verb: Verb, targets: Optional[Iterable[Target]], delete_partial: Optional[bool] = None
) -> Call[BulkOutcome]:
    """For the given downloads, or with None for all that are not final."""
    params = _several(targets)
    if delete_partial is not None:
        params["deletePartial"] = delete_partial
    return Call(verb, params, BulkOutcome.from_wire)


def update(target: Target, **options: Unpack[UpdateOptions]) -> Call[Download]:
    params = {"id": id_of(target), **to_params(UpdateOptions, options)}
    return Call("update", params, _member("download", Download.from_wire))


def get(target: Target) -> Call[Download]:
    return Call("get", {"id": id_of(target)}, _member("download", Download.from_wire), repeatable=True)


def list_params(
    states: Optional[Iterable[State]] = None,
    ids: Optional[Iterable[Target]] = None,
    changed_since: Optional[int] = None,
    limit: Optional[int] = None,
    cursor: Optional[str] = None,
    fields: Optional[Iterable[str]] = None,
) -> dict[str, Any]:
    params: dict[str, Any] = {
        "states": None if states is None else list(states),
        "ids": None if ids is None else [id_of(target) for target in ids],
        "changedSince": changed_since,
        "limit": limit,
        "cursor": cursor,
        "fields": None if fields is None else list(fields),
    }
    return {name: value for name, value in params.items() if value is not None}


def with_cursor(params: Mapping[str, Any], cursor: Optional[str]) -> Mapping[str, Any]:
    return params if cursor is None else {**params, "cursor": cursor}


def list_page(params: Mapping[str, Any]) -> Call[Page]:
    return Call("list", params, Page.from_wire, repeatable=True)


def list_values(params: Mapping[str, Any]) -> Call[tuple[list[dict[str, Any]], Optional[str]]]:
    """A page of `list` with chosen fields, as plain objects with wire names, and the next cursor."""
    return Call("list", params, lambda r: (_object(r)["downloads"], r.get("nextCursor")), repeatable=True)


def remove(target: Target, delete_file: bool) -> Call[None]:
    params = {"id": id_of(target), **({"deleteFile": True} if delete_file else {})}
    return Call("remove", params, _nothing)


def wait(
    target: Target, until: Until, timeout: Optional[float], named: Optional[float] = None
) -> Call[Download]:
    """`named` is the timeout to name in the error, where it began before this call."""
    seconds = timeout if named is None else named

    def read(result: Any) -> Download:
        download = Download.from_wire(_object(result).get("download"))
        if result.get("timedOut") is True:
            raise WaitTimedOut(f"{download.label} is {download.state} after {seconds} s", download)
        return download

    return Call("wait", {"id": id_of(target), **_waiting(until, timeout)}, read, repeatable=True, long=True)


def wait_several(
    targets: Optional[Iterable[Target]], until: Until, timeout: Optional[float]
) -> Call[StateCounts]:
    def read(result: Any) -> StateCounts:
        counts = StateCounts.from_wire(_object(result).get("counts"))
        if result.get("timedOut") is True:
            raise WaitTimedOut(f"after {timeout} s: {counts}")
        return counts

    return Call("wait", {**_several(targets), **_waiting(until, timeout)}, read, repeatable=True, long=True)


def export(target: Target) -> Call[str]:
    return Call("export", {"id": id_of(target)}, _member("resumeData", _text))


def subscribe(
    events: Optional[Iterable[Literal["changed", "progress"]]],
    ids: Optional[Iterable[Target]],
    progress_interval: Optional[float],
) -> Call[Subscription]:
    params: dict[str, Any] = {}
    if events is not None:
        params["events"] = list(events)
    if ids is not None:
        params["ids"] = [id_of(target) for target in ids]
    if progress_interval is not None:
        params["progressIntervalMs"] = milliseconds(progress_interval)
    return Call(
        "subscribe", params, lambda r: Subscription(_object(r)["subscription"], r["session"], r["seq"])
    )


def unsubscribe(subscription: Union[Subscription, str]) -> Call[None]:
    return Call("unsubscribe", {"subscription": id_of(subscription)}, _nothing)


def configure(**options: Unpack[ConfigureOptions]) -> Call[Settings]:
    return Call("configure", to_params(ConfigureOptions, options), Settings.from_wire)


def info() -> Call[ServiceInfo]:
    return Call("info", {}, ServiceInfo.from_wire, repeatable=True)


def inspect(target: Target) -> Call[Inspection]:
    return Call("inspect", {"id": id_of(target)}, Inspection.from_wire, repeatable=True)


def ping() -> Call[None]:
    return Call("ping", {}, _nothing, repeatable=True)


def shutdown(mode: ShutdownMode) -> Call[None]:
    return Call("shutdown", {"mode": mode}, _nothing, long=True)


def other(method: str, params: Optional[Mapping[str, Any]]) -> Call[Any]:
    """A method that this package does not know."""
    return Call(method, params or {}, lambda result: result)


def _several(targets: Optional[Iterable[Target]]) -> dict[str, Any]:
    return {"all": True} if targets is None else {"ids": [id_of(target) for target in targets]}


def _waiting(until: Until, timeout: Optional[float]) -> dict[str, Any]:
    params: dict[str, Any] = {"until": until}
    if timeout is not None:
        params["timeoutMs"] = milliseconds(max(0.0, timeout))
    return params


def _object(result: Any) -> dict[str, Any]:
    if not isinstance(result, dict):
        raise ProtocolError(f"the result is not an object: {result!r:.200}")
    return result


def _member(name: str, read: Callable[[Any], T]) -> Callable[[Any], T]:
    return lambda result: read(_object(result).get(name))


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise ProtocolError(f"not a text: {value!r:.200}")
    return value


def _nothing(result: Any) -> None:
    return None
