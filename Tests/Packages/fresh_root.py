"""A Debian system: made once with debootstrap, copied for each test, entered in a mount namespace."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

#: The mounts end with the namespace, so no cleanup is needed; `exec` keeps the exit status.
ENTER = """
mount --bind "$0" "$0" && mount -t proc proc "$0/proc" && mount --rbind /sys "$0/sys" &&
    mount --rbind /dev "$0/dev" || exit 125
exec chroot "$0" env "$@"
"""
NAMESPACE = ("unshare", "--mount", "--propagation", "private", "--")
AUTHORITIES = Path("/etc/ssl/certs/ca-certificates.crt")
#: Files that tell apt and pip how to reach their archives.
SETTINGS = (
    "apt/sources.list",
    "apt/sources.list.d/*.sources",
    "apt/sources.list.d/*.list",
    "apt/apt.conf.d/99*",
)
SETTINGS += ("resolv.conf", "pip.conf", "ssl/certs/ca-certificates.crt")
#: Environment variables for the same purpose.
PASSED = re.compile("PIP_|(https?|no|all)_proxy$", re.IGNORECASE)
#: Package databases, caches, and home directories.
LEFT_OUT = {"proc", "sys", "dev", "tmp", "root", "var/lib/apt", "var/lib/dpkg", "var/cache", "var/log"}
SEARCH_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


def missing() -> str | None:
    """What this machine lacks, or None."""
    if os.geteuid() != 0:
        return "root"
    for name in ("debootstrap", "unshare", "dpkg-deb", "lintian", "readelf"):
        if shutil.which(name) is None:
            return name
    probe = [*NAMESPACE, "mount", "-t", "tmpfs", "none", "/mnt"]
    return None if subprocess.run(probe, capture_output=True).returncode == 0 else "the right to mount"


def archive() -> tuple[str, str]:
    """The address of this machine's Debian archive, and its release."""
    told = subprocess.check_output(
        ["apt-get", "indextargets", "--format", "$(REPO_URI) $(CODENAME)", "Created-By: Packages"], text=True
    )
    address, release = told.splitlines()[0].split()
    return address, release


def make_base(root: Path) -> None:
    """Makes a minimal system of this machine's release, with its settings for apt and pip."""
    address, release = archive()
    command = ["debootstrap", "--variant=minbase", release, str(root), address]
    subprocess.run(command, check=True, timeout=900)
    for pattern in SETTINGS:
        for file in Path("/etc").glob(pattern):
            copy = root / file.relative_to("/")
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(file, copy)


class FreshRoot:
    """One system. `run` runs a command in it, on this machine's network."""

    def __init__(self, root: Path) -> None:
        self.path = root

    def run(
        self, *command: str, check: bool = True, timeout: float = 300, **variables: str
    ) -> subprocess.CompletedProcess[str]:
        inside = {
            "PATH": SEARCH_PATH,
            "HOME": "/root",
            "LC_ALL": "C.UTF-8",
            "DEBIAN_FRONTEND": "noninteractive",
        }
        inside |= {name: value for name, value in os.environ.items() if PASSED.match(name)} | variables
        settings = ["-i", *(f"{name}={value}" for name, value in inside.items())]
        ran = subprocess.run(
            [*NAMESPACE, "sh", "-c", ENTER, str(self.path), *settings, *command],
            capture_output=True,
            text=True,
            timeout=timeout,
        )
        print(f"$ {' '.join(command)}\n{ran.stdout}{ran.stderr}")
        assert not check or ran.returncode == 0, f"{command} ended with {ran.returncode}: {ran.stderr}"
        return ran

    def shell(self, script: str, **variables: str) -> str:
        """Runs a script in bash and returns its output."""
        return self.run("bash", "-euo", "pipefail", "-c", script, **variables).stdout

    def install(self, packages: Sequence[str]) -> str:
        """Installs packages with apt; the first call also downloads the package lists."""
        if not list((self.path / "var/lib/apt/lists").glob("*Packages*")):
            self.run("apt-get", "update", "-qq")
        return self.run("apt-get", "install", "-y", "--no-install-recommends", *packages).stdout

    def put(self, file: Path) -> str:
        """Copies a file into /tmp and returns its path there."""
        shutil.copy(file, self.path / "tmp" / file.name)
        return f"/tmp/{file.name}"

    def files(self) -> set[str]:
        """All paths in the system, except those in LEFT_OUT."""
        found = set()
        for at, directories, names in os.walk(self.path):
            inside = Path(at).relative_to(self.path)
            directories[:] = [each for each in directories if str(inside / each) not in LEFT_OUT]
            found |= {str(inside / each) for each in (*directories, *names)}
        return found
