"""Makes clients/shell/progress.svg: what a terminal shows half-way through `towline-get`.

    pip install pyte rich; python Tests/Shell/picture.py TOWLINE-BINARY

Runs the real command on a terminal of 80 columns against a loopback server of a steady rate, and draws what
the terminal shows at one moment.
"""

from __future__ import annotations

import io
import os
import pty
import re
import struct
import subprocess
import sys
import tempfile
import time
from fcntl import ioctl
from pathlib import Path
from select import select
from termios import TIOCSWINSZ

import pyte
from rich.console import Console
from rich.text import Text

TOP = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(TOP / "Tests" / "Acceptance"))

from scripted_server import Behaviour, ScriptedServer, content  # noqa: E402

COLUMNS, ROWS = 80, 12
MIB = 1 << 20
FILES = {"disk.img": (24 * MIB, 4 * MIB), "photos.tar": (9 * MIB, 2 * MIB), "notes.pdf": (MIB // 2, None)}
#: When the picture is taken.
SECONDS = 3.2


def shown(screen: pyte.Screen) -> list[str]:
    lines = [line.rstrip() for line in screen.display]
    while lines and not lines[-1]:
        lines.pop()
    return lines


def main() -> None:
    binary = Path(sys.argv[1]).resolve()
    server = ScriptedServer()
    for number, (name, (size, rate)) in enumerate(FILES.items()):
        server.add(f"/{name}", content(number, size), default=Behaviour(rate=rate))
    command = ["towline-get", *(f"https://example.org/{name}" for name in FILES)]
    screen = pyte.Screen(COLUMNS, ROWS)
    stream = pyte.ByteStream(screen)
    with tempfile.TemporaryDirectory() as folder:
        urls = [server.url(f"/{name}") for name in FILES]
        child, terminal = pty.fork()
        if child == 0:
            environment = {**os.environ, "TOWLINE": str(binary), "TERM": "xterm", "HOME": folder}
            os.chdir(folder)
            script = str(TOP / "clients" / "shell" / "towline-get")
            os.execvpe("bash", ["bash", script, *urls], environment)
        ioctl(terminal, TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
        deadline = time.monotonic() + SECONDS
        while (left := deadline - time.monotonic()) > 0:
            if select([terminal], [], [], left)[0]:
                stream.feed(os.read(terminal, 65_536))
        lines = shown(screen)
        subprocess.run(["kill", "-INT", str(child)], check=True)
        os.waitpid(child, 0)
    server.close()
    console = Console(record=True, width=COLUMNS, file=io.StringIO())
    console.print(Text("$ " + " \\\n    ".join(command)))
    for line in lines:
        console.print(Text(line))
    target = TOP / "clients" / "shell" / "progress.svg"
    picture = console.export_svg(title="towline-get", font_aspect_ratio=0.61, unique_id="towline-get")
    # No fonts from elsewhere: any monospaced one will do.
    target.write_text(re.sub(r" *@font-face \{.*?\}\n", "", picture, flags=re.DOTALL))
    print("\n".join(lines))


if __name__ == "__main__":
    main()
