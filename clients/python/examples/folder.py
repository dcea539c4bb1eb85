"""A folder of URLs from a file, one a line: `folder.py URLS.txt DIRECTORY`. Says which did not come."""

import asyncio
import sys
from pathlib import Path

from towline import AsyncTowline, RPCError


async def main(list_file: str, directory: str) -> int:
    lines = Path(list_file).read_text().splitlines()
    urls = [line.strip() for line in lines if line.strip() and not line.startswith("#")]
    Path(directory).mkdir(parents=True, exist_ok=True)

    async with AsyncTowline(app="example-folder", events="none") as client:
        # All are started at once: the service runs as many at a time as it is told to.
        await client.configure(max_active=6, max_active_per_host=3)

        async def fetch(url: str) -> bool:
            try:
                download = await client.wait(await client.start(url, directory=directory, if_exists="skip"))
            except RPCError as error:
                print(f"{url}: {error}", file=sys.stderr)
                return False
            if download.error is not None:
                print(f"{url}: {download.error.kind}: {download.error.message}", file=sys.stderr)
            else:
                print(download.path)
            return download.state == "completed"

        came = await asyncio.gather(*(fetch(url) for url in urls))
    print(f"{sum(came)} of {len(urls)} came")
    return 0 if all(came) else 1


if __name__ == "__main__":
    sys.exit(asyncio.run(main(sys.argv[1], sys.argv[2])))
