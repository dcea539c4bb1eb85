"""pytest-lsp and lsprotocol: a session as with a language server. pytest runs this file."""

import asyncio
import os

import pytest
import pytest_lsp
from lsprotocol import types
from pygls.exceptions import JsonRpcException
from pytest_lsp import ClientServerConfig, LanguageClient

MODE = os.environ["MODE"]
COMMAND = [os.environ["TOWLINE"], "--state-dir", os.environ["STATE"]]


@pytest_lsp.fixture(config=ClientServerConfig(server_command=COMMAND))
async def client(lsp_client: LanguageClient):
    lsp_client.progress = []

    @lsp_client.feature("progress")
    def on_progress(params):
        lsp_client.progress.append(params)

    @lsp_client.feature("changed")
    def on_changed(params):
        pass

    await lsp_client.initialize_session(
        types.InitializeParams(capabilities=types.ClientCapabilities(), process_id=os.getpid())
    )
    yield
    await lsp_client.shutdown_session()
    print("\nexit", await asyncio.wait_for(lsp_client._server.wait(), 30), flush=True)


@pytest.mark.asyncio
async def test_download(client: LanguageClient):
    def call(method, params=None):
        return asyncio.wait_for(client.protocol.send_request_async(method, params), 60)

    params = {"id": "disk", "url": os.environ["URL"], "path": os.environ["DESTINATION"]}
    print("\nresumed", str((await call("start", params)).resumed).lower(), flush=True)
    while MODE == "hold":
        await asyncio.sleep(1)
    if MODE == "full":
        while len(client.progress) < 3:
            await asyncio.sleep(0.02)
        print("progress", len(client.progress))
        print("paused", (await call("pause", {"id": "disk"})).download.state)
        print("continued", (await call("resume", {"id": "disk"})).download.state)
    with pytest.raises(JsonRpcException) as failure:
        await call("get", {"id": "nobody"})
    print("error", failure.value.code)
    print("ended", (await call("wait", {"id": "disk"})).download.state)
