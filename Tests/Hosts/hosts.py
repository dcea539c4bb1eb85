"""The hosts: what each needs and how it is started. `python hosts.py` prints the table of Tests/README.md."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError
from pathlib import Path

TOP = Path(__file__).resolve().parents[2]
PROGRAMS = Path(__file__).resolve().with_name("programs")
#: where `Tests/run --hosts` installs requirements.txt
PYTHON = Path(os.environ.get("HOSTS_PYTHON", TOP / ".build/hosts-venv/bin/python"))
ROW = "| {0} | {1} | {2} | {3} |"
HEAD = [ROW.format("host", "version", "framing", "from"), ROW.format(*["---"] * 4)]


@dataclass(frozen=True)
class Host:
    """One program or library that drives the service."""

    name: str
    title: str
    framing: str
    #: Debian packages, or the requirement of requirements.txt
    source: str
    command: Sequence[str]
    #: prints the version, alone or as the first word that begins with a digit
    version_command: Sequence[str]
    #: succeeds if everything that the host needs is installed; if empty, version_command is used
    check_command: Sequence[str] = ()
    #: builds the program before the start; the output path is appended
    build_command: Sequence[str] = ()
    #: part of every run of the tests
    always: bool = False

    def version(self) -> str | None:
        """The installed version, or None."""
        for command in (self.check_command, self.version_command):
            if command and output_of(command) is None:
                return None
        words = (output_of(self.version_command) or "").replace('"', " ").replace("go1", "1").split()
        return next((word.strip(",;()v") for word in words if word.strip("(v")[:1].isdigit()), None)


def output_of(command: Sequence[str]) -> str | None:
    if shutil.which(command[0]) is None:
        return None
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60)
    return done.stdout + done.stderr if done.returncode == 0 else None


def script(name: str) -> str:
    return str(PROGRAMS / name)


def from_pypi(name: str, title: str, framing: str, package: str, module: str, *options: str) -> Host:
    shown = f"import {module}, importlib.metadata as m; print(m.version('{package}'))"
    return Host(
        name=name,
        title=title,
        framing=framing,
        source=f"PyPI: {package}",
        command=[str(PYTHON), *options, script(f"{name}.py")],
        version_command=[str(PYTHON), "-c", shown],
    )


def vim(name: str, title: str, framing: str) -> Host:
    quiet = ["vim", "-u", "NONE", "-i", "NONE", "-n", "-N", "-es"]
    # vim.tiny has neither jobs nor channels.
    able = "if has('job') && has('channel') && has('patch-8.2.4684') | qa! | else | cq | endif"
    edit = r"s/.*IMproved \([0-9.]*\).*/\1/p; s/^Included patches: 1-\([0-9]*\).*/.\1/p"
    return Host(
        name=name,
        title=title,
        framing=framing,
        source="Debian: vim",
        command=[*quiet, "-S", script(f"{name}.vim")],
        version_command=["sh", "-c", f"vim --version | sed -n '{edit}' | tr -d '\\n'"],
        check_command=[*quiet, "-c", able],
        always=True,
    )


def neovim(name: str, title: str, framing: str) -> Host:
    command = ["nvim", "--clean", "--headless", "-n", "-c", f"luafile {script(f'{name}.lua')}"]
    return Host(name, title, framing, "Debian: neovim", command, ["nvim", "--version"])


GI_VERSION = "import gi; gi.require_version('Jsonrpc', '1.0'); from gi.repository import Jsonrpc as J; "
GI_VERSION += "print(f'{J.MAJOR_VERSION}.{J.MINOR_VERSION}.{J.MICRO_VERSION}')"
LUA_VERSION = "require 'luv'; require 'cjson'; print((_VERSION:gsub('Lua ', '')))"
EMACS = ["emacs", "-Q", "--batch"]
PYTEST = ["-m", "pytest", "-q", "-s", "-c", os.devnull, "-p", "no:cacheprovider", "--noconftest"]

HOSTS = [
    vim("vim_lsp", "Vim, channel of mode lsp", "header"),
    vim("vim_nl", "Vim, channel of mode nl", "line"),
    Host(
        "perl_open2",
        "Perl, IPC::Open2 and JSON::PP",
        "line",
        "Debian: perl",
        ["perl", script("perl_open2.pl")],
        ["perl", "-MJSON::PP", "-MIPC::Open2", "-e", "printf '%vd', $^V"],
        always=True,
    ),
    Host(
        "emacs_jsonrpc",
        "Emacs, jsonrpc.el",
        "header",
        "Debian: emacs-nox",
        [*EMACS, "-l", script("emacs_jsonrpc.el")],
        ["emacs", "--version"],
        [*EMACS, "--eval", "(require 'jsonrpc)"],
    ),
    neovim("neovim_lsp", "Neovim, vim.lsp.rpc", "header"),
    neovim("neovim_job", "Neovim, jobstart", "line"),
    Host(
        "jsonrpc_glib",
        "jsonrpc-glib by GI",
        "header",
        "Debian: python3-gi, gir1.2-jsonrpc-1.0",
        ["/usr/bin/python3", script("jsonrpc_glib.py")],
        ["/usr/bin/python3", "-c", GI_VERSION],
    ),
    from_pypi("python_lsp_jsonrpc", "python-lsp-jsonrpc", "header", "python-lsp-jsonrpc", "pylsp_jsonrpc"),
    from_pypi("pygls_client", "pygls, JsonRPCClient", "header", "pygls", "pygls"),
    from_pypi("pytest_lsp_session", "pytest-lsp", "header", "pytest-lsp", "pytest_lsp", *PYTEST),
    from_pypi("acp_connection", "agent-client-protocol, Connection", "line", "agent-client-protocol", "acp"),
    from_pypi("jsonrpcclient_pipe", "jsonrpcclient", "line", "jsonrpcclient", "jsonrpcclient"),
    Host(
        "node_readline",
        "Node, readline and JSON",
        "line",
        "Debian: nodejs",
        ["node", script("node_readline.mjs")],
        ["node", "--version"],
    ),
    Host(
        "go_standard",
        "Go, os/exec and encoding/json",
        "line",
        "Debian: golang-go",
        [],
        ["go", "version"],
        build_command=["go", "build", "-o"],
    ),
    Host(
        "ruby_open3",
        "Ruby, open3 and json",
        "line",
        "Debian: ruby",
        ["ruby", script("ruby_open3.rb")],
        ["ruby", "-ropen3", "-rjson", "-e", "print RUBY_VERSION"],
    ),
    Host(
        "tcl_json",
        "Tcl, tcllib's json",
        "line",
        "Debian: tcl, tcllib",
        ["tclsh", script("tcl_json.tcl")],
        ["sh", "-c", "echo 'package require json; puts [info patchlevel]' | tclsh 2>&1"],
        ["sh", "-c", "echo 'if {[catch {package require json}]} {exit 1}' | tclsh"],
    ),
    Host(
        "php_proc_open",
        "PHP, proc_open and json",
        "line",
        "Debian: php-cli",
        ["php", script("php_proc_open.php")],
        ["php", "-r", "echo PHP_VERSION;"],
    ),
    Host(
        "lua_luv",
        "Lua, luv and cjson",
        "line",
        "Debian: lua5.4, lua-luv, lua-cjson",
        ["lua5.4", script("lua_luv.lua")],
        ["lua5.4", "-e", LUA_VERSION],
    ),
]


def row(host: Host, version: str) -> str:
    return ROW.format(host.title, version, host.framing, host.source)


if __name__ == "__main__":
    try:
        sys.stdout.write("\n".join([*HEAD, *(row(h, h.version() or "not installed") for h in HOSTS)]) + "\n")
    except PackageNotFoundError as failure:
        sys.exit(str(failure))
