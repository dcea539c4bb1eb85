"""`list`: filters, pages that stay right while downloads change, and what changed since a revision."""

from __future__ import annotations

import json
from typing import Any

from fixtures import Launcher
from scripted_server import ScriptedServer
from support import fetch
from towline_client import JSON, Towline

URL = "http://127.0.0.1:1/f"


def start_paused(host: Towline, count: int, prefix: str = "d", **params: Any) -> list[str]:
    ids = [f"{prefix}{n:04}" for n in range(count)]
    requests = [
        host.send("start", {"url": URL, "path": i, "id": i, "startPaused": True, **params}) for i in ids
    ]
    for request in requests:
        host.answer(request)
    return ids


def pages(host: Towline, **params: Any) -> list[JSON]:
    found = [host.call("list", **params)]
    while found[-1]["nextCursor"] is not None:
        found.append(host.call("list", **{**params, "cursor": found[-1]["nextCursor"]}))
    return found


def ids_of(found: list[JSON]) -> list[str]:
    return [d["id"] for page in found for d in page["downloads"]]


def removed_ids(page: JSON) -> set[str]:
    return {entry if isinstance(entry, str) else entry["id"] for entry in page["removed"]}


def test_an_empty_list_has_all_its_members(host: Towline) -> None:
    page = host.call("list")
    assert set(page) == {"downloads", "removed", "nextCursor", "revision", "session", "seq"}
    assert (page["downloads"], page["removed"], page["nextCursor"]) == ([], [], None)


def test_a_page_has_50_downloads_at_most_unless_asked(host: Towline) -> None:
    start_paused(host, 60)
    page = host.call("list")
    assert 0 < len(page["downloads"]) <= 50
    assert page["nextCursor"] is not None


def test_pages_hold_every_download_once(host: Towline) -> None:
    ids = start_paused(host, 230)
    assert sorted(ids_of(pages(host, limit=100))) == ids
    assert sorted(ids_of(pages(host, limit=7))) == ids


def test_the_order_is_the_same_for_every_page_size(host: Towline) -> None:
    start_paused(host, 40)
    assert ids_of(pages(host, limit=100)) == ids_of(pages(host, limit=3))


def test_a_full_page_ends_early_rather_than_grow_too_large(host: Towline) -> None:
    ids = start_paused(host, 60, metadata={"text": "m" * 3_000})
    found = pages(host, limit=100)
    assert sorted(ids_of(found)) == ids
    assert all(len(json.dumps(p, separators=(",", ":"))) <= 48_000 for p in found)


def test_pages_stay_right_while_downloads_change_and_go(host: Towline) -> None:
    ids = start_paused(host, 60)
    first = host.call("list", limit=20)
    seen = {d["id"] for d in first["downloads"]}
    gone = next(i for i in ids if i not in seen)
    host.call("cancel", ids=list(ids))
    host.call("remove", id=gone)
    host.call("remove", id=next(iter(seen)))
    start_paused(host, 5, prefix="new")
    rest = ids_of(pages(host, limit=20, cursor=first["nextCursor"]))
    assert len(rest) == len(set(rest))
    assert not seen & set(rest)
    assert set(ids) - seen - {gone} <= set(rest)


def test_states_filter(host: Towline) -> None:
    ids = start_paused(host, 4)
    host.call("cancel", ids=ids[:2])
    assert sorted(ids_of(pages(host, states=["canceled"]))) == ids[:2]
    assert sorted(ids_of(pages(host, states=["paused"]))) == ids[2:]
    assert sorted(ids_of(pages(host, states=["paused", "canceled"]))) == ids
    assert ids_of(pages(host, states=["active"])) == []


def test_ids_filter_and_unknown_ids_are_left_out(host: Towline) -> None:
    ids = start_paused(host, 4)
    assert sorted(ids_of(pages(host, ids=[ids[1], "nobody", ids[3]]))) == [ids[1], ids[3]]


def test_fields_choose_members(host: Towline) -> None:
    start_paused(host, 1)
    download = host.call("list", fields=["id", "state", "receivedBytes"])["downloads"][0]
    assert set(download) == {"id", "state", "receivedBytes"}


def test_changed_since_tells_only_what_changed(host: Towline) -> None:
    ids = start_paused(host, 5)
    before = host.call("list")["revision"]
    host.call("cancel", id=ids[2])
    page = host.call("list", changedSince=before)
    assert ids_of([page]) == [ids[2]]
    assert page["revision"] > before
    assert ids_of([host.call("list", changedSince=page["revision"])]) == []


def test_removals_are_told_as_tombstones(host: Towline) -> None:
    ids = start_paused(host, 3)
    host.call("cancel", all=True)
    before = host.call("list")["revision"]
    host.call("remove", id=ids[1])
    page = host.call("list", changedSince=before)
    assert (ids_of([page]), removed_ids(page)) == ([], {ids[1]})
    assert removed_ids(host.call("list", changedSince=page["revision"])) == set()


def test_polling_by_revision_misses_nothing(host: Towline) -> None:
    known: dict[str, JSON] = {}
    revision = 0

    def catch_up() -> None:
        nonlocal revision
        found = pages(host, changedSince=revision, limit=10)
        for page in found:
            known.update({d["id"]: d for d in page["downloads"]})
            for gone in removed_ids(page):
                known.pop(gone, None)
        revision = found[0]["revision"]

    ids = start_paused(host, 25)
    catch_up()
    host.call("cancel", ids=ids[:12])
    catch_up()
    for i in ids[:6]:
        host.call("remove", id=i)
    start_paused(host, 3, prefix="new")
    catch_up()
    catch_up()
    truth = {d["id"]: d["state"] for p in pages(host) for d in p["downloads"]}
    assert {i: d["state"] for i, d in known.items()} == truth


def test_another_process_sees_changes_by_revision(launch: Launcher) -> None:
    one, two = launch(), launch()
    before = two.call("list")["revision"]
    ids = start_paused(one, 2)
    page = two.call("list", changedSince=before)
    assert sorted(ids_of([page])) == ids


def test_the_list_of_events_up_to_seq_is_whole(
    host: Towline, server: ScriptedServer, launch: Launcher
) -> None:
    server.add("/f", b"x")
    fetch(host, server.url("/f"), launch.work / "f")
    page = host.call("list")
    last = host.wait_event(
        lambda e: e["method"] == "changed" and e["params"]["download"]["state"] == "completed"
    )["params"]
    assert page["session"] == last["session"]
    assert page["seq"] >= last["seq"]


def state_of(page: JSON, download_id: str) -> str | None:
    return next((d["state"] for d in page["downloads"] if d["id"] == download_id), None)


def test_a_read_sees_every_change_answered_before_it(host: Towline) -> None:
    ids = start_paused(host, 20)
    for i in ids:
        host.send("cancel", {"id": i})
        assert state_of(host.call("list", ids=[i]), i) in ("paused", "canceled")
        host.call("cancel", id=i)
        assert state_of(host.call("list", ids=[i]), i) == "canceled"
