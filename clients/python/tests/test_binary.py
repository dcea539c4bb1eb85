"""Which service is run."""

from __future__ import annotations

from pathlib import Path

import pytest

import towline
from towline import binary


def program(path: Path) -> str:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("#!/bin/sh\n")
    path.chmod(0o755)
    return str(path)


def test_argument_then_environment_then_bundled_then_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    named, variable = program(tmp_path / "named"), program(tmp_path / "variable")
    bundled, found = program(tmp_path / "bin" / "towline"), program(tmp_path / "path" / "towline")
    monkeypatch.setattr(binary, "BUNDLED", Path(bundled))
    monkeypatch.setenv("TOWLINE", variable)
    monkeypatch.setenv("PATH", str(tmp_path / "path"))
    assert towline.find_binary(named) == named
    assert towline.find_binary() == variable
    monkeypatch.delenv("TOWLINE")
    assert towline.find_binary() == bundled
    Path(bundled).unlink()
    assert towline.find_binary() == found
    Path(found).unlink()
    with pytest.raises(towline.BinaryNotFound, match="not installed"):
        towline.find_binary()


def test_what_is_named_wrongly_is_not_replaced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(Path(program(tmp_path / "towline")).parent))
    monkeypatch.setenv("TOWLINE", str(tmp_path / "missing"))
    with pytest.raises(towline.BinaryNotFound, match="TOWLINE"):
        towline.find_binary()
    with pytest.raises(FileNotFoundError, match="argument"):
        towline.find_binary(tmp_path / "also-missing")
