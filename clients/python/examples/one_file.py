"""One file, with progress: `one_file.py URL [FILE]`. After Ctrl-C the same command resumes."""

from __future__ import annotations

import sys

from towline import Progress, Towline, TowlineError


def show(event: Progress) -> None:
    share = "" if event.fraction is None else f" ({event.fraction:.0%})"
    print(f"\r{event.received_bytes:,} bytes{share}", end="", flush=True)


def main(url: str, path: str | None) -> int:
    with Towline(app="example-one-file") as client:
        # "skip": the file of an earlier run stays, if the server still has the same.
        download = client.fetch(url, path, progress=show, if_exists="skip")
        print(f"\n{download.path}: {download.received_bytes:,} bytes")
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1], sys.argv[2] if len(sys.argv) > 2 else None))
    except (TowlineError, OSError) as error:
        sys.exit(str(error))
    except KeyboardInterrupt:
        sys.exit(130)
