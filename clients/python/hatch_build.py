"""Puts the service into the wheel when TOWLINE names it; without the variable the wheel is pure.

TOWLINE is what the package reads at run time too: a path, or a name in PATH. A wheel with the service also
puts `towline` on the PATH, by a script that runs it. The platform tag comes from the binary itself. It is
`linux_…`: the service uses the system's libcurl, jansson, SQLite, OpenSSL and zlib. clients/packaging/build
makes a `manylinux_…` wheel of it, which has these libraries in it.
"""

from __future__ import annotations

import os
import shutil
import struct
import sysconfig
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

VARIABLE = "TOWLINE"
#: The script for the PATH. It runs the service, which stays beside the libraries of its wheel.
LAUNCHER = "launcher.py"
MACHINES = {0x3E: "x86_64", 0xB7: "aarch64", 0xF3: "riscv64"}


class BundledService(BuildHookInterface):  # type: ignore[type-arg]
    """Named as `custom` in pyproject.toml."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        named = os.environ.get(VARIABLE)
        if not named or version == "editable":
            return
        found = shutil.which(os.path.expanduser(named))
        if found is None:
            raise FileNotFoundError(f"{VARIABLE} names no executable file: {named}")
        binary = Path(found).resolve()
        build_data["pure_python"] = False
        build_data["tag"] = f"py3-none-{platform_tag(binary)}"
        build_data["force_include"][str(binary)] = "towline/bin/towline"
        build_data["shared_scripts"][os.path.join(self.root, LAUNCHER)] = "towline"


def platform_tag(binary: Path) -> str:
    """The wheel's platform for an ELF file; for any other the platform of this machine."""
    with binary.open("rb") as file:
        head = file.read(20)
    if head[:4] == b"\x7fELF" and len(head) == 20:
        (machine,) = struct.unpack("<H" if head[5] == 1 else ">H", head[18:20])
        if machine not in MACHINES:
            raise ValueError(f"{binary} is for a machine (ELF number {machine}) whose wheel tag is not known")
        return f"linux_{MACHINES[machine]}"
    return sysconfig.get_platform().replace("-", "_").replace(".", "_")
