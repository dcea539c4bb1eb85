#!/usr/bin/env python3
"""Writes what follows from openrpc.json: schema/*.json, and tables and codes in README.md and errors.md.

Run it after `towline --print-openrpc > protocol/openrpc.json`. With `--check` it writes nothing, and fails if
anything would change. Needs nothing but the standard library.
"""

from __future__ import annotations

import argparse
import copy
import json
import re
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any

JSON = dict[str, Any]

HERE = Path(__file__).resolve().parent
DRAFT = "http://json-schema.org/draft-07/schema#"
COMPONENT = "#/components/schemas/"
#: the schemas that have names
components: dict[str, JSON] = {}
MAX_INTEGER = 9_007_199_254_740_991

#: what `x-limits` and `info` call a limit, in words
LIMITS = {
    "messageBytes": "bytes of one message, without its newline or header block",
    "urlBytes": "bytes of a `url`",
    "pathBytes": "bytes of a `path` or `directory`, as given and as absolute path",
    "headersBytes": "bytes of all `headers`: name, value and four more for each",
    "headers": "entries of one `headers`",
    "userAgentBytes": "bytes of a `userAgent`",
    "metadataBytes": "bytes of `metadata` as compact JSON",
    "fileNameBytes": "bytes of a file name, without the suffix `.towline` of its partial file",
    "resumeDataBytes": "bytes of a `resumeData`",
    "idBytes": "bytes of a download's `id`",
    "requestIdBytes": "bytes of a request's `id` or a `workDoneToken` that is a string",
    "ids": "entries of one `ids`",
    "nesting": "depth of arrays and objects inside each other",
    "elements": "values in the arrays and objects of one message",
    "batch": "messages of one batch",
    "subscriptions": "subscriptions at the same time",
    "waits": "`wait` requests at the same time",
    "waitedIds": "downloads that all `wait` requests name together",
}


def component_name(schema: JSON) -> str | None:
    reference = schema.get("$ref", "")
    return reference[len(COMPONENT) :] if reference.startswith(COMPONENT) else None


def moved(tree: Any, file: str) -> Any:
    """The schema with its references leading to types.json."""
    if isinstance(tree, dict):
        name = component_name(tree)
        if name is not None:
            return {"$ref": f"{file}#/definitions/{name}"}
        return {key: moved(value, file) for key, value in tree.items()}
    if isinstance(tree, list):
        return [moved(value, file) for value in tree]
    return tree


def takes_null(schema: JSON) -> bool:
    return not schema or schema.get("type") == "null" or any(takes_null(s) for s in schema.get("anyOf", ()))


def is_required(member: JSON) -> bool:
    return bool(member.get("required", False))


def alternatives_of(method: JSON) -> tuple[str, list[str]]:
    """The word and the names of the parameters of which one has to be given; else nothing."""
    for word, schemas in method.get("x-params", {}).items():
        return word, [name for schema in schemas for name in schema["required"]]
    return "", []


def params_schema(descriptors: list[JSON], *, is_open: bool) -> JSON:
    """What `params` may be; a null optional member counts as absent, one that begins with _ is ignored."""
    properties = {}
    for member in descriptors:
        schema = moved(member["schema"], "types.json")
        if not is_required(member) and not takes_null(schema):
            schema = {"anyOf": [schema, {"type": "null"}]}
        properties[member["name"]] = {"description": member["description"], "allOf": [schema]}
    result: JSON = {"type": "object", "properties": properties}
    required = [m["name"] for m in descriptors if is_required(m)]
    if required:
        result["required"] = required
    if not is_open:
        result["patternProperties"] = {"^_": {}}
        result["additionalProperties"] = False
    return result


def types(document: JSON) -> JSON:
    """All types, in one file for code generators: also the params of each method as one object."""
    schemas = {name: moved(schema, "") for name, schema in document["components"]["schemas"].items()}
    for method in document["methods"]:
        schemas |= {name: moved(schema, "") for name, schema in params_types(method).items()}
    for notification in document["x-notifications"]:
        if notification["x-direction"] == "toClient":
            schemas[event_name(notification)] = moved(event_type(notification), "")
    return {"$schema": DRAFT, "title": "Types", "definitions": dict(sorted(schemas.items()))}


def event_name(notification: JSON) -> str:
    params = component_name(notification["x-params"]) or ""
    return params.removesuffix("Params") + "Event"


