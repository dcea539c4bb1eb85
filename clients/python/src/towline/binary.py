"""Finds the service's executable."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Optional, Union

from .errors import BinaryNotFound

PathLike = Union[str, os.PathLike[str]]

#: Where a wheel that carries the service has it.
BUNDLED = Path(__file__).with_name("bin") / "towline"
ENVIRONMENT = "TOWLINE"


def find_binary(binary: Optional[PathLike] = None) -> str:
    """The path of the service: the argument, `TOWLINE` in the environment, the bundled one, or from `PATH`.

    What is named has to be there: a wrong argument or variable raises BinaryNotFound rather than another
    binary being taken.
    """
    for named, what in ((binary, "the argument"), (os.environ.get(ENVIRONMENT) or None, ENVIRONMENT)):
        if named is not None:
            found = shutil.which(os.path.expanduser(os.fspath(named)))
            if found is None:
                raise BinaryNotFound(f"{what} names no executable file: {os.fspath(named)}")
            return os.path.abspath(found)
    if os.access(BUNDLED, os.X_OK):
        return str(BUNDLED)
    found = shutil.which("towline")
    if found is None:
        raise BinaryNotFound(
            "the towline service is not installed: give its path as `binary`, set TOWLINE to it, "
            "or put it in a directory of PATH"
        )
    return os.path.abspath(found)
