"""Manual pages and completions say what --help says, and nothing else."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from shell_support import CLIENT, GET, Shell, Terminal, eventually

PROGRAMS = ("towline", "towline-get")
OPTION = re.compile(r"(?<![\w-])--?[A-Za-z][\w-]*")


def of_help(shell: Shell, program: str) -> dict[str, set[str]]:
    """The options, each with the words that it takes (in capitals: what kind of word)."""
    text = shell.run(shell.environment["TOWLINE"] if program == "towline" else GET, "--help").stdout
    options: dict[str, set[str]] = {}
    for line in text.split("Options:\n")[1].split("\n\n")[0].splitlines():
        match = re.match(r" {2,8}(-[^ ,]+)(?:, (--\S+))?(?: ([^ ]+))?(?: {2,}|$)", line)
        if match:
            words = set(re.split(r"[|:]", match.group(3) or "")) - {""}
            options.update({name: words for name in match.group(1, 2) if name})
    return options


def of_manual(program: str) -> dict[str, set[str]]:
    text = (CLIENT / f"man/{program}.1").read_text().split(".SH OPTIONS\n")[1].split(".SH ")[0]
    options: dict[str, set[str]] = {}
    for tag in re.findall(r"^\.TP\n(.*)$", text, re.MULTILINE):
        plain = re.sub(r"\\f[A-Z]|\"", "", tag.replace("\\-", "-")).split(" ", 1)[1]
        names = OPTION.findall(plain)
        words = set(re.split(r"[|:]", re.sub(r"^[\s,]+", "", OPTION.sub("", plain)).strip(" ,"))) - {""}
        options.update(dict.fromkeys(names, words))
    return options


def of_bash(program: str) -> set[str]:
    script = f"""
        source {CLIENT}/completions/towline.bash
        COMP_WORDS=({program} --) COMP_CWORD=1
        "$(complete -p {program} | sed 's/.*-F \\([^ ]*\\).*/\\1/')" {program} -- {program}
        printf '%s\\n' "${{COMPREPLY[@]}}"
        COMP_WORDS=({program} -) COMPREPLY=()
        "$(complete -p {program} | sed 's/.*-F \\([^ ]*\\).*/\\1/')" {program} - {program}
        printf '%s\\n' "${{COMPREPLY[@]}}"
    """
    done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=True)
    return set(done.stdout.split())


def of_zsh(program: str) -> set[str]:
    text = (CLIENT / "completions/towline.zsh").read_text()
    get, service = text.split("    *)\n")[0], text.split("    *)\n")[1]
    lines = (get if program == "towline-get" else service).splitlines()
    # The options that exclude each other, in parentheses, are no descriptions.
    names = [OPTION.findall(re.sub(r"\([^)]*\)|\[.*", "", line)) for line in lines if "[" in line]
    return {name for found in names for name in found}


def of_fish(program: str) -> set[str]:
    text = (CLIENT / "completions/towline.fish").read_text()
    lines = re.findall(rf"^complete -c {program} (.*)$", text, re.MULTILINE)
    long = {f"--{name}" for line in lines for name in re.findall(r"-l (\S+)", line)}
    return long | {f"-{name}" for line in lines for name in re.findall(r"-s (\S+)", line)}


@pytest.mark.parametrize("program", PROGRAMS)
def test_the_manual_has_the_options_of_help(shell: Shell, program: str) -> None:
    options = of_help(shell, program)
    assert len(options) >= 10
    assert of_manual(program) == options


@pytest.mark.parametrize("program", PROGRAMS)
@pytest.mark.parametrize("completion", [of_bash, of_zsh, of_fish], ids=["bash", "zsh", "fish"])
def test_completions_have_the_options_of_help(shell: Shell, program: str, completion: object) -> None:
    assert callable(completion)
    assert completion(program) == set(of_help(shell, program))


@pytest.mark.parametrize("program", PROGRAMS)
@pytest.mark.parametrize("shell_name", ["bash", "zsh", "fish"])
def test_completions_have_the_words_of_help(shell: Shell, program: str, shell_name: str) -> None:
    text = (CLIENT / f"completions/towline.{shell_name}").read_text()
    for name, words in of_help(shell, program).items():
        for word in words:
            if not word.isupper():
                lines = [line for line in text.splitlines() if name.lstrip("-") in line]
                following = text.split(name.lstrip("-"), 1)[1]
                assert any(word in line for line in lines) or word in following[:300], f"{name} {word}"


@pytest.mark.parametrize("program", PROGRAMS)
def test_the_exit_codes_of_help_are_those_of_the_manual(shell: Shell, program: str) -> None:
    text = shell.run(shell.environment["TOWLINE"] if program == "towline" else GET, "--help").stdout
    codes = set(re.findall(r"\b(\d+)(?:\+n)? [a-z]", re.split(r"Exit (?:codes|status):", text)[1]))
    page = (CLIENT / f"man/{program}.1").read_text().split(".SH EXIT STATUS\n")[1].split(".SH ")[0]
    assert set(re.findall(r"^\.B (\d+)", page, re.MULTILINE)) == codes


def test_the_readme_words_of_the_usage_are_those_of_the_manual(shell: Shell) -> None:
    usage = shell.run(GET, "--help").stdout.splitlines()[0]
    page = (CLIENT / "man/towline-get.1").read_text().split(".SH SYNOPSIS\n")[1].split(".SH ")[0]
    plain = re.sub(r"\\\||\\f[A-Z]", "", page.replace("\\-", "-")).replace("...", "…")
    words = [
        word
        for line in plain.splitlines()
        for word in re.sub(r"^\.[A-Z]+ ", "", line).replace(" ", "").split()
    ]
    assert "".join(words) == usage.removeprefix("usage: ").replace(" ", "")


@pytest.mark.parametrize("program", PROGRAMS)
@pytest.mark.parametrize(
    "command",
    [
        ["groff", "-ww", "-man", "-Tutf8"],
        ["mandoc", "-T", "lint", "-W", "warning"],
        ["man", "--warnings", "-l"],
    ],
    ids=lambda command: command[0],
)
def test_the_manual_is_well_formed(program: str, command: list[str]) -> None:
    if shutil.which(command[0]) is None:
        pytest.skip(f"needs {command[0]}")
    page = CLIENT / f"man/{program}.1"
    done = subprocess.run([*command, page], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    if command[1] == "-T":
        assert done.stdout == ""


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("towline --fra", {"--framing"}),
        ("towline --framing ", {"auto", "line", "header"}),
        ("towline --framing h", {"header"}),
        ("towline-get --o", {"--output"}),
        ("towline-get --checksum sha", {"sha256:", "sha512:", "sha1:"}),
        ("towline-get -d ", {"folder"}),
        ("towline-get -o ", {"folder", "file"}),
    ],
)
@pytest.mark.parametrize("shell_name", ["bash", "zsh", "fish"])
def test_they_complete(shell: Shell, shell_name: str, line: str, expected: set[str]) -> None:
    if shutil.which(shell_name) is None:
        pytest.skip(f"needs {shell_name}")
    (shell.work / "folder").mkdir()
    (shell.work / "file").write_text("")
    complete = {"bash": complete_in_bash, "zsh": complete_in_zsh, "fish": complete_in_fish}[shell_name]
    assert complete(shell, line) == expected


def complete_in_bash(shell: Shell, line: str) -> set[str]:
    words = line.split(" ")
    listed = " ".join(f"'{word}'" for word in words)
    function = "_towline_get_complete" if words[0] == "towline-get" else "_towline_complete"
    script = f"""source {CLIENT}/completions/towline.bash
        COMP_WORDS=({listed}) COMP_CWORD={len(words) - 1}; {function}; printf '%s\\n' "${{COMPREPLY[@]}}" """
    return set(shell.run("bash", "-c", script).stdout.split())


def complete_in_fish(shell: Shell, line: str) -> set[str]:
    done = shell.run("fish", "-c", f"source {CLIENT}/completions/towline.fish; complete -C '{line}'")
    return {word.split("\t")[0].rstrip("/") for word in done.stdout.splitlines()}


def complete_in_zsh(shell: Shell, line: str) -> set[str]:
    """Runs an interactive zsh on a terminal, with a widget that prints what the completion adds."""
    functions = shell.home / "functions"
    functions.mkdir()
    (functions / "_towline").write_bytes((CLIENT / "completions/towline.zsh").read_bytes())
    (shell.home / ".zshrc").write_text(
        f"""
        fpath=({functions} $fpath); autoload -Uz compinit; compinit -u -d {shell.home}/dump; PS1=''
        zstyle ':completion:*' list-grouped false
        function compadd() {{
            local -a found; builtin compadd -O found "$@"; print -rl -- $found >>{shell.home}/found
            builtin compadd "$@"
        }}
        function done-widget() {{ print -r -- end >>{shell.home}/found; zle send-break }}
        zle -N done-widget; bindkey '^X' done-widget; bindkey '^I' complete-word
        print ready >{shell.home}/ready
        """
    )
    terminal = Terminal(shell, 200, "zsh", "-i", "-o", "zle", TERM="dumb", LC_ALL="C")
    terminal.screen.feed = lambda data: None  # type: ignore[method-assign]
    eventually(lambda: terminal.read(0) and (shell.home / "ready").exists(), "zsh")
    terminal.type(f"{line}\t\x18")
    found = shell.home / "found"
    eventually(
        lambda: terminal.read(0) and found.exists() and "end" in found.read_text().split(), "the completion"
    )
    terminal.process.kill()
    return {word.rstrip("/") for word in found.read_text().split()} - {"end"}


def test_shellcheck_has_nothing_to_say() -> None:
    beside = Path(sys.executable).with_name("shellcheck")
    program = str(beside) if beside.exists() else shutil.which("shellcheck")
    if program is None:
        pytest.skip("needs shellcheck")
    scripts = [GET, *CLIENT.glob("*.sh"), *CLIENT.glob("completions/*.bash")]
    done = subprocess.run([program, *scripts], capture_output=True, text=True, cwd=CLIENT)
    assert (done.returncode, done.stdout) == (0, "")
