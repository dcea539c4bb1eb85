"""How dataclasses are read from the JSON objects of the protocol, and written to them.

Members have the wire's names in snake case (`receivedBytes` is `received_bytes`), spans of time are seconds
(`etaMs` is `eta`), and paths are `pathlib.Path`. A word that is not known (a new state) stays a string.
"""

from __future__ import annotations

import dataclasses
import functools
import math
import typing
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, Callable, ClassVar, TypeVar, Union

from .errors import ProtocolError

M = TypeVar("M", bound="Model")


@dataclass(frozen=True)
class Model:
    """The base: reads itself from a JSON object."""

    _unknown: ClassVar[Mapping[str, Any]] = {}

    @property
    def unknown(self) -> Mapping[str, Any]:
        """The members that the service sent and this version of the package does not know."""
        return self._unknown

    @classmethod
    def from_wire(cls: type[M], value: Any) -> M:
        """Reads a JSON object; raises ProtocolError if a needed member is missing or of the wrong type."""
        if not isinstance(value, dict):
            raise ProtocolError(f"{cls.__name__} is not an object: {value!r:.200}")
        members = _members(typing.cast(Any, cls))
        found = {
            name: read(value.get(wire), f"{cls.__name__}.{wire}") for wire, (name, read) in members.items()
        }
        made = cls(**found)
        if not value.keys() <= members.keys():
            rest = {wire: member for wire, member in value.items() if wire not in members}
            object.__setattr__(made, "_unknown", rest)
        return made


def wire_name(name: str) -> str:
    """`received_bytes` → `receivedBytes`."""
    first, *rest = name.split("_")
    return first + "".join(word.capitalize() for word in rest)


def milliseconds(seconds: float) -> int:
    """As the wire has them; a span that is not zero does not become zero."""
    if not math.isfinite(seconds):
        raise ValueError(f"not a number of seconds: {seconds}")
    return round(seconds * 1000) or int(seconds > 0)


def is_seconds(hint: Any) -> bool:
    """Whether a type is that of a span of time: nothing else is a float."""
    return hint is float or float in typing.get_args(hint)


def to_wire(value: Any) -> Any:
    """Turns a model given as a parameter into JSON, without the members that are None."""
    if isinstance(value, Model):
        hints = typing.get_type_hints(type(value))
        items = ((f, hints[f.name], getattr(value, f.name)) for f in dataclasses.fields(value))
        return {
            wire_name_of(f, hint): milliseconds(item) if is_seconds(hint) else to_wire(item)
            for f, hint, item in items
            if item is not None
        }
    return value


Read = Callable[[Any, str], Any]


def wire_name_of(member: dataclasses.Field[Any], hint: Any) -> str:
    return str(member.metadata.get("wire") or wire_name(member.name) + ("Ms" if is_seconds(hint) else ""))


@functools.cache
def _members(model: type[Model]) -> Mapping[str, tuple[str, Read]]:
    """Wire name → attribute and how to read it, from the annotations."""
    hints = typing.get_type_hints(model)
    return {
        wire_name_of(f, hints[f.name]): (f.name, _reader(hints[f.name])) for f in dataclasses.fields(model)
    }


def _reader(hint: Any) -> Read:
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if origin is Union:
        inner = _reader(next(a for a in arguments if a is not type(None)))
        return lambda value, where: None if value is None else inner(value, where)
    if origin is tuple:
        each = _reader(arguments[0])
        return lambda value, where: tuple(each(v, where) for v in _typed(list, value, where))
    if origin is Mapping:
        return lambda value, where: _typed(dict, value, where)
    if hint is datetime:
        return _read_time
    if hint is float:
        return lambda value, where: _typed(int, value, where) / 1000
    if hint is Path:
        return lambda value, where: Path(_typed(str, value, where))
    if isinstance(hint, type) and issubclass(hint, Model):
        return lambda value, where: hint.from_wire(value)
    return lambda value, where: _typed(hint, value, where)


def _typed(kind: type, value: Any, where: str) -> Any:
    if isinstance(value, kind) and (kind is bool or not isinstance(value, bool)):
        return value
    raise ProtocolError(f"{where} is not of type {kind.__name__}: {value!r:.200}")


def _read_time(value: Any, where: str) -> datetime:
    """RFC 3339 in UTC; Python before 3.11 does not know the Z."""
    text = _typed(str, value, where)
    try:
        return datetime.fromisoformat(text[:-1] + "+00:00" if text.endswith("Z") else text)
    except ValueError as error:
        raise ProtocolError(f"{where} is not a time: {text!r:.100}") from error
