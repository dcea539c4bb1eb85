"""Generators can make types from the document: every object has a name, and new values may be added."""

from __future__ import annotations

import importlib.util
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from examples import JSON, PROTOCOL
from fixtures import Launcher
from jsonschema import Draft7Validator
from schemas import contents, problems

INPUTS = {"openrpc.json": "openapi", "schema/types.json": "jsonschema"}
KINDS = ("pydantic_v2.BaseModel", "dataclasses.dataclass", "typing.TypedDict")


def generated(file: str, kind: str, folder: Path) -> Path:
    pytest.importorskip("datamodel_code_generator")
    output = folder / "types_of_towline.py"
    command = ["-m", "datamodel_code_generator", "--formatters", "builtin"]
    command += ["--input", str(PROTOCOL / file), "--input-file-type", INPUTS[file]]
    command += ["--output-model-type", kind, "--target-python-version", "3.11", "--output", str(output)]
    ran = subprocess.run([sys.executable, *command], capture_output=True, text=True, timeout=120)
    assert ran.returncode == 0, ran.stderr
    return output


def imported(path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("file", INPUTS)
def test_a_generator_makes_types_without_numbered_names(file: str, kind: str, tmp_path: Path) -> None:
    path = generated(file, kind, tmp_path)
    names = re.findall(r"^(?:class )?([A-Z]\w*)\b *[(:=]", path.read_text(), re.MULTILINE)
    assert {"Download", "StartResult", "ListResult", "ChangedParams", "DownloadState"} <= set(names)
    assert [name for name in names if re.search(r"\d$", name)] == []
    assert len(names) == len(set(names))
    imported(path)


def test_the_types_read_what_the_service_writes(launch: Launcher, document: JSON, tmp_path: Path) -> None:
    module = imported(generated("openrpc.json", KINDS[0], tmp_path))
    lines = [
        '{"jsonrpc":"2.0","id":1,"method":"start","params":{"url":"http://127.0.0.1:1/f","path":"f","id":"d",'
        '"retry":{"maxAttempts":0}}}',
        '{"jsonrpc":"2.0","id":2,"method":"wait","params":{"id":"d"}}',
        *(
            f'{{"jsonrpc":"2.0","id":"{method}","method":"{method}","params":{params}}}'
            for method, params in [
                ("get", '{"id":"d"}'),
                ("list", "{}"),
                ("inspect", '{"id":"d"}'),
                ("info", "{}"),
                ("configure", "{}"),
                ("pause", '{"ids":["d","e"]}'),
                ("nope", "{}"),
            ]
        ),
    ]
    process, _ = launch.pipe(*lines)
    results = {m["name"]: m["result"]["schema"]["$ref"].rpartition("/")[2] for m in document["methods"]}
    seen = set()
    for message in process.messages:
        if "method" in message:
            name = {n["name"]: n for n in document["x-notifications"]}[message["method"]]["x-params"]["$ref"]
            getattr(module, name.rpartition("/")[2]).model_validate(message["params"])
            module.Notification.model_validate(message)
        else:
            module.Response.model_validate(message)
            seen.add(message["id"])
            method = {1: "start", 2: "wait"}.get(message["id"], message["id"])
            if "result" in message:
                getattr(module, results[method]).model_validate(message["result"])
            assert problems(message, "answer.json") == []
    assert {1, 2, "info", "nope"} <= seen


def test_every_result_and_every_event_has_a_name(document: JSON) -> None:
    for method in document["methods"]:
        assert set(method["result"]["schema"]) == {"$ref"}, method["name"]
    for notification in document["x-notifications"]:
        assert set(notification["x-params"]) == {"$ref"}, notification["name"]
        schema = document["components"]["schemas"][notification["x-params"]["$ref"].rpartition("/")[2]]
        assert list(schema["properties"]) == [p["name"] for p in notification["params"]]
    assert set(document["x-envelope"]) == {"request", "response", "notification"}


#: fixed lists of values that another specification defines
CLOSED = {"WorkDoneKind"}


def enumerations(tree: Any, where: str, is_open: bool = False) -> Iterator[tuple[str, bool]]:
    """Each reference and each list of values, with whether any other text is also valid."""
    if isinstance(tree, dict):
        if "enum" in tree:
            yield where, is_open
        if "$ref" in tree:
            yield "$ref " + tree["$ref"].rpartition("/")[2], is_open
        beside = {"type": "string"} in tree.get("anyOf", [])
        for key, value in tree.items():
            yield from enumerations(value, f"{where}.{key}", beside if key == "anyOf" else False)
    elif isinstance(tree, list):
        for value in tree:
            yield from enumerations(value, where, is_open)


def test_words_of_answers_and_events_may_be_added(document: JSON) -> None:
    """As versioning.md promises: a client that validates must not refuse a later version."""
    schemas = document["components"]["schemas"]
    lists = {name for name, schema in schemas.items() if "enum" in schema}
    found: set[str] = set()
    todo = [m["result"]["schema"]["$ref"] for m in document["methods"]]
    todo += [n["x-params"]["$ref"] for n in document["x-notifications"] if n["x-direction"] == "toClient"]
    todo += [reference["$ref"] for reference in document["x-envelope"].values()]
    while todo:
        name = todo.pop().rpartition("/")[2]
        if name in found or name in lists:
            continue
        found.add(name)
        for where, is_open in enumerations(schemas[name], name):
            assert where.startswith("$ref "), f"{where} has values without a name"
            target = where.removeprefix("$ref ")
            # `checksum` and `defaults` are parameters too, whose values are fixed.
            if target in lists and name != "Checksum":
                assert is_open or target in CLOSED, f"{name} takes no other {target}"
            todo.append(target)
    assert {"Download", "TransferError", "TransferOrigin", "ErrorData", "ProgressParams"} <= found


def test_a_word_of_a_later_version_fits(document: JSON, launch: Launcher) -> None:
    process, _ = launch.pipe(
        '{"jsonrpc":"2.0","id":1,"method":"start","params":{"url":"http://127.0.0.1:1/f","path":"f","startPaused":true}}'
    )
    result = process.messages[0]["result"]
    changes = {"state": "seeding", "reason": "quota", "phase": "unpacking", "owner": "cluster"}
    result["download"].update(changes, brandNew={"a": 1})
    assert problems(result, "results.json", "start") == []
    for member in changes:
        assert problems({**result, "download": {**result["download"], member: 7}}, "results.json", "start")
    failure = {"kind": "newKind", "message": "m", "retryable": False, "httpStatus": None, "curlCode": None}
    result["download"]["error"] = {**failure, "errno": None, "holderId": None}
    assert problems(result, "results.json", "start") == []


@pytest.mark.parametrize("method", ["pause", "resume", "cancel", "wait"])
@pytest.mark.parametrize(
    ("params", "fits"),
    [
        ({"id": "a"}, True),
        ({"ids": ["a"]}, True),
        ({"all": True}, True),
        ({}, False),
        ({"id": "a", "ids": []}, False),
        ({"id": "a", "all": True}, False),
        ({"all": False}, False),
    ],
)
def test_one_of_several_params(document: JSON, method: str, params: JSON, fits: bool) -> None:
    described = next(m for m in document["methods"] if m["name"] == method)
    assert list(described["x-params"]) == ["oneOf"]
    if params != {"all": False}:
        assert Draft7Validator(described["x-params"]).is_valid(params) is fits
    assert (problems(params, "types.json", method.capitalize() + "Params") == []) is fits


def test_every_kind_of_params_is_a_type(document: JSON) -> None:
    definitions = contents()["types.json"]["definitions"]
    for method in document["methods"]:
        stem = "".join(part[:1].upper() + part[1:] for part in method["name"].split("."))
        assert f"{stem}Params" in definitions
    assert problems({"url": "http://h/f"}, "types.json", "StartParams") == []
    assert problems({"path": "f"}, "types.json", "StartParams") != []
