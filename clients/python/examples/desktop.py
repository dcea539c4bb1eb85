"""A small graphical download manager: `desktop.py [DIRECTORY]`. Needs tkinter.

All Tk calls are made in the main thread: a timer takes the events from the client, and the buttons send their
requests directly, since one takes no longer than a disk write.
"""

from __future__ import annotations

import sys
import tkinter as tk
from collections.abc import Callable
from functools import partial
from tkinter import messagebox, ttk
from typing import Union

from towline import Changed, Download, EventsLost, Progress, Removed, RPCError, Towline, TowlineError

INTERVAL_MS = 100
EVENTS_AT_ONCE = 200


def megabytes(count: int | None) -> str:
    return "?" if count is None else f"{count / 1e6:.1f} MB"


class Row:
    """One download in the list: name, bar, a line of text, and its buttons."""

    def __init__(self, parent: tk.Widget, window: Window, download: Download) -> None:
        self.download = download
        self.frame = ttk.Frame(parent, padding=6)
        self.frame.columnconfigure(0, weight=1)
        self.name = ttk.Label(self.frame, font=("TkDefaultFont", 10, "bold"))
        self.text = ttk.Label(self.frame, foreground="#555")
        self.bar = ttk.Progressbar(self.frame, maximum=1.0)
        self.name.grid(row=0, column=0, sticky="w")
        self.bar.grid(row=1, column=0, sticky="ew", padx=(0, 8))
        self.text.grid(row=2, column=0, sticky="w")
        self.pause = self.button("Pause", 1, window.asking(window.client.pause, self))
        self.resume = self.button("Resume", 2, window.asking(window.client.resume, self))
        self.cancel = self.button("Cancel", 3, window.asking(window.client.cancel, self))
        self.frame.pack(fill="x")
        self.show(download)

    def button(self, text: str, column: int, command: Callable[[], None]) -> ttk.Button:
        made = ttk.Button(self.frame, text=text, command=command, width=8)
        made.grid(row=0, column=column, rowspan=3, padx=2)
        return made

    def show(self, download: Download) -> None:
        self.download = download
        self.name["text"] = download.label.rpartition("/")[2] or download.url
        state = download.state if download.error is None else f"{download.state}: {download.error.message}"
        self.describe(download, state)
        running = download.state in ("queued", "active", "waiting")
        self.enable(self.pause, running)
        self.enable(self.resume, download.state in ("paused", "waiting", "failed"))
        self.enable(self.cancel, not download.is_final)

    def progress(self, event: Progress) -> None:
        if self.download.state != "active":
            return  # one that was sent before it was paused
        speed = "" if event.bytes_per_second is None else f"{megabytes(event.bytes_per_second)}/s"
        left = "" if event.eta is None else f", {event.eta:.0f} s left"
        self.describe(event, (speed + left) or "downloading")

    def describe(self, what: Union[Download, Progress], words: str) -> None:
        self.bar["value"] = what.fraction or 0.0
        self.text["text"] = f"{megabytes(what.received_bytes)} of {megabytes(what.total_bytes)}   {words}"

    @staticmethod
    def enable(button: ttk.Button, on: bool) -> None:
        button.state(["!disabled" if on else "disabled"])


class Window:
    """The window with its list. `client` is open as long as the window is."""

    def __init__(self, root: tk.Tk, client: Towline, directory: str) -> None:
        self.root = root
        self.client = client
        self.directory = directory
        self.rows: dict[str, Row] = {}
        root.title("Towline")
        root.geometry("640x360")
        top = ttk.Frame(root, padding=8)
        top.pack(fill="x")
        self.url = ttk.Entry(top)
        self.url.pack(side="left", fill="x", expand=True, padx=(0, 8))
        self.url.bind("<Return>", lambda _: self.add())
        self.url.focus()
        self.download_button = ttk.Button(top, text="Download", command=self.add)
        self.download_button.pack(side="left")
        self.list = ttk.Frame(root)
        self.list.pack(fill="both", expand=True)
        self.status = ttk.Label(root, padding=6)
        self.status.pack(fill="x", side="bottom")

        self.events = client.events()
        self.reload()
        self.poll()

    def reload(self) -> None:
        for download in self.client.list():
            self.show(download)

    def add(self) -> None:
        url = self.url.get().strip()
        if url and self.ask(partial(self.client.start, directory=self.directory, if_exists="skip"), url):
            self.url.delete(0, "end")

    def asking(self, request: Callable[[Download], object], row: Row) -> Callable[[], None]:
        """What a button of a row does."""

        def act() -> None:
            self.ask(request, row.download)

        return act

    def ask(self, request: Callable[..., object], *arguments: object) -> bool:
        """Sends a request. Events say what it changed; the status line says why it was refused."""
        try:
            request(*arguments)
        except RPCError as error:
            self.status["text"] = error.message
            return False
        self.status["text"] = ""
        return True

    def show(self, download: Download) -> None:
        if download.id in self.rows:
            self.rows[download.id].show(download)
        else:
            self.rows[download.id] = Row(self.list, self, download)

    def poll(self) -> None:
        """Takes the events that are there, but lets Tk draw in between."""
        try:
            for _ in range(EVENTS_AT_ONCE):
                event = self.events.poll()
                if event is None:
                    break
                if isinstance(event, Changed):
                    self.show(event.download)
                elif isinstance(event, Progress) and event.id in self.rows:
                    self.rows[event.id].progress(event)
                elif isinstance(event, Removed) and event.id in self.rows:
                    self.rows.pop(event.id).frame.destroy()
                elif isinstance(event, EventsLost):
                    self.reload()
        except TowlineError as error:
            messagebox.showerror("Towline", str(error))
            self.root.destroy()
            return
        self.root.after(INTERVAL_MS, self.poll)


def main(directory: str) -> None:
    with Towline(
        app="example-desktop", resume_interrupted=True, progress_interval=INTERVAL_MS / 1000
    ) as client:
        root = tk.Tk()
        Window(root, client, directory)
        root.mainloop()


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else ".")
