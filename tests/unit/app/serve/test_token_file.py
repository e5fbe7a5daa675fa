"""The token that is made at the first start."""

import os
import stat
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from trunkline.app.serve.parts import token_of
from trunkline.core.errors import ConfigError


def test_it_is_made_once_and_only_its_owner_reads_it(tmp_path: Path) -> None:
    path = tmp_path / "state" / "token"
    made = token_of(path)
    assert len(made) >= 40
    assert token_of(path) == made
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    assert os.listdir(path.parent) == ["token"]  # noqa: PTH208


def test_every_token_is_another_one(tmp_path: Path) -> None:
    assert len({token_of(tmp_path / str(n)) for n in range(20)}) == 20


def test_who_starts_at_once_has_one_token(tmp_path: Path) -> None:
    for n in range(20):
        with ThreadPoolExecutor(4) as pool:
            # Each thread makes a temporary file of the same name, which only one of them can.
            found = [pool.submit(_token_or_none, tmp_path / str(n)) for _ in range(4)]
            tokens = {one.result() for one in found} - {None}
        assert tokens == {token_of(tmp_path / str(n))}


def _token_or_none(path: Path) -> str | None:
    try:
        return token_of(path)
    except ConfigError:
        return None


@pytest.mark.parametrize("mode", [0o644, 0o640, 0o604, 0o660, 0o601])
def test_one_that_others_can_read_is_refused_and_left_alone(tmp_path: Path, mode: int) -> None:
    path = tmp_path / "token"
    path.write_text("a-token-that-is-long-enough\n")
    path.chmod(mode)
    with pytest.raises(
        ConfigError, match=rf"mode {mode:03o}\), so its token is no secret any more: delete it"
    ) as caught:
        token_of(path)
    assert "a-token-that" not in str(caught.value)
    assert stat.S_IMODE(path.stat().st_mode) == mode


@pytest.mark.parametrize(
    "content", [b"", b"\n", b"short", b"with spaces in it, long enough", b"\xff" * 40, "ä".encode() * 40]
)
def test_what_is_no_token_is_refused_and_left_alone(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "token"
    path.write_bytes(content)
    path.chmod(0o600)
    with pytest.raises(ConfigError, match="delete it, and a new"):
        token_of(path)
    assert path.read_bytes() == content


def test_a_folder_is_no_token(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="the token file"):
        token_of(tmp_path)


def test_a_place_that_cannot_be_written_is_named_with_the_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(ConfigError, match=r"the token file .*: (File exists|Not a directory)"):
        token_of(tmp_path / "file" / "token")