def event_type(notification: JSON) -> JSON:
    """A notification of the service as a whole message; members may be added to its params."""
    return {
        "description": notification["summary"],
        "type": "object",
        "properties": {
            "jsonrpc": {"const": "2.0"},
            "method": {"const": notification["name"]},
            "params": notification["x-params"],
        },
        "required": ["jsonrpc", "method", "params"],
        "additionalProperties": False,
    }


def params_types(method: JSON) -> dict[str, JSON]:
    """What a client sends, a type for each way to call the method."""
    stem = "".join(word[:1].upper() + word[1:] for word in re.split(r"[^A-Za-z0-9]+", method["name"]))
    summary = f"Params of {method['name']}."
    word, names = alternatives_of(method)
    if not names:
        return {f"{stem}Params": params_type(method, method["params"], summary)}
    types: dict[str, JSON] = {}
    for given in names:
        others = set(names) - {given} if word == "oneOf" else set()
        members = []
        for member in method["params"]:
            if member["name"] == given:
                schema = {"const": True} if member["schema"].get("type") == "boolean" else member["schema"]
                members.append({**member, "required": True, "schema": schema})
            elif member["name"] not in others:
                members.append(member)
        name = f"{stem}By{given[:1].upper()}{given[1:]}Params"
        types[name] = params_type(method, members, f"{summary[:-1]}, with {given}.")
    return {
        f"{stem}Params": {"description": summary, word: [{"$ref": COMPONENT + name} for name in types]},
        **types,
    }


def params_type(method: JSON, members: list[JSON], description: str) -> JSON:
    properties = {}
    for member in members:
        schema = member["schema"]
        # Draft-07 ignores what stands beside a $ref.
        schema = {"allOf": [schema]} if "$ref" in schema else schema
        properties[member["name"]] = {**schema, "description": member["description"]}
    result: JSON = {"type": "object", "description": description, "properties": properties}
    required = [member["name"] for member in members if is_required(member)]
    if required:
        result["required"] = required
    if not method.get("x-takesUnknownParams", False):
        result["additionalProperties"] = False
    return result


def requests(document: JSON) -> JSON:
    """Any one message that a client sends."""
    alternatives = []
    for method in document["methods"]:
        params = params_schema(method["params"], is_open=method.get("x-takesUnknownParams", False))
        word, names = alternatives_of(method)
        if names:
            # Null counts as absent.
            params[word] = [
                {"required": [name], "properties": {name: {"not": {"type": "null"}}}} for name in names
            ]
        alternatives.append(message(method["name"], method["summary"], params, {"$ref": "#/definitions/id"}))
    for notification in document["x-notifications"]:
        if notification["x-direction"] == "toService":
            params = params_schema(notification["params"], is_open=True)
            alternatives.append(message(notification["name"], notification["summary"], params, None))
    identity = {
        "anyOf": [
            {"type": "string", "maxLength": 500},
            {"type": "number", "minimum": -MAX_INTEGER - 1, "maximum": MAX_INTEGER + 1},
            {"type": "null"},
        ]
    }
    return {"$schema": DRAFT, "title": "Request", "definitions": {"id": identity}, "oneOf": alternatives}


def message(name: str, summary: str, params: JSON, identity: JSON | None) -> JSON:
    properties: JSON = {"jsonrpc": {"const": "2.0"}, "method": {"const": name}}
    if identity is not None:
        properties["id"] = identity
    needs_params = bool({"required", "anyOf", "oneOf"} & set(params))
    nothing = [{"type": "null"}, {"type": "array", "maxItems": 0}]
    properties["params"] = params if needs_params else {"anyOf": [params, *nothing]}
    # What libraries add for tracing is ignored.
    properties |= {name: {} for name in ("meta", "traceparent", "tracestate", "baggage")}
    required = ["jsonrpc", "method", *(["params"] if needs_params else [])]
    return {
        "title": name,
        "description": summary,
        "type": "object",
        "properties": properties,
        "required": required,
        "patternProperties": {"^_": {}},
        "additionalProperties": False,
    }


def results(document: JSON) -> JSON:
    definitions = {m["name"]: moved(m["result"]["schema"], "types.json") for m in document["methods"]}
    # With `fields` an entry has only these.
    definitions["list"] = copy.deepcopy(document["components"]["schemas"]["ListResult"])
    definitions["list"] = moved(definitions["list"], "types.json")
    whole = definitions["list"]["properties"]["downloads"]["items"]
    some = {"type": "object", "properties": {"id": {"type": "string"}}, "required": ["id"]}
    definitions["list"]["properties"]["downloads"]["items"] = {"anyOf": [whole, some]}
    return {"$schema": DRAFT, "title": "Results, by method", "definitions": definitions}


