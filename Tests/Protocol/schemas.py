"""Validates messages against protocol/schema/*.json."""

from __future__ import annotations

import json
from functools import cache
from typing import Any

from examples import JSON, PROTOCOL
from jsonschema import Draft7Validator
from referencing import Registry, Resource
from referencing.jsonschema import DRAFT7

FOLDER = PROTOCOL / "schema"


@cache
def contents() -> dict[str, JSON]:
    return {path.name: json.loads(path.read_text()) for path in sorted(FOLDER.glob("*.json"))}


@cache
def validator(name: str, definition: str = "") -> Draft7Validator:
    """A validator for a whole file, or for one of its definitions."""
    resources = [(file, Resource(schema, DRAFT7)) for file, schema in contents().items()]
    reference = f"{name}#/definitions/{definition}" if definition else name
    return Draft7Validator({"$ref": reference}, registry=Registry().with_resources(resources))


def problems(value: Any, name: str, definition: str = "") -> list[str]:
    """What is wrong with the value, each with its path."""
    return [
        f"{error.json_path}: {error.message[:300]}"
        for error in validator(name, definition).iter_errors(value)
    ]


def answer_problems(answer: JSON, method: str) -> list[str]:
    """As `problems`, for the answer to a request of this method."""
    if "error" in answer:
        return problems(answer["error"], "error.json")
    return problems(answer["result"], "results.json", method)
