"""towline-get --setup, in a copy of the repository whose system is made of fakes."""

from __future__ import annotations

import os
import shlex
import shutil
import time
from pathlib import Path

import pytest
from scripted_server import ScriptedServer
from shell_support import CLIENT, Fakes, Shell

PACKAGES = "libcurl4-openssl-dev libjansson-dev libsqlite3-dev libssl-dev zlib1g-dev jq ca-certificates"


class Repository:
    """A clone on a machine that has every package but no build."""

    def __init__(self, folder: Path, shell: Shell, fakes: Fakes) -> None:
        self.top = folder / "a clone"
        self.get = self.top / "clients/shell/towline-get"
        self.binary = self.top / ".build-release/release/towline"
        self.fakes = fakes
        shutil.copytree(CLIENT, self.get.parent)
        (self.top / "Sources/towline").mkdir(parents=True)
        (self.top / "Package.swift").write_text("// a package")
        self.source = self.top / "Sources/towline/main.swift"
        self.source.write_text("// a program")
        self.age()
        fakes.add("dpkg-query", "echo installed")
        fakes.add("apt-get")
        fakes.add("sudo", 'while [[ $1 == -* ]]; do shift; done; "$@"')
        real = shell.environment.pop("TOWLINE")
        fakes.add(
            "swift", f'mkdir -p .build-release/release && cp -f "{real}" .build-release/release/towline'
        )
        shell.environment["PATH"] = f"{fakes.folder}:{shell.environment['PATH']}"

    def age(self) -> None:
        """Makes all sources an hour old."""
        then = time.time() - 3600
        for path in [self.top / "Package.swift", *self.top.glob("Sources/**/*"), self.top / "Sources"]:
            os.utime(path, (then, then))

    @property
    def builds(self) -> int:
        return len(self.fakes.calls("swift"))


@pytest.fixture
def repository(tmp_path: Path, shell: Shell, fakes: Fakes) -> Repository:
    return Repository(tmp_path, shell, fakes)


def test_it_builds_once_and_downloads(repository: Repository, shell: Shell, server: ScriptedServer) -> None:
    server.add("/a.bin", b"x" * 1000)
    done = shell.run(repository.get, "--setup", server.url("/a.bin"))
    assert (done.returncode, done.stdout) == (0, f"{shell.work}/a.bin\n"), done.stderr
    assert repository.fakes.calls("swift") == [
        "swift build -c release --static-swift-stdlib --scratch-path .build-release --product towline"
    ]
    assert repository.fakes.calls("apt-get") == []
    # Nothing is missing now, and nothing is done.
    done = shell.run(repository.get, "--setup")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert repository.builds == 1


def test_it_builds_anew_when_the_sources_change(
    repository: Repository, shell: Shell, server: ScriptedServer
) -> None:
    server.add("/a.bin", b"x" * 1000)
    other = repository.source.with_name("other.swift")
    other.write_text("// another")
    repository.age()
    assert shell.run(repository.get, "--setup").returncode == 0
    future = time.time() + 5
    os.utime(repository.source, (future, future))
    done = shell.run(repository.get, server.url("/a.bin"))
    assert done.returncode == 0
    assert "the sources are newer than the binary; --setup builds it again" in done.stderr
    assert repository.builds == 1
    assert shell.run(repository.get, "--setup").returncode == 0
    assert repository.builds == 2
    repository.age()
    assert shell.run(repository.get, "--setup").returncode == 0
    assert repository.builds == 2
    other.unlink()
    os.utime(other.parent, (future, future))
    assert shell.run(repository.get, "--setup").returncode == 0
    assert repository.builds == 3


def test_quiet_is_quiet_about_it_too(repository: Repository, shell: Shell) -> None:
    done = shell.run(repository.get, "-q", "--setup")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert repository.builds == 1


def test_a_build_of_the_test_command_is_good_enough(repository: Repository, shell: Shell) -> None:
    repository.binary.parent.mkdir(parents=True)
    repository.binary.write_text("#!/bin/sh\n")
    repository.binary.chmod(0o755)
    assert shell.run(repository.get, "--setup").returncode == 0
    assert repository.builds == 0


