"""pygls: its JsonRPCClient."""

import asyncio
import os

from pygls.client import JsonRPCClient
from pygls.exceptions import JsonRpcException


async def main():
    mode = os.environ["MODE"]
    client = JsonRPCClient()
    progress = []

    @client.feature("progress")
    def on_progress(params):
        progress.append(params)

    @client.feature("changed")
    def on_changed(params):
        pass

    def call(method, params=None):
        return asyncio.wait_for(client.protocol.send_request_async(method, params), 60)

    await client.start_io(os.environ["TOWLINE"], "--state-dir", os.environ["STATE"])
    await call("initialize", {"processId": os.getpid(), "capabilities": {}})
    params = {"id": "disk", "url": os.environ["URL"], "path": os.environ["DESTINATION"]}
    print("resumed", str((await call("start", params)).resumed).lower(), flush=True)
    while mode == "hold":
        await asyncio.sleep(1)
    if mode == "full":
        while len(progress) < 3:
            await asyncio.sleep(0.02)
        print("progress", len(progress))
        print("paused", (await call("pause", {"id": "disk"})).download.state)
        print("continued", (await call("resume", {"id": "disk"})).download.state)
    try:
        await call("get", {"id": "nobody"})
    except JsonRpcException as failure:
        print("error", failure.code)
    print("ended", (await call("wait", {"id": "disk"})).download.state)
    await call("shutdown")
    client.protocol.notify("exit", None)
    print("exit", await asyncio.wait_for(client._server.wait(), 30), flush=True)
    await asyncio.wait_for(client.stop(), 30)


asyncio.run(main())