def events(document: JSON) -> JSON:
    """Any one notification of the service."""
    names = [event_name(n) for n in document["x-notifications"] if n["x-direction"] == "toClient"]
    alternatives = [{"$ref": f"types.json#/definitions/{name}"} for name in names]
    return {"$schema": DRAFT, "title": "Event", "oneOf": alternatives}


def errors(document: JSON) -> JSON:
    """The `error` of an answer. Later versions may add codes and kinds; listed ones do not change."""
    kinds = [error["kind"] for error in document["x-errors"]]
    rules = []
    for error in document["x-errors"]:
        codes = [error["code"]] if error["kind"] != "limitExceeded" else [error["code"], -32600]
        rules.append(
            {
                "if": {"properties": {"data": {"properties": {"kind": {"const": error["kind"]}}}}},
                "then": {"properties": {"code": {"enum": codes}}},
            }
        )
    data = {
        "type": "object",
        "properties": {
            "kind": {"type": "string", "description": "The stable key.", "examples": kinds},
            "retryable": {"type": "boolean", "description": "True if the same request may succeed later."},
        },
        "required": ["kind", "retryable"],
    }
    return {
        "$schema": DRAFT,
        "title": "Error",
        "type": "object",
        "properties": {"code": {"type": "integer"}, "message": {"type": "string"}, "data": data},
        "required": ["code", "message", "data"],
        "additionalProperties": False,
        "allOf": rules,
    }


def answers(document: JSON) -> JSON:
    """Any one message with an id that the service sends."""
    return {"$schema": DRAFT, "title": "Answer", **moved(document["x-envelope"]["response"], "types.json")}


# Tables


def cell(text: str) -> str:
    return text.replace("|", "\\|")


