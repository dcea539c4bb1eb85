"""jsonrpcclient: it makes requests and parses answers; this program reads and writes the pipe."""

import json
import os
import subprocess
import time

from jsonrpcclient import parse, request, request_uuid

mode = os.environ["MODE"]
service = subprocess.Popen(
    [os.environ["TOWLINE"], "--state-dir", os.environ["STATE"]],
    stdin=subprocess.PIPE,
    stdout=subprocess.PIPE,
    text=True,
)
progress = 0


def call(method, make=request, **params):
    global progress
    service.stdin.write(json.dumps(make(method, params=params)) + "\n")
    service.stdin.flush()
    for line in service.stdout:
        message = json.loads(line)
        if "method" not in message:
            return parse(message)
        progress += message["method"] == "progress"
    raise EOFError("the service exited")


answer = call("start", id="disk", url=os.environ["URL"], path=os.environ["DESTINATION"])
print("resumed", str(answer.result["resumed"]).lower(), flush=True)
while mode == "hold":
    time.sleep(1)
if mode == "full":
    while progress < 3:
        call("ping")
        time.sleep(0.02)
    print("progress", progress)
    print("paused", call("pause", request_uuid, id="disk").result["download"]["state"])
    print("continued", call("resume", request_uuid, id="disk").result["download"]["state"])
print("error", call("get", id="nobody").code)
print("ended", call("wait", id="disk").result["download"]["state"])
service.stdin.close()
print("exit", service.wait(30))
