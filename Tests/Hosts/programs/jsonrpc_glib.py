"""jsonrpc-glib through GObject introspection."""

import os
import re

import gi

gi.require_version("Jsonrpc", "1.0")
from gi.repository import Gio, GLib, Jsonrpc  # noqa: E402

mode = os.environ["MODE"]
pipes = Gio.SubprocessFlags.STDIN_PIPE | Gio.SubprocessFlags.STDOUT_PIPE
service = Gio.Subprocess.new([os.environ["TOWLINE"], "--state-dir", os.environ["STATE"]], pipes)
stream = Gio.SimpleIOStream.new(service.get_stdout_pipe(), service.get_stdin_pipe())
client = Jsonrpc.Client.new(stream)
context = GLib.MainContext.default()
progress = []
client.connect("notification", lambda client, method, params: method == "progress" and progress.append(1))
client.start_listening()


def call(method, **params):
    members = {name: GLib.Variant("s", value) for name, value in params.items()}
    return client.call(method, GLib.Variant("a{sv}", members))[1].unpack()


hello = {"processId": GLib.Variant("x", os.getpid()), "capabilities": GLib.Variant("a{sv}", {})}
client.call("initialize", GLib.Variant("a{sv}", hello))
answer = call("start", id="disk", url=os.environ["URL"], path=os.environ["DESTINATION"])
print("resumed", str(answer["resumed"]).lower(), flush=True)
while mode == "hold":
    context.iteration(True)
if mode == "full":
    while len(progress) < 3:
        context.iteration(True)
    print("progress", len(progress))
    print("paused", call("pause", id="disk")["download"]["state"])
    print("continued", call("resume", id="disk")["download"]["state"])
try:
    call("get", id="nobody")
except GLib.Error as failure:
    # The library gives the error object as text, without a code.
    code = re.search(r"'code': <(?:int64 )?(-?\d+)>", failure.message)
    print("error", code.group(1) if code else failure.message)
print("ended", call("wait", id="disk")["download"]["state"])
client.call("shutdown", None)
client.send_notification("exit", None)
service.wait()
print("exit", service.get_exit_status())
