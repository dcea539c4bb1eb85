"""Counts the calls of each scenario without a fault, and writes profile.json: profile.py BINARY."""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from random import Random

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent), str(HERE.parents[1] / "Acceptance")]

from scripted_server import ScriptedServer  # noqa: E402

from faults.case import Case  # noqa: E402
from faults.scenarios import SCENARIOS  # noqa: E402
from faults.shim import build  # noqa: E402


def main(binary: Path) -> None:
    server = ScriptedServer()
    profile: dict[str, dict[str, dict[str, int]]] = {}
    with tempfile.TemporaryDirectory() as top:
        library = build(Path(top))
        for name, scenario in SCENARIOS.items():
            folder = Path(top) / name
            folder.mkdir()
            case = Case(binary, library, server, folder, Random(1), name)
            base: dict[str, dict[str, int]] = {}

            def arm(case: Case = case, base: dict = base) -> None:
                base.update(case.shim.counts())

            after: dict[str, dict[str, int]] = {}
            repair = case.shim.repair

            def repaired(case: Case = case, after: dict = after, repair: Callable[[], None] = repair) -> None:
                after.update(case.shim.counts())
                repair()

            case.arm, case.shim.repair = arm, repaired
            scenario(case)
            if not after or name == "finalizing":
                after.update(case.shim.counts())
            counts = {
                side: {
                    call: n - base.get(side, {}).get(call, 0)
                    for call, n in after[side].items()
                    if n > base.get(side, {}).get(call, 0)
                }
                for side in after
            }
            assert not case.failures, case.failures
            profile[name] = counts
            case.close()
    lines = ",\n".join(f" {json.dumps(name)}: {json.dumps(counts)}" for name, counts in profile.items())
    HERE.joinpath("profile.json").write_text(f"{{\n{lines}\n}}\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]).resolve())
