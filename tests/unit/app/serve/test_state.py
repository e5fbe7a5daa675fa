"""Which stores were served: noted by a server in the state folder of its user, for commands that name none."""

import stat
from pathlib import Path

from trunkline.app.serve.state import note_served, served_stores

SERVER = "postgresql://trunkline@db/chat?schema=trunkline"


def test_the_newest_comes_first_and_none_twice(tmp_path: Path) -> None:
    first, second = tmp_path / "first.db", tmp_path / "it's here.db"
    for store in (first, second):
        store.touch()
    for name in (str(first), str(second), SERVER, str(first)):
        note_served(tmp_path, name)
    assert served_stores(tmp_path) == [str(first), SERVER, str(second)]
    assert stat.S_IMODE((tmp_path / "served").stat().st_mode) == 0o600
    second.unlink()
    assert served_stores(tmp_path) == [str(first), SERVER]
    for number in range(30):
        note_served(tmp_path, f"postgres://h/{number}")
    assert served_stores(tmp_path) == [f"postgres://h/{number}" for number in range(29, 9, -1)]


def test_what_cannot_be_noted_or_read_is_no_note(tmp_path: Path) -> None:
    note_served(tmp_path, "two\nlines.db")
    note_served(tmp_path / "none", "a.db")
    assert served_stores(tmp_path) == served_stores(tmp_path / "none") == []
    assert list(tmp_path.iterdir()) == []
    for damaged in (b"\xff\xfe", b"\x00\n\n"):
        (tmp_path / "served").write_bytes(damaged)
        assert served_stores(tmp_path) == []
