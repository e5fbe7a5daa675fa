"""Operators' commands find the gateway that this user has served, and say which one it is."""

from pathlib import Path

import pytest

from trunkline.app.serve.state import note_served


def test_the_only_store_is_the_default_and_is_named(trunkline, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    (folder := tmp_path / "trunkline").mkdir()
    (store := tmp_path / "\x1b[31mred.db").write_bytes(b"")
    note_served(folder, str(store))
    code, out, err = trunkline("queue", "list")
    assert (code, out) == (2, "") and "\x1b" not in err
    assert err.startswith(f"trunkline: the gateway of {tmp_path}/") and "an empty database" in err
    (other := tmp_path / "other one.db").touch()
    note_served(folder, str(other))
    code, out, err = trunkline("queue", "list")
    assert (code, out) == (2, "")
    assert f"say which gateway: --store FILE, or --url URL of one that is running\n  --store '{other}'" in err
