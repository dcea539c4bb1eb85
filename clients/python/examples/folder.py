"""A folder of URLs from a file, one a line: `folder.py URLS.txt DIRECTORY`. Says which failed."""

import asyncio
import sys
from pathlib import Path

from towline import AsyncTowline, DownloadFailed, RPCError


async def main(list_file: str, directory: str) -> int:
    lines = Path(list_file).read_text().splitlines()
    urls = [line.strip() for line in lines if line.strip() and not line.startswith("#")]
    Path(directory).mkdir(parents=True, exist_ok=True)

    async with AsyncTowline(app="example-folder", events="none") as client:
        # All are started at once: the service runs as many at a time as `configure` says.
        await client.configure(max_active=6, max_active_per_host=3)

        async def fetch(url: str) -> bool:
            try:
                download = await client.fetch(url, directory=directory, if_exists="skip")
            except (DownloadFailed, RPCError) as error:
                print(f"{url}: {error}", file=sys.stderr)
                return False
            print(download.path)
            return True

        finished = await asyncio.gather(*(fetch(url) for url in urls))
    print(f"{sum(finished)} of {len(urls)} finished")
    return 0 if all(finished) else 1


if __name__ == "__main__":
    try:
        sys.exit(asyncio.run(main(sys.argv[1], sys.argv[2])))
    except OSError as error:  # of the list, or the directory
        sys.exit(str(error))
