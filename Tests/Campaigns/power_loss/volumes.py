"""File systems in images, the log disk under them, and the namespaces that hide both from other processes."""

from __future__ import annotations

import contextlib
import ctypes
import fcntl
import os
import shlex
import shutil
import socket
import struct
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

HERE = Path(__file__).resolve().parent
BOOT_ID = Path("/proc/sys/kernel/random/boot_id")
PROGRAMS = ("gcc", "pkg-config", "mount", "mkfs.ext4")
#: Some PATHs lack /sbin.
SEARCH_PATH = os.pathsep.join([os.environ.get("PATH", "/usr/bin:/bin"), "/usr/sbin", "/sbin"])

CLONE_NEWNS, CLONE_NEWNET = 0x0002_0000, 0x4000_0000
MS_BIND, MS_REC, MS_PRIVATE = 0x1000, 0x4000, 0x4_0000
SIOCSIFFLAGS, IFF_UP_RUNNING = 0x8914, 0x41
SYNC_FILE_RANGE_WRITE = 2

_libc = ctypes.CDLL(None, use_errno=True)


def _call(name: str, *arguments: object) -> None:
    if getattr(_libc, name)(*arguments) != 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{name} {arguments}: {os.strerror(number)}")


def run(*command: str | Path) -> None:
    """Runs a program; raises if it fails."""
    done = subprocess.run(
        [str(c) for c in command], capture_output=True, text=True, env={"PATH": SEARCH_PATH, "LC_ALL": "C"}
    )
    if done.returncode != 0:
        raise OSError(
            f"{shlex.join(str(c) for c in command)}: status {done.returncode}: {done.stderr.strip()}"
        )


def missing() -> str | None:
    """The first thing that this machine lacks for a log disk with ext4, or None."""
    if os.geteuid() != 0:
        return "root"
    for program in PROGRAMS:
        if shutil.which(program, path=SEARCH_PATH) is None:
            return program
    if subprocess.run(["pkg-config", "--exists", "fuse3"], capture_output=True).returncode != 0:
        return "libfuse3-dev"
    if not os.access("/dev/fuse", os.R_OK | os.W_OK):
        return "FUSE (/dev/fuse)"
    if not os.access("/dev/loop-control", os.R_OK | os.W_OK):
        return "loop devices (/dev/loop-control)"
    probe = "import sys; sys.path.insert(0, sys.argv[1]); import volumes; volumes.enter_namespaces()"
    if subprocess.run([sys.executable, "-c", probe, str(HERE)], capture_output=True).returncode != 0:
        return "mount and network namespaces"
    return None


def are_mounts_unique() -> bool:
    """True if the kernel never reuses the number of an unmounted mount."""
    major, minor = os.uname().release.split(".")[:2]
    return (int(major), int("".join(c for c in minor if c.isdigit()))) >= (6, 8)


def enter_namespaces() -> None:
    """Gives this process its own mounts and network: they end with it, and all ports are free."""
    _call("unshare", CLONE_NEWNS | CLONE_NEWNET)
    _call("mount", b"none", b"/", None, MS_REC | MS_PRIVATE, None)
    with socket.socket() as any_socket:
        fcntl.ioctl(any_socket, SIOCSIFFLAGS, struct.pack("16sh", b"lo", IFF_UP_RUNNING))


def mount_memory(point: Path, limit_mib: int) -> None:
    point.mkdir(exist_ok=True)
    _call("mount", b"none", os.fsencode(point), b"tmpfs", 0, f"size={limit_mib}m".encode())


def start_writeback(file: int) -> None:
    """Starts to write the file's dirty pages to the disk, without a flush.  C: sync_file_range(2)"""
    _libc.sync_file_range(file, ctypes.c_int64(0), ctypes.c_int64(0), SYNC_FILE_RANGE_WRITE)


@contextlib.contextmanager
def memory(point: Path, limit_mib: int) -> Iterator[None]:
    mount_memory(point, limit_mib)
    try:
        yield
    finally:
        unmount(point)


