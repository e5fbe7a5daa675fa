"""The pages of the documentation, and the blocks of code in them."""

import re
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.support.paths import ROOT

DOCS = ROOT / "docs"
#: one page for each real platform
PLATFORM_PAGES = sorted(DOCS.glob("platforms/*.md"))
ATTACH_PAGES = sorted(DOCS.glob("attach/*.md"))
PAGES = [
    path
    for path in (ROOT / "README.md", ROOT / "CHANGELOG.md", *sorted(DOCS.glob("*.md")), *PLATFORM_PAGES, *ATTACH_PAGES)
    if path.is_file()
]
BY_NAME = [pytest.param(path, id=path.name) for path in PAGES]
FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


class Block(NamedTuple):
    """A fenced block with its first line."""

    language: str
    text: str
    line: int


def blocks(text: str) -> list[Block]:
    return [Block(found[1], found[2], text.count("\n", 0, found.start()) + 2) for found in FENCE.finditer(text)]


def prose(text: str) -> str:
    return FENCE.sub("", text)


def only_block(path: Path, language: str, word: str) -> Block:
    (found,) = [b for b in blocks(path.read_text("utf-8")) if b.language == language and word in b.text]
    return found
