"""Drives examples/desktop.py by clicks, for test_examples.py. Needs a Python with tkinter, and a display.

`drive_desktop.py DIRECTORY SCREENSHOT`, then commands on standard input; each is answered by a line.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import threading
import time
import tkinter as tk
from collections.abc import Callable
from queue import Queue

import desktop

from towline import Towline


class Driver:
    """Carries out one command after the other in Tk's own thread."""

    def __init__(self, root: tk.Tk, window: desktop.Window, screenshot: str) -> None:
        self.root, self.window, self.screenshot = root, window, screenshot

    def run(self, command: str, argument: str) -> str:
        return str(getattr(self, command)(argument))

    def add(self, url: str) -> str:
        self.window.url.insert(0, url)
        self.click(self.window.download_button)
        return self.window.status["text"] or "added"

    def pause(self, name: str) -> str:
        return self.click(self.row(name).pause)

    def resume(self, name: str) -> str:
        return self.click(self.row(name).resume)

    def cancel(self, name: str) -> str:
        return self.click(self.row(name).cancel)

    def state(self, wanted: str) -> str:
        """`NAME STATE`: waits for it, and prints what the row shows then."""
        name, _, state = wanted.partition(" ")
        self.until(lambda: self.row(name).download.state == state)
        row = self.row(name)
        buttons = (row.pause, row.resume, row.cancel)
        return f"{row.bar['value']:.2f} {''.join('-' if b.instate(['disabled']) else 'x' for b in buttons)}"

    def received(self, wanted: str) -> str:
        """`NAME SHARE`: waits until the bar is there."""
        name, _, share = wanted.partition(" ")
        self.until(lambda: name in self.names() and self.row(name).bar["value"] >= float(share))
        return f"{self.row(name).bar['value']:.2f}"

    def screen(self, _: str) -> str:
        self.root.update()
        if shutil.which("import") is None:
            return "no import"
        window = str(self.root.winfo_id())
        subprocess.run(["import", "-window", window, self.screenshot], check=True, timeout=20)
        return "taken"

    def click(self, button: tk.Widget) -> str:
        """A real press and release of the mouse over the middle of the button."""
        self.root.update()
        x, y = button.winfo_width() // 2, button.winfo_height() // 2
        for event in ("<Enter>", "<ButtonPress-1>", "<ButtonRelease-1>", "<Leave>"):
            button.event_generate(event, x=x, y=y)
        self.root.update()
        return "clicked"

    def names(self) -> dict[str, desktop.Row]:
        return {row.name["text"]: row for row in self.window.rows.values()}

    def row(self, name: str) -> desktop.Row:
        return self.names()[name]

    def until(self, condition: Callable[[], bool]) -> None:
        deadline = time.monotonic() + 20
        while not condition():
            if time.monotonic() > deadline:
                raise TimeoutError
            self.root.update()
            time.sleep(0.01)


def main(directory: str, screenshot: str) -> None:
    commands: Queue[str] = Queue()

    def read() -> None:
        for line in sys.stdin:
            commands.put(line.strip())
        commands.put("")

    threading.Thread(target=read, daemon=True).start()
    with Towline(app="example-desktop", resume_interrupted=True, progress_interval=0.1) as client:
        root = tk.Tk()
        driver = Driver(root, desktop.Window(root, client, directory), screenshot)
        root.update()
        while command := next_command(root, commands):
            name, _, argument = command.partition(" ")
            print(driver.run(name, argument), flush=True)
        root.destroy()


def next_command(root: tk.Tk, commands: Queue[str]) -> str:
    while commands.empty():
        root.update()
        time.sleep(0.01)
    return commands.get()


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2])
