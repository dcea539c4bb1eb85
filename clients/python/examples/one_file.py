"""One file, with progress: `one_file.py URL [FILE]`. After Ctrl-C the same command goes on where it was."""

import sys

from towline import Changed, Progress, Towline


def main(url: str, path: str) -> int:
    with Towline(app="example-one-file") as client:
        started = client.start(url, path)
        for event in client.events(started):
            if isinstance(event, Progress):
                share = "" if event.fraction is None else f" ({event.fraction:.0%})"
                print(f"\r{event.received_bytes:,} bytes{share}", end="", flush=True)
            elif isinstance(event, Changed) and event.download.is_final:
                print()
        download = client.wait(started).raise_unless_completed()
        print(f"{download.path}: {download.received_bytes:,} bytes")
    return 0


if __name__ == "__main__":
    url = sys.argv[1]
    try:
        sys.exit(main(url, sys.argv[2] if len(sys.argv) > 2 else url.rpartition("/")[2]))
    except KeyboardInterrupt:
        sys.exit(130)
