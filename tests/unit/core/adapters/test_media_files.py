"""The files that agents send: of this machine only those in one folder, and those that are in their own address."""

import asyncio
from pathlib import Path
from typing import Any, cast

import pytest

from trunkline.core.adapters.media_files import MediaFile, MediaFiles, read_local
from trunkline.core.adapters.port import AdapterHost
from trunkline.core.env import system_env
from trunkline.core.errors import Refused

BAD_DATA = ("data:text/plain;base64,%%%", "data:text/plain;base64,\u00e4", "data:text/plain", "data:,half \ud83d")


def load(source: str, folder: Path, limit: int = 100) -> MediaFile:
    host = AdapterHost(
        account="default",
        env=system_env(),
        cursors=cast("Any", None),
        events=cast("Any", None),
        folder=folder.parent,
        environ={},
    )
    return asyncio.run(MediaFiles(host, folder.name, 1.0, limit=limit).load(source))


def test_files_of_one_folder_only(tmp_path: Path) -> None:
    folder = tmp_path / "outbox"
    folder.mkdir()
    (folder / "lamp.png").write_bytes(b"lamp")
    (tmp_path / "secret.txt").write_text("the token")
    (folder / "link.txt").symlink_to(tmp_path / "secret.txt")
    for good in ("lamp.png", str(folder / "lamp.png"), f"file://{folder}/lamp.png"):
        assert load(good, folder, 4) == MediaFile(name="lamp.png", content=b"lamp")
    outside = (
        "../secret.txt",
        str(tmp_path / "secret.txt"),
        "link.txt",
        "/etc/passwd",
        f"file://{tmp_path}/secret.txt",
    )
    for path in (*outside, "none.png", ".", "", "nul\0", "half \ud83d"):
        with pytest.raises(Refused):
            load(path, folder, 4)
    with pytest.raises(Refused, match="MB"):
        load("lamp.png", folder, 3)
    with pytest.raises(Refused, match="`files`"):
        read_local(str(folder / "lamp.png"), None, 4)


@pytest.mark.parametrize(
    ("url", "file"),
    [
        ("data:text/plain;base64,aGVsbG8=", MediaFile(name="", media_type="text/plain", content=b"hello")),
        (
            "data:image/png;name=a%20lamp.png;base64,aGVsbG8=",
            MediaFile(name="a lamp.png", media_type="image/png", content=b"hello"),
        ),
        ("DATA:,%FFhello%20", MediaFile(name="", content=b"\xffhello ")),
    ],
)
def test_a_file_may_be_in_its_own_address(url: str, file: MediaFile, tmp_path: Path) -> None:
    assert load(url, tmp_path) == file


@pytest.mark.parametrize("url", BAD_DATA)
def test_an_address_without_a_whole_file_is_refused(url: str, tmp_path: Path) -> None:
    with pytest.raises(Refused, match="data: URL"):
        load(url, tmp_path)


def test_a_file_in_its_own_address_has_a_limit(tmp_path: Path) -> None:
    with pytest.raises(Refused, match="larger than"):
        load("data:,hello", tmp_path, 4)