def table(head: list[str], rows: list[list[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(cell(text) for text in line) + " |" for line in lines)


def number(value: int) -> str:
    known = {MAX_INTEGER: "2^53-1", -MAX_INTEGER: "-(2^53-1)"}
    return known.get(value, f"{value:,}")


def kind(schema: JSON) -> str:
    """A schema in a few words."""
    name = component_name(schema)
    if name is not None:
        # Objects have tables of their own; anything else is told where it stands.
        named = components[name]
        return f"`{name}`" if named.get("type") == "object" else kind(named)
    if "allOf" in schema:
        return kind(schema["allOf"][0])
    if "anyOf" in schema:
        shapes = schema["anyOf"]
        if component_name(shapes[0]) and "enum" in components[component_name(shapes[0]) or ""]:
            # Later versions may add words; versioning.md says so once for all.
            shapes = [s for s in shapes if s != {"type": "string"}]
        return " or ".join(kind(s) for s in shapes)
    if "const" in schema:
        return f"`{json.dumps(schema['const'])}`"
    if "enum" in schema:
        return ", ".join(f"`{value}`" for value in schema["enum"])
    which = schema.get("type")
    if which == "integer":
        low, high = schema["minimum"], schema.get("maximum", MAX_INTEGER)
        return "integer" if high == MAX_INTEGER and low == 0 else f"integer {number(low)} to {number(high)}"
    if which == "string" and "maxLength" in schema:
        return f"string, at most {number(schema['maxLength'])} bytes"
    if which == "array":
        items = components.get(component_name(schema["items"]) or "", schema["items"])
        return f"{'some' if 'enum' in items else 'array'} of {kind(schema['items'])}"
    if which == "object" and isinstance(schema.get("additionalProperties"), dict):
        return f"object of {schema['additionalProperties']['type']}s"
    return which or "anything"


def methods_table(document: JSON) -> str:
    rows = [[f"[`{m['name']}`](#{anchor(m['name'])})", m["summary"]] for m in document["methods"]]
    return table(["method", "what it does"], rows)


def anchor(name: str) -> str:
    return re.sub(r"[^a-z0-9-]", "", name.lower())


def params_table(document: JSON, name: str) -> str:
    rows = []
    for member in next(m for m in document["methods"] if m["name"] == name)["params"]:
        known = "required" if is_required(member) else default_of(member["schema"])
        rows.append([f"`{member['name']}`", kind(member["schema"]), known, member["description"]])
    return table(["param", "value", "default", "meaning"], rows)


def default_of(schema: JSON) -> str:
    """What holds without it; where `configure` can change that, until it does."""
    default = schema.get("default", schema.get("x-initial"))
    return "" if default is None else f"`{json.dumps(default)}`"


def limits_table(document: JSON) -> str:
    limits = document["x-limits"]
    demand(set(limits) == set(LIMITS), f"LIMITS does not describe {sorted(set(limits) ^ set(LIMITS))}")
    rows = [[f"`{name}`", number(value), LIMITS[name]] for name, value in limits.items()]
    return table(["limit", "at most", "of what"], rows)


def members_table(document: JSON, name: str) -> str:
    schema = document["components"]["schemas"][name]
    has_defaults = any(default_of(member) for member in schema["properties"].values())
    rows = []
    for key, member in schema["properties"].items():
        default = [default_of(member)] if has_defaults else []
        rows.append([f"`{key}`", kind(member), *default, member["description"]])
    return table(["member", "value", *(["default"] if has_defaults else []), "meaning"], rows)


def errors_table(document: JSON) -> str:
    rows = []
    for error in sorted(document["x-errors"], key=lambda e: (e["code"] > 0, abs(e["code"]))):
        code = str(error["code"]).replace("-", "\N{MINUS SIGN}")
        again = "yes" if error["retryable"] else "no"
        rows.append([code, f"`{error['kind']}`", again, error["meaning"], error["advice"]])
    return table(["code", "kind", "retryable", "meaning", "what a client should do"], rows)


def codes_line(document: JSON) -> str:
    """The codes of requests with their kinds, as one paragraph."""
    kinds: dict[int, list[str]] = {}
    for error in sorted(document["x-errors"], key=lambda e: (e["code"] > 0, abs(e["code"]))):
        kinds.setdefault(error["code"], []).append(f"`{error['kind']}`")
    minus, fixed = "\N{MINUS SIGN}", "\N{NO-BREAK SPACE}"
    parts = [fixed.join([str(code), " or ".join(names).replace(" ", fixed)]) for code, names in kinds.items()]
    return textwrap.fill(", ".join(parts).replace("-", minus) + ".", 120).replace(fixed, " ")


def check_names(document: JSON, page: str) -> None:
    """Tables that are written by hand name what the document names, each once and in its order."""
    schemas = document["components"]["schemas"]
    wanted = {
        "failures": schemas["FailureKind"]["enum"],
        "download": list(schemas["Download"]["properties"]),
    }
    for match in re.finditer(r"<!-- checked: (\w+) -->\n(.*?)<!-- end -->", page, re.DOTALL):
        named = re.findall(r"^\| `(\w+)`", match.group(2), re.MULTILINE)
        name, missing = match.group(1), [word for word in wanted[match.group(1)] if word not in named]
        demand(not missing, f"the table {name} does not tell of {', '.join(missing)}")
        demand(named == wanted[name], f"the table {name} should have the rows {', '.join(wanted[name])}")


def filled(document: JSON, page: str) -> str:
    """The page with the tables between its markers generated again."""
    makers = {
        "methods": lambda _: methods_table(document),
        "limits": lambda _: limits_table(document),
        "errors": lambda _: errors_table(document),
        "codes": lambda _: codes_line(document),
        "params": lambda name: params_table(document, name),
        "members": lambda name: members_table(document, name),
    }

    def fill(match: re.Match[str]) -> str:
        what, _, name = match.group(1).partition(" ")
        demand(what in makers, f"no table is called {what}")
        return f"<!-- generated: {match.group(1)} -->\n{makers[what](name)}\n<!-- end -->"

    return re.sub(r"<!-- generated: (.+?) -->\n.*?<!-- end -->", fill, page, flags=re.DOTALL)


def demand(holds: bool, problem: str) -> None:
    if not holds:
        sys.exit(f"generate.py: {problem}")


def outputs() -> Iterator[tuple[Path, str]]:
    document = json.loads((HERE / "openrpc.json").read_text())
    components.update(document["components"]["schemas"])
    for name, make in (
        ("types", types),
        ("requests", requests),
        ("results", results),
        ("events", events),
        ("error", errors),
        ("answer", answers),
    ):
        text = json.dumps(make(document), indent=1, ensure_ascii=False)
        yield HERE / "schema" / f"{name}.json", text + "\n"
    for path in (HERE / "README.md", HERE / "errors.md"):
        page = path.read_text()
        check_names(document, page)
        yield path, filled(document, page)


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--check", action="store_true", help="write nothing; fail if anything would change")
    arguments = parser.parse_args()
    stale = [(path, text) for path, text in outputs() if not path.exists() or path.read_text() != text]
    for path, text in stale:
        print(path.relative_to(HERE.parent), "would change" if arguments.check else "written")
        if not arguments.check:
            path.parent.mkdir(exist_ok=True)
            path.write_text(text)
    return 1 if stale and arguments.check else 0


if __name__ == "__main__":
    sys.exit(main())
