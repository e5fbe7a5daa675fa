"""The content and the name of a file: from a path, from a ``data:`` URL, or from the web."""

from __future__ import annotations

import base64
import binascii
from pathlib import Path, PurePosixPath
from urllib.parse import unquote, urlsplit

import msgspec

from trunkline.core.adapters.local_files import load_local
from trunkline.core.adapters.slack.web import LARGEST_FILE
from trunkline.core.adapters.web_files import WebFiles
from trunkline.core.errors import Refused

_USUAL_NAME = "file"


class LoadedFile(msgspec.Struct, frozen=True, kw_only=True):
    """A file that can be uploaded."""

    name: str
    content: bytes


async def load_file(web: WebFiles, source: str, folder: Path | None) -> LoadedFile:
    """A file by its address. `folder`: whose files may be sent; None: none of this machine.

    Raises `Refused` for one that is not there or not usable, `NotSent` for one that the web does not give now.
    """
    if source.startswith("data:"):
        found = from_data_url(source)
    elif source.startswith(("https://", "http://")):
        found = LoadedFile(name=_last(urlsplit(source).path), content=(await web.fetch(source)).content)
    else:
        local = await load_local(source, folder, LARGEST_FILE)
        found = LoadedFile(name=local.name, content=local.content)
    if not found.content:
        raise Refused(f"the file {found.name} is empty, and Slack takes no empty files")
    if len(found.content) > LARGEST_FILE:
        raise Refused(f"the file {found.name} is larger than {LARGEST_FILE // 1024**2} MB")
    return found


def from_data_url(url: str) -> LoadedFile:
    """A file that is in its own address, with its name as a parameter. Raises `Refused`."""
    head, _, text = url.removeprefix("data:").partition(",")
    parameters = head.split(";")[1:]
    name = next((unquote(one.removeprefix("name=")) for one in parameters if one.startswith("name=")), "")
    try:
        content = base64.b64decode(text, validate=True) if "base64" in parameters else unquote(text).encode()
    except (binascii.Error, ValueError):
        raise Refused("the file in a data: URL is not base64") from None
    return LoadedFile(name=name or _USUAL_NAME, content=content)


def _last(path: str) -> str:
    return PurePosixPath(unquote(path)).name or _USUAL_NAME
