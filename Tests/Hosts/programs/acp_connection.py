"""agent-client-protocol: only its Connection, which is not specific to agents."""

import asyncio
import os

from acp.connection import Connection
from acp.exceptions import RequestError


async def main():
    mode = os.environ["MODE"]
    progress = []

    async def handle(method, params, is_notification):
        if method == "progress":
            progress.append(params)

    service = await asyncio.create_subprocess_exec(
        os.environ["TOWLINE"],
        "--state-dir",
        os.environ["STATE"],
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
    )
    async with Connection(handle, service.stdin, service.stdout) as connection:

        def call(method, params=None):
            return asyncio.wait_for(connection.send_request(method, params), 60)

        params = {"id": "disk", "url": os.environ["URL"], "path": os.environ["DESTINATION"]}
        print("resumed", str((await call("start", params))["resumed"]).lower(), flush=True)
        while mode == "hold":
            await asyncio.sleep(1)
        if mode == "full":
            while len(progress) < 3:
                await asyncio.sleep(0.02)
            print("progress", len(progress))
            print("paused", (await call("pause", {"id": "disk"}))["download"]["state"])
            print("continued", (await call("resume", {"id": "disk"}))["download"]["state"])
        try:
            await call("get", {"id": "nobody"})
        except RequestError as failure:
            print("error", failure.code)
        print("ended", (await call("wait", {"id": "disk"}))["download"]["state"])
        service.stdin.close()
    print("exit", await asyncio.wait_for(service.wait(), 30))


asyncio.run(main())
