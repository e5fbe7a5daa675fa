"""Texts beside files and buttons, where a platform takes fewer characters than in a message of its own. Pure.

A text that is too long to be a caption follows its files as messages of its own. A text with buttons is cut shorter
instead: buttons need a text above them.
"""

from __future__ import annotations

import html
import re

import msgspec

from trunkline.core.delivery.prepare import Recipe
from trunkline.core.text.chunking.utf16 import fits
from trunkline.core.values import Piece

_TAG = re.compile(r"<[^>]*>")
#: the chunk of files that go without a text
_NO_CAPTION = Piece(text="")


def beside(recipe: Recipe, *, files: bool, buttons: bool) -> Recipe:
    """The recipe of a text with files or buttons: its limit is lower where the buttons must stay with a text."""
    if not buttons:
        return recipe
    limits = (recipe.button_text, recipe.caption if files else None)
    limit = min((one for one in limits if one is not None), default=recipe.limit)
    return recipe if limit >= recipe.limit else msgspec.structs.replace(recipe, limit=limit)


def captioned(found: tuple[Piece, ...], recipe: Recipe) -> tuple[Piece, ...]:
    """The chunks of a text with files: the first one is the caption; one that is too long follows the files."""
    if not found or recipe.caption is None or fits(_shown(found[0]), recipe.caption):
        return found
    return (_NO_CAPTION, *found)


def _shown(piece: Piece) -> str:
    """What people see of a chunk."""
    return piece.text if piece.html is None else html.unescape(_TAG.sub("", piece.html))
