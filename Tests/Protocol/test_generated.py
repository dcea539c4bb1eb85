"""Generated documents are up to date, and the OpenRPC document is that of the service."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from examples import JSON, PROTOCOL
from fixtures import Launcher
from jsonschema import Draft7Validator
from schemas import contents, problems

PAGES = ("README.md", "errors.md", "versioning.md", "CHANGELOG.md")


def generate(folder: Path, *args: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, str(folder / "generate.py"), *args], capture_output=True, text=True, timeout=60
    )


@pytest.fixture
def copied(tmp_path: Path) -> Path:
    """A copy of the folder that a test may change."""
    ignored = shutil.ignore_patterns("__pycache__")
    return Path(shutil.copytree(PROTOCOL, tmp_path / "protocol", ignore=ignored))


def test_nothing_would_change() -> None:
    ran = generate(PROTOCOL, "--check")
    assert (ran.returncode, ran.stdout, ran.stderr) == (0, "", "")


def test_generating_twice_gives_the_same(copied: Path) -> None:
    shutil.rmtree(copied / "schema")
    assert generate(copied).returncode == 0
    for path in sorted(PROTOCOL.rglob("*.*")):
        if "__pycache__" not in path.parts:
            assert (copied / path.relative_to(PROTOCOL)).read_bytes() == path.read_bytes(), path.name


def test_a_change_of_the_document_shows(copied: Path) -> None:
    document = json.loads((copied / "openrpc.json").read_text())
    document["methods"][0]["params"][0]["description"] = "Something else."
    (copied / "openrpc.json").write_text(json.dumps(document))
    ran = generate(copied, "--check")
    assert ran.returncode == 1
    assert {line.split()[0] for line in ran.stdout.splitlines()} == {
        "protocol/README.md",
        "protocol/schema/requests.json",
        "protocol/schema/types.json",
    }


@pytest.mark.parametrize(
    "path",
    [
        ("components", "schemas", "FailureKind", "enum"),
        ("components", "schemas", "Download", "properties"),
        ("x-limits",),
    ],
    ids=lambda path: path[-1],
)
def test_what_nobody_has_described_is_an_error(copied: Path, path: tuple[str, ...]) -> None:
    document = json.loads((copied / "openrpc.json").read_text())
    target = document
    for step in path:
        target = target[step]
    if isinstance(target, list):
        target.append("brandNew")
    else:
        target["brandNew"] = next(iter(target.values()))
    (copied / "openrpc.json").write_text(json.dumps(document))
    ran = generate(copied)
    assert ran.returncode == 1
    assert "brandNew" in ran.stderr


def test_the_service_prints_the_published_document(launch: Launcher) -> None:
    ran = launch.run("--print-openrpc")
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout == (PROTOCOL / "openrpc.json").read_text()


def test_the_schemas_are_draft_07() -> None:
    names = ("types", "requests", "results", "events", "error", "answer")
    assert set(contents()) == {f"{name}.json" for name in names}
    for name, schema in contents().items():
        Draft7Validator.check_schema(schema)
        assert schema["$schema"] == "http://json-schema.org/draft-07/schema#", name


@pytest.mark.parametrize(
    "message",
    [
        {"id": 1, "method": "nope"},
        {"id": 1, "method": "start"},
        {"id": 1, "method": "start", "params": {"url": "http://h/f", "checkSum": {}}},
        {"id": 1, "method": "start", "params": {"url": None}},
        {"id": 1, "method": "ping", "params": [1]},
        {"id": True, "method": "ping"},
        {"id": 1, "method": "ping", "extra": 1},
        {"id": 1, "method": "exit"},
        {"id": 1, "method": "pause", "params": {"id": "a", "all": True}},
        {"id": 1, "method": "wait", "params": {"ids": None}},
    ],
    ids=json.dumps,
)
def test_the_schemas_refuse_what_the_service_refuses(launch: Launcher, message: JSON) -> None:
    message = {"jsonrpc": "2.0", **message}
    assert problems(message, "requests.json") != []
    process, _ = launch.pipe(json.dumps(message))
    assert [answer["error"]["code"] < 0 for answer in process.messages] == [True]


@pytest.mark.parametrize(
    "message",
    [
        {"id": None, "method": "ping"},
        {"id": 1.5, "method": "ping", "params": None},
        {"id": "x", "method": "ping", "params": []},
        {"id": 1, "method": "list", "params": {"limit": None, "_mine": 1}},
        {"id": 1, "method": "initialize", "params": {"rootUri": None}},
        {"id": 1, "method": "pause", "params": {"id": None, "ids": [], "all": None}},
        {"id": 1, "method": "ping", "traceparent": "00-0af7-b7ad-01", "meta": {}, "_mine": 1},
    ],
    ids=json.dumps,
)
def test_the_schemas_take_what_the_service_takes(launch: Launcher, message: JSON) -> None:
    message = {"jsonrpc": "2.0", **message}
    assert problems(message, "requests.json") == []
    process, _ = launch.pipe(json.dumps(message))
    assert ["result" in answer for answer in process.messages] == [True]


def test_the_limits_are_those_of_info(launch: Launcher, document: JSON) -> None:
    process, _ = launch.pipe('{"jsonrpc":"2.0","id":1,"method":"info"}')
    assert process.messages[0]["result"]["limits"] == document["x-limits"]


def test_the_pages_tell_what_is_in_force_at_first(launch: Launcher) -> None:
    """For each setting, the page shows the default value of the service."""
    process, _ = launch.pipe('{"jsonrpc":"2.0","id":1,"method":"configure"}')
    settings = process.messages[0]["result"]
    page = (PROTOCOL / "README.md").read_text()
    numbers = {**settings, **settings["defaults"], **settings["defaults"]["retry"]}
    numbers = {
        name: value
        for name, value in numbers.items()
        if isinstance(value, int) and not isinstance(value, bool)
    }
    assert len(numbers) == 8
    for name, value in numbers.items():
        rows = re.findall(rf"^\| `{name}` \|[^|]*\| ([^|]*) \|", page, re.MULTILINE)
        assert rows, name
        assert set(rows) == {f"`{value}`"}, name


def test_every_error_of_a_method_is_in_the_table_of_errors(document: JSON) -> None:
    table = {(error["code"], error["kind"]) for error in document["x-errors"]}
    for method in document["methods"]:
        for error in method["errors"]:
            assert (error["code"], error["message"]) in table, method["name"]


def test_the_pages_tell_of_every_error_and_failure(document: JSON) -> None:
    page = (PROTOCOL / "errors.md").read_text()
    failures = document["components"]["schemas"]["FailureKind"]["enum"]
    for name in [*failures, *(error["kind"] for error in document["x-errors"])]:
        assert len(re.findall(rf"^\|[^|]*?\|? ?`{name}` \|", page, re.MULTILINE)) >= 1, name


@pytest.mark.parametrize("name", PAGES)
def test_links_lead_somewhere(name: str) -> None:
    page = (PROTOCOL / name).read_text()
    for target in re.findall(r"\]\(([^)\s]+)\)", page):
        path, _, anchor = target.partition("#")
        if "://" in target:
            continue
        file = PROTOCOL / path if path else PROTOCOL / name
        assert file.exists(), target
        if anchor:
            assert anchor in anchors(file.read_text()), target


def anchors(page: str) -> set[str]:
    """The link names of headings: lower case, blanks as hyphens, other signs left out."""
    headings = re.findall(
        r"^#+ (.+)$", re.sub(r"^```.*?^```$", "", page, flags=re.M | re.DOTALL), re.MULTILINE
    )
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def test_there_is_a_chapter_for_every_method(document: JSON) -> None:
    page = (PROTOCOL / "README.md").read_text()
    headings = re.findall(r"^### (.+)$", page, re.MULTILINE)
    assert {method["name"] for method in document["methods"]} <= set(headings)


def test_the_changelog_knows_this_version(document: JSON) -> None:
    version = document["info"]["version"]
    assert re.search(rf"^## {re.escape(version)}\b", (PROTOCOL / "CHANGELOG.md").read_text(), re.MULTILINE)
