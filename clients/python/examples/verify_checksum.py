"""Files that must have the digests which a SHA256SUMS file gives: `verify_checksum.py SUMS_URL NAME…`.

A file appears under its name only if its digest is right.
"""

import sys
import tempfile
from pathlib import Path
from urllib.parse import urljoin

from towline import Checksum, DownloadFailed, RPCError, Towline, TowlineError


def read_sums(text: str) -> dict[str, Checksum]:
    """`HEX  NAME` a line, a star before the name for binary mode."""
    pairs = (line.split(maxsplit=1) for line in text.splitlines() if line.strip())
    return {name.lstrip("*"): Checksum("sha256", value) for value, name in pairs}


def main(sums_url: str, names: list[str]) -> int:
    status = 0
    with Towline(app="example-verify") as client, tempfile.TemporaryDirectory() as scratch:
        sums = client.fetch(sums_url, Path(scratch) / "SHA256SUMS")
        digests = read_sums(sums.path.read_text())
        for name in names:
            try:
                download = client.fetch(
                    urljoin(sums_url, name), name, checksum=digests[name], if_exists="skip"
                )
                print(f"{download.path}: OK")
            except DownloadFailed as failure:
                status = 1
                error = failure.download.error
                if error is not None and error.kind == "checksumMismatch":
                    client.remove(failure.download)  # the wrong bytes are of no use to a next try
                    print(f"{name}: FAILED")
                else:
                    print(f"{name}: {failure}")
            except (RPCError, OSError) as error:  # no place for the file
                status = 1
                print(f"{name}: {error}")
            except KeyError:
                status = 1
                print(f"{name}: not in {sums_url}")
    return status


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1], sys.argv[2:]))
    except TowlineError as error:
        sys.exit(str(error))
