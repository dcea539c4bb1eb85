"""What a program does at its start to continue after a crash of its own, or of the machine.

`after_a_crash.py DIRECTORY [URL…]` adds the URLs to what is unfinished and finishes everything.
A crash of the service alone needs nothing of this: the client starts it again and reports `Respawned`.
"""

import sys

from towline import Changed, EventsLost, Removed, Respawned, Towline, TowlineError


def main(directory: str, urls: list[str]) -> int:
    # With resume_interrupted everything continues that ran when the program or the machine crashed.
    with Towline(app="example-after-a-crash", resume_interrupted=True) as client:
        events = client.events()
        unfinished = {d.id: d for d in client.list(states=["queued", "active", "waiting"])}
        for download in unfinished.values():
            print(f"resuming {download.url} at byte {download.received_bytes:,}", flush=True)
        for url in urls:
            started = client.start(url, directory=directory, if_exists="skip")
            unfinished[started.id] = started.download

        failed = 0
        while unfinished:
            event = next(events)
            if isinstance(event, Changed) and event.download.is_final:
                done = unfinished.pop(event.id, None)
                failed += done is not None and event.download.state != "completed"
                print(f"{event.download.state} {event.download.path or event.download.url}", flush=True)
            elif isinstance(event, Removed) and event.id in unfinished:
                del unfinished[event.id]  # by another process
                failed += 1
            elif isinstance(event, Respawned):
                print(
                    f"the service crashed; {len(event.resumed)} downloads continue in a new one", flush=True
                )
            elif isinstance(event, EventsLost):
                unfinished = {d.id: d for d in client.list(ids=unfinished) if not d.is_final}
    return 1 if failed else 0


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1], sys.argv[2:]))
    except TowlineError as error:
        sys.exit(str(error))
