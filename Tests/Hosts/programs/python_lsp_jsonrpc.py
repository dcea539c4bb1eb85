"""python-lsp-jsonrpc: its Endpoint over the pipes of subprocess."""

import os
import subprocess
import threading
import time

from pylsp_jsonrpc.endpoint import Endpoint
from pylsp_jsonrpc.exceptions import JsonRpcException
from pylsp_jsonrpc.streams import JsonRpcStreamReader, JsonRpcStreamWriter

mode = os.environ["MODE"]
service = subprocess.Popen(
    [os.environ["TOWLINE"], "--state-dir", os.environ["STATE"]],
    stdin=subprocess.PIPE,
    stdout=subprocess.PIPE,
)
progress = []
handlers = {"progress": progress.append, "changed": lambda params: None}
endpoint = Endpoint(handlers, JsonRpcStreamWriter(service.stdin).write)
reader = JsonRpcStreamReader(service.stdout)
threading.Thread(target=reader.listen, args=(endpoint.consume,), daemon=True).start()


def call(method, **params):
    return endpoint.request(method, params or None).result(60)


call("initialize", processId=os.getpid(), capabilities={})
answer = call("start", id="disk", url=os.environ["URL"], path=os.environ["DESTINATION"])
print("resumed", str(answer["resumed"]).lower(), flush=True)
while mode == "hold":
    time.sleep(1)
if mode == "full":
    while len(progress) < 3:
        time.sleep(0.02)
    print("progress", len(progress))
    print("paused", call("pause", id="disk")["download"]["state"])
    print("continued", call("resume", id="disk")["download"]["state"])
try:
    call("get", id="nobody")
except JsonRpcException as failure:
    print("error", failure.code)
print("ended", call("wait", id="disk")["download"]["state"])
call("shutdown")
endpoint.notify("exit")
print("exit", service.wait(30))
