"""The options of methods: their types, their meaning, and how they travel.

One table for the type checker, for `help()` and for the wire: each member of a TypedDict is annotated with
what `help()` says of it. Spans of time are seconds here and whole milliseconds on the wire.
"""

from __future__ import annotations

import functools
import inspect
import textwrap
import typing
from collections.abc import Mapping
from typing import Annotated, Any, Callable, Literal, Optional, TypedDict, TypeVar, Union

from .models import Checksum, RetryOptions
from .wire import is_seconds, milliseconds, to_wire, wire_name

EventNames = Literal["none", "changed", "all"]
IfExists = Literal["error", "overwrite", "rename", "skip"]
OnCancel = Literal["pause", "cancel", "continue"]

F = TypeVar("F", bound=Callable[..., Any])


class StartOptions(TypedDict, total=False):
    """What `start` and `fetch` take besides the URL and the destination. All optional."""

    id: Annotated[str, "your own id; makes the request safe to repeat, also after a crash of the service"]
    checksum: Annotated[Union[Checksum, str], "the digest that the file must have, like 'sha256:HEX'"]
    if_exists: Annotated[
        IfExists,
        "when a file has the name: refuse (default), replace it, take the next free name, or with 'skip' "
        "keep it if it is the file and replace it otherwise",
    ]
    on_change: Annotated[
        Literal["restart", "fail", "keepBoth"],
        "when the server's file changed since a part was received: restart from zero (default), fail, or "
        "restart and keep the old part too",
    ]
    resume_policy: Annotated[
        Literal["strict", "probe", "trust"],
        "how much proof a resume needs where the server gives no validator (default: strict)",
    ]
    max_file_bytes: Annotated[int, "fail instead of downloading a longer file"]
    priority: Annotated[int, "higher goes first (default: 0)"]
    start_paused: Annotated[bool, "only make the record; `resume` begins"]
    background: Annotated[bool, "finish the download also after this client is closed"]
    events: Annotated[EventNames, "which events to send of this download (default: all)"]
    metadata: Annotated[Mapping[str, Any], "an object of yours, kept with the download"]
    headers: Annotated[Mapping[str, str], "request headers; kept on disk with the download"]
    user_agent: Annotated[str, "the User-Agent header"]
    connect_timeout: Annotated[float, "seconds that connecting may take (default: 30)"]
    stall_timeout: Annotated[float, "seconds without a byte after which a try fails (default: 30)"]
    create_directories: Annotated[bool, "make the directories of the destination that are missing"]
    retry: Annotated[RetryOptions, "when to give up, and how long to wait between tries"]
    resume_data: Annotated[str, "what `export` gave: continues that download here, once"]
    extra: Annotated[
        Mapping[str, Any], "members by their wire names that the service knows and this package does not"
    ]


class UpdateOptions(TypedDict, total=False):
    """What `update` changes. None clears a member; what is left out stays."""

    url: Annotated[str, "where to continue; received bytes are kept if size and validator agree"]
    headers: Annotated[Optional[Mapping[str, str]], "all request headers from now on; None: none"]
    priority: Annotated[Optional[int], "higher goes first"]
    metadata: Annotated[Optional[Mapping[str, Any]], "an object of yours; None: nothing"]


class DefaultOptions(TypedDict, total=False):
    """What downloads of this client start with unless `start` says otherwise. None: the service's default."""

    headers: Annotated[Optional[Mapping[str, str]], "request headers"]
    user_agent: Annotated[Optional[str], "the User-Agent header"]
    connect_timeout: Annotated[Optional[float], "seconds that connecting may take"]
    stall_timeout: Annotated[Optional[float], "seconds without a byte after which a try fails"]
    create_directories: Annotated[Optional[bool], "make missing directories"]
    retry: Annotated[Optional[RetryOptions], "when to give up, and how long to wait between tries"]


class ConfigureOptions(TypedDict, total=False):
    """What `configure` sets for this client's service; the client sets it again after a crash."""

    max_active: Annotated[int, "how many downloads run at a time"]
    max_active_per_host: Annotated[int, "how many of them from one host"]
    progress_interval: Annotated[float, "seconds between two Progress events of a download"]
    defaults: Annotated[DefaultOptions, "what downloads start with unless `start` says otherwise"]


@functools.cache
def hints(kind: Any) -> Mapping[str, Any]:
    return typing.get_type_hints(kind)


def to_params(kind: Any, options: Mapping[str, Any]) -> dict[str, Any]:
    """The options of that TypedDict by wire names. An unknown name is a TypeError, as of any argument."""
    params: dict[str, Any] = {}
    for name, value in options.items():
        if name not in hints(kind):
            raise TypeError(f"unknown option {name!r}; there are {', '.join(hints(kind))}")
        hint = hints(kind)[name]
        if name == "extra":
            continue
        if is_seconds(hint):
            params[wire_name(name) + "Ms"] = None if value is None else milliseconds(value)
        elif hint is DefaultOptions:
            params[wire_name(name)] = to_params(hint, value)
        else:
            params[wire_name(name)] = to_wire(value)
    return {**params, **(options.get("extra") or {})}


class _NotGiven:
    def __repr__(self) -> str:
        return "..."


def documented(kind: Any) -> Callable[[F], F]:
    """Shows the options of `**options` in the function's signature and docstring, as `help()` prints them."""

    def decorate(function: F) -> F:
        members = typing.get_type_hints(kind, include_extras=True)
        signature = inspect.signature(function)
        named = [p for p in signature.parameters.values() if p.kind is not p.VAR_KEYWORD]
        more = [
            inspect.Parameter(
                name, inspect.Parameter.KEYWORD_ONLY, default=_NotGiven(), annotation=member.__origin__
            )
            for name, member in members.items()
            if name not in signature.parameters
        ]
        text = "\n".join(
            textwrap.fill(
                f"{name}: {member.__metadata__[0]}", 100, initial_indent=" " * 4, subsequent_indent=" " * 8
            )
            for name, member in members.items()
        )
        function.__signature__ = signature.replace(parameters=[*named, *more])  # type: ignore[attr-defined]
        function.__doc__ = f"{inspect.cleandoc(function.__doc__ or '')}\n\nOptions:\n{text}\n"
        return function

    return decorate