class Boot:
    """The boot id that processes started from here see; needs a mount namespace of our own."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self.begin(0)
        _call("mount", os.fsencode(file), os.fsencode(BOOT_ID), None, MS_BIND, None)

    def begin(self, number: int) -> None:
        """From now on it is another boot, unless the number is the same."""
        self._file.write_text(f"00000000-0000-4000-8000-{number:012x}\n")


def mount(image: Path, point: Path, kind: str, options: Sequence[str] = ()) -> None:
    point.mkdir(exist_ok=True)
    # Copies of one image have the same UUID, so XFS takes them for the same disk.
    added = ["nouuid"] if kind == "xfs" else []
    run("mount", "-t", kind, "-o", ",".join(["loop", *added, *options]), image, point)


def unmount(point: Path, patience_seconds: float = 10) -> None:
    deadline = time.monotonic() + patience_seconds
    while True:
        try:
            return _call("umount2", os.fsencode(point), 0)
        except OSError as error:
            # A process that has just exited may still use it.
            if error.errno != 16 or time.monotonic() > deadline:
                raise
            time.sleep(0.01)


@contextlib.contextmanager
def mounted(images: Sequence[Path], points: Sequence[Path], kind: str, *options: str) -> Iterator[None]:
    done = []
    try:
        for image, point in zip(images, points):
            mount(image, point, kind, options)
            done.append(point)
        yield
    finally:
        for point in reversed(done):
            unmount(point)


def make(image: Path, kind: str, size_mib: int) -> None:
    """Makes a new empty file system that needs no later initialisation."""
    image.unlink(missing_ok=True)
    with image.open("wb") as file:
        file.truncate(size_mib << 20)
    if kind == "ext4":
        lazy = "lazy_itable_init=0,lazy_journal_init=0"
        run("mkfs.ext4", "-q", "-F", "-b", "4096", "-m", "0", "-J", "size=4", "-E", lazy, image)
    else:
        run("mkfs.xfs", "-q", "-f", "--unsupported", image)


def check(image: Path, kind: str) -> None:
    """Raises if the file system is inconsistent; only for one that was mounted since its power loss."""
    if kind == "ext4":
        run("e2fsck", "-f", "-n", image)
    else:
        run("xfs_repair", "-n", "-f", image)


def copy_sparse(source: Path, target: Path) -> None:
    """Copies everything except holes."""
    with source.open("rb") as reader, target.open("wb") as writer:
        size = os.fstat(reader.fileno()).st_size
        writer.truncate(size)
        end = 0
        while True:
            try:
                offset = os.lseek(reader.fileno(), end, os.SEEK_DATA)
            except OSError:  # ENXIO: only a hole is left
                return
            end = os.lseek(reader.fileno(), offset, os.SEEK_HOLE)
            writer.seek(offset)
            while offset < end:
                offset += os.sendfile(writer.fileno(), reader.fileno(), offset, end - offset)


def compile_tools(folder: Path) -> tuple[Path, Path]:
    """Compiles the log disk and the library that drops flushes."""
    flags = subprocess.run(
        ["pkg-config", "--cflags", "--libs", "fuse3"], capture_output=True, text=True, check=True
    )
    disk, shim = folder / "log_disk", folder / "drop_sync.so"
    warnings = ["-O1", "-Wall", "-Wextra", "-Werror"]
    run("gcc", *warnings, "-o", disk, HERE / "log_disk.c", *flags.stdout.split())
    run("gcc", *warnings, "-shared", "-fPIC", "-o", shim, HERE / "drop_sync.c")
    return disk, shim


class LogDisk:
    """Disks that log what is written to them, each with a mounted file system."""

    def __init__(
        self,
        program: Path,
        log: Path,
        images: Sequence[Path],
        folder: Path,
        kind: str,
        options: Sequence[str],
    ) -> None:
        self._log = log
        self._fuse = folder / "fuse"
        self._fuse.mkdir(exist_ok=True)
        self.points = [folder / f"volume{number}" for number in range(len(images))]
        self._cleanup = contextlib.ExitStack()
        with self._cleanup:
            process = subprocess.Popen([str(c) for c in (program, log, self._fuse, *images)])
            self._cleanup.callback(process.wait, 10)
            self._cleanup.callback(process.kill)
            disks = [self._fuse / f"disk{number}" for number in range(len(images))]
            deadline = time.monotonic() + 10
            while not disks[0].exists():
                if process.poll() is not None or time.monotonic() > deadline:
                    raise OSError("the log disk does not start")
                time.sleep(0.01)
            self._cleanup.callback(unmount, self._fuse)
            self._cleanup.enter_context(mounted(disks, self.points, kind, *options))
            self._cleanup = self._cleanup.pop_all()

    def position(self) -> int:
        """The length of the log."""
        return self._log.stat().st_size

    def close(self) -> None:
        self._cleanup.close()