def test_it_installs_what_is_missing_and_nothing_else(repository: Repository, shell: Shell) -> None:
    repository.fakes.add("dpkg-query", "[[ $* == *jansson* || $* == *jq ]] || echo installed")
    done = shell.run(repository.get, "--setup")
    assert (done.returncode, done.stdout) == (0, ""), done.stderr
    assert "installing libjansson-dev jq" in done.stderr
    update, install = repository.fakes.calls("apt-get")
    assert update.startswith("apt-get update")
    assert install.endswith(" --no-install-recommends libjansson-dev jq")
    assert bool(repository.fakes.calls("sudo")) == (os.geteuid() != 0)


def test_an_installation_that_fails_names_the_line(repository: Repository, shell: Shell) -> None:
    repository.fakes.add("dpkg-query", "exit 1")
    repository.fakes.add("apt-get", "exit 100")
    done = shell.run(repository.get, "--setup")
    assert (done.returncode, done.stdout) == (1, "")
    assert (
        f"run: sudo apt-get update && sudo apt-get install -y --no-install-recommends {PACKAGES}"
        in done.stderr
    )
    assert repository.builds == 0


def test_a_build_that_fails_is_no_build(repository: Repository, shell: Shell) -> None:
    repository.fakes.add("swift", "echo 'error: no' >&2; exit 1")
    for _ in range(2):
        done = shell.run(repository.get, "--setup", "http://127.0.0.1:9/")
        assert (done.returncode, done.stdout) == (1, "")
        assert done.stderr.endswith("error: no\ntowline-get: the build failed\n")
    assert repository.builds == 2


def test_without_it_nothing_is_installed_and_the_line_is_named(
    repository: Repository, shell: Shell, server: ScriptedServer
) -> None:
    server.add("/it's", b"x" * 1000)
    url = server.url("/it's?x=1&y=2")
    done = shell.run(repository.get, "-d", "a b", url)
    assert (done.returncode, done.stdout) == (1, "")
    assert f"missing: the towline binary ({repository.binary})" in done.stderr
    line = done.stderr.splitlines()[-1].strip()
    assert shlex.split(line) == [str(repository.get), "--setup", "-d", "a b", url]
    assert not (repository.fakes.folder.parent / "calls").exists()
    assert list(shell.work.iterdir()) == []
    # The line that was named does it.
    again = shell.run("bash", "-c", line)
    assert (again.returncode, again.stdout) == (0, f"{shell.work}/a b/it's\n"), again.stderr
    assert repository.builds == 1


def test_jq_is_missing(repository: Repository, shell: Shell) -> None:
    repository.fakes.link("bash", "dirname", "readlink", "env", "find", "mkdir")
    shell.environment["PATH"] = str(repository.fakes.folder)
    done = shell.run(repository.get, "http://127.0.0.1:9/")
    assert done.returncode == 1
    assert "towline-get: missing: jq (Debian package jq)\n" in done.stderr
    assert "--setup http://127.0.0.1:9/" in done.stderr


def test_swift_is_missing(repository: Repository, shell: Shell) -> None:
    repository.fakes.link("bash", "dirname", "readlink", "env", "find", "mkdir", "jq")
    (repository.fakes.folder / "swift").unlink()
    shell.environment["PATH"] = str(repository.fakes.folder)
    done = shell.run(repository.get, "--setup", "http://127.0.0.1:9/")
    assert done.returncode == 1
    assert "swift is not in PATH" in done.stderr


def test_a_link_to_the_command_finds_the_repository(
    repository: Repository, shell: Shell, tmp_path: Path
) -> None:
    link = tmp_path / "get"
    link.symlink_to(repository.get)
    assert shell.run(link, "--setup").returncode == 0
    assert repository.binary.exists()


def test_a_binary_that_was_named_is_not_built(repository: Repository, shell: Shell) -> None:
    shell.environment["TOWLINE"] = "/bin/true"
    assert shell.run(repository.get, "--setup").returncode == 0
    assert repository.builds == 0
    shell.environment["TOWLINE"] = "/none"
    done = shell.run(repository.get, "http://127.0.0.1:9/")
    assert done.stderr == "towline-get: TOWLINE names no program: /none\n"
