"""A download in one call."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Optional

from .binary import PathLike
from .calls import absolute
from .compat import Unpack
from .errors import DestinationConflict, DownloadFailed
from .fetching import ProgressCallback
from .kept import Wanted, continue_with, in_the_way, replace_failed
from .models import Checksum
from .options import OnCancel, StartOptions, documented
from .sync import Towline


@documented(StartOptions)
def download(
    url: str,
    path: PathLike = os.curdir,
    *,
    progress: Optional[ProgressCallback] = None,
    timeout: Optional[float] = None,
    on_cancel: OnCancel = "pause",
    forget: bool = True,
    app: Optional[str] = None,
    **options: Unpack[StartOptions],
) -> Path:
    """Downloads one file and returns its path; the same call again resumes what was interrupted.

    It resumes also with a new link that differs only in its query, as a signed URL does when it is renewed.

    `path` is the file to make or an existing directory, which gets it under the name that the server gives.
    A file that is there is kept if it is the one at the URL, which the server is asked; else the new one
    replaces it when it is complete. With `if_exists="error"` nothing is ever replaced.

    progress: called with a Progress while bytes arrive, and once at the end
    timeout: seconds after which WaitTimedOut is raised
    on_cancel: what becomes of the download after a timeout, a Ctrl-C or an exception in `progress`: "pause"
        (the same call resumes it) or "cancel" (what was received is deleted)
    forget: remove the record of the finished download; without it later calls know the file's validator
    app: keep these downloads apart from those of other names

    Many files? `Towline` starts the service once for all of them.
    """
    options = {"if_exists": "skip", **options}
    text = options.get("checksum")
    checksum = Checksum.parse(text) if isinstance(text, str) else text
    directory = path if os.path.isdir(absolute(path)) else None
    file = path if directory is None else None
    wanted = Wanted.build(url, file, directory or os.curdir, checksum, options)
    with Towline(app=app) as client:

        def fetch() -> Path:
            return client.fetch(
                url,
                file,
                directory=directory,
                progress=progress,
                timeout=timeout,
                on_cancel=on_cancel,
                forget=forget,
                **options,
            ).path

        try:
            return fetch()
        except DestinationConflict as conflict:
            kept = in_the_way(client, wanted, conflict)
            if kept is None:
                raise
            continue_with(client, wanted, kept)
        except DownloadFailed as failure:
            if replace_failed(client, wanted, failure.download) is None:
                raise
        return fetch()
