"""What a reader finds by `help()`, and a tool by reading the annotations."""

from __future__ import annotations

import inspect
import pydoc
import sys
import typing
from collections.abc import Iterator
from typing import Any, Callable

import pytest

import towline
from towline import bars, options


def functions(made: type) -> Iterator[Callable[..., Any]]:
    for name in dir(made):
        if name == "__init__" or not name.startswith("_"):
            member = inspect.getattr_static(made, name)
            member = member.fget if isinstance(member, property) else getattr(member, "__func__", member)
            if inspect.isfunction(member):
                yield member


PUBLIC = [
    *(
        made
        for made in map(vars(towline).get, towline.__all__)
        if inspect.isroutine(made) or inspect.isclass(made)
    ),
    bars.Bars,
]


@pytest.mark.parametrize("member", PUBLIC, ids=lambda member: member.__name__)
def test_annotations_resolve(member: Any) -> None:
    assert typing.get_type_hints(member) or isinstance(member, type)
    if isinstance(member, type):
        for function in functions(member):
            if function.__module__.startswith("towline"):
                assert typing.get_type_hints(function), function.__qualname__


def test_aliases_resolve_in_every_module() -> None:
    """A name in quotes in one of them is read where it is used, unless it was read before."""
    for name, module in sorted(sys.modules.items()):
        if name.startswith("towline."):
            for alias in vars(module).values():
                assert not any(isinstance(a, typing.ForwardRef) for a in typing.get_args(alias)), name


@pytest.mark.parametrize(
    ("function", "kind"),
    [
        (towline.Towline.start, towline.StartOptions),
        (towline.Towline.fetch, towline.StartOptions),
        (towline.Towline.update, towline.UpdateOptions),
        (towline.Towline.configure, towline.ConfigureOptions),
        (towline.AsyncTowline.start, towline.StartOptions),
        (towline.AsyncTowline.fetch, towline.StartOptions),
        (towline.AsyncTowline.update, towline.UpdateOptions),
        (towline.AsyncTowline.configure, towline.ConfigureOptions),
        (towline.download, towline.StartOptions),
    ],
)
def test_help_shows_the_options_with_their_meaning(function: Any, kind: Any) -> None:
    shown = pydoc.plain(pydoc.render_doc(function))
    text = " ".join(shown.split())
    assert max(map(len, shown.splitlines()[3:])) <= 110
    for name, member in typing.get_type_hints(kind, include_extras=True).items():
        assert f"{name}: {member.__metadata__[0]}" in text
        assert name in inspect.signature(function).parameters
    assert "**" not in str(inspect.signature(function))


def test_spans_of_time_are_seconds() -> None:
    names = [
        *(name for made in PUBLIC if isinstance(made, type) for name in typing.get_type_hints(made)),
        *(
            name
            for made in PUBLIC
            for function in (functions(made) if isinstance(made, type) else [made])
            for name in inspect.signature(function).parameters
        ),
    ]
    assert [name for name in names if name.endswith(("_ms", "Ms", "milliseconds"))] == []
    wire = options.to_params(towline.StartOptions, {"connect_timeout": 1.5, "stall_timeout": 0.0001})
    assert wire == {"connectTimeoutMs": 1500, "stallTimeoutMs": 1}
    retry = towline.RetryOptions(max_attempts=2, initial_delay=0.25)
    defaults: towline.DefaultOptions = {"retry": retry, "stall_timeout": None, "user_agent": "a"}
    assert options.to_params(towline.ConfigureOptions, {"progress_interval": 0.5, "defaults": defaults}) == {
        "progressIntervalMs": 500,
        "defaults": {
            "retry": {"maxAttempts": 2, "initialDelayMs": 250},
            "stallTimeoutMs": None,
            "userAgent": "a",
        },
    }
