"""The command: `python -m towline`, or towline-py where the package is installed by pip."""

from __future__ import annotations

import argparse
import contextlib
import os
import signal
import sys
from collections.abc import Sequence
from types import FrameType
from typing import Any, Optional

from . import __version__, commands, streams
from .errors import TowlineError
from .models import Checksum

INTERRUPTED = 128 + signal.SIGINT


def main(arguments: Optional[Sequence[str]] = None) -> int:
    """Runs the command; returns its exit status: 0 all finished, 1 not all, 2 usage, 130 after Ctrl-C."""
    streams.prepare()
    signal.signal(signal.SIGTERM, _end)
    out = streams.Output()
    status = _run(arguments, out)
    return streams.finish(status or int(out.lost))


def _run(arguments: Optional[Sequence[str]], out: streams.Output) -> int:
    try:
        options = parser().parse_args(arguments)
        options.out = out
        return int(options.run(options))
    except SystemExit as end:  # of argparse, or SIGTERM
        return end.code if isinstance(end.code, int) else 0
    except KeyboardInterrupt:
        return INTERRUPTED
    except (TowlineError, OSError, ValueError) as error:
        streams.complain(str(error))
        return 1


def _end(number: int, frame: Optional[FrameType]) -> None:
    """SIGTERM: as orderly as Ctrl-C."""
    sys.exit(128 + number)


def header(text: str) -> tuple[str, str]:
    name, colon, value = text.partition(":")
    if not colon or not name.strip():
        raise argparse.ArgumentTypeError(f"not a header, which looks like 'Name: value': {text}")
    return name.strip(), value.strip()


def checksum(text: str) -> Checksum:
    try:
        return Checksum.parse(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


EPILOG = """\
Interrupted by Ctrl-C, a crash or a lost connection, the same command resumes, also with a new link that
differs only in its query (what follows the question mark). Paths of finished files are printed, everything
else goes to standard error. Exit status: 0 all finished, 1 some did not or a path could not be written,
2 usage, 130 Ctrl-C."""


class Parser(argparse.ArgumentParser):
    def _print_message(self, message: str, file: Any = None) -> None:
        """Not as argparse does it: --help that cannot be written is a failure, other messages are not."""
        if file is sys.stdout:
            file.write(message)
        else:
            with contextlib.suppress(OSError, ValueError):
                super()._print_message(message, file)


def parser() -> Parser:
    common = Parser(add_help=False)
    common.add_argument("--towline", metavar="PATH", help="the service to run (else $TOWLINE, bundled, PATH)")
    common.add_argument("--app", metavar="NAME", help="whose downloads (default: default)")
    common.add_argument("--state-dir", metavar="DIR", help="where records are kept")
    common.add_argument(
        "--proxy-from-environment",
        action="store_true",
        help="use the proxies of http_proxy, https_proxy, all_proxy, no_proxy",
    )
    showing = Parser(add_help=False)
    showing.add_argument("-q", "--quiet", action="store_true", help="say nothing but failures")
    showing.add_argument("--no-bars", action="store_true", help="lines instead of progress bars")
    naming = Parser(add_help=False)
    naming.add_argument("target", nargs="*", metavar="URL|ID", help="which downloads")
    naming.add_argument("--all", action="store_true", help="all that are unfinished")
    dropping = Parser(add_help=False)
    dropping.add_argument("--delete-file", action="store_true", help="delete the finished files too")

    run_as_module = os.path.basename(sys.argv[0]) == "__main__.py"
    made = Parser(
        prog="python -m towline" if run_as_module else None,
        description="Downloads files; what a Ctrl-C, a crash or a power cut interrupted is resumed.",
        epilog=EPILOG,
    )
    made.add_argument("--version", action="version", version=f"towline {__version__}")
    subcommands = made.add_subparsers(required=True, metavar="COMMAND")
    _add_get(subcommands, [common, showing])
    for name, run, text, parents in (
        ("pause", commands.pause, "stop downloads, keep what was received", [common, naming]),
        ("resume", commands.resume, "continue downloads and show them", [common, showing, naming]),
        ("cancel", commands.cancel, "end downloads, delete what was received", [common, naming]),
        (
            "clean",
            commands.clean,
            "remove records of finished and canceled downloads",
            [common, dropping],
        ),
    ):
        add = subcommands.add_parser(name, parents=parents, help=text, description=text + ".")
        add.set_defaults(run=run)
        if name == "clean":
            add.add_argument(
                "--failed", action="store_true", help="and of failed ones; deletes what was received"
            )

    text = "remove the records of downloads that are finished, failed or canceled"
    add = subcommands.add_parser("remove", parents=[common, dropping], help=text, description=text + ".")
    add.set_defaults(run=commands.remove)
    add.add_argument("target", nargs="+", metavar="URL|ID", help="which downloads")

    add = subcommands.add_parser("list", parents=[common], help="show the downloads")
    add.set_defaults(run=commands.list_)
    add.add_argument("--state", action="append", choices=commands.ALL, help="only these; may be repeated")
    add.add_argument("--json", action="store_true", help="a JSON object a line")

    add = subcommands.add_parser("which", parents=[common], help="print the path of the service")
    add.set_defaults(run=commands.which)
    return made


def _add_get(subcommands: Any, parents: list[Parser]) -> None:
    text = "download, or resume what was interrupted"
    add = subcommands.add_parser("get", parents=parents, help=text, description=text + ".", epilog=EPILOG)
    add.set_defaults(run=commands.get)
    add.add_argument("url", nargs="+", metavar="URL")
    place = add.add_mutually_exclusive_group()
    place.add_argument("-o", "--output", metavar="FILE", help="the file to make")
    place.add_argument("-d", "--directory", metavar="DIR", default=".", help="for the files; made if missing")
    add.add_argument("--checksum", type=checksum, metavar="ALGORITHM:HEX", help="what the file must have")
    add.add_argument(
        "--if-exists",
        choices=("error", "overwrite", "rename", "skip"),
        default="error",
        help="when another file has the name (default: error)",
    )
    add.add_argument(
        "-H", "--header", action="append", type=header, metavar="'NAME: VALUE'", help="a request header"
    )
    after = add.add_mutually_exclusive_group()
    after.add_argument(
        "-b", "--background", action="store_true", help="continue without this command; print ids"
    )
    after.add_argument(
        "--forget",
        action="store_true",
        help="drop what is kept of these URLs in this place, and download nothing; finished files stay",
    )
