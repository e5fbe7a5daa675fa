"""Prepares texts for sending: afterwards the bytes never change, and only then are they committed. Pure.

A `Recipe` says how texts of one account are prepared for its platform: what is stripped, how they are split into
chunks, and in which markup. It follows from the configuration, the channel's rules and the adapter's capabilities; see
`docs/delivery.md`.

Beside files and buttons, a platform takes fewer characters than in a message of its own. A text that is too long for a
caption follows its files as messages of its own. A text with buttons is cut shorter: buttons need a text above them.
"""

import html
import re
from collections.abc import Iterator
from enum import Enum, auto

import msgspec

from trunkline.core.channels import ChannelRulebook, ChannelRules
from trunkline.core.config import ChannelAccountConfig, ChannelConfig, GatewayConfig
from trunkline.core.text.chunking.chunks import BETWEEN, Span, chunk, grouped, spans_of, together, with_line_ends
from trunkline.core.text.chunking.own_chunker import Split, checked_split
from trunkline.core.text.chunking.utf16 import fits, units, visible
from trunkline.core.text.markup import StyledText, escaped, page, rebased, styled
from trunkline.core.values import Capabilities, Chunker, ChunkMode, Markup, Piece
from trunkline.core.well_formed import well_formed

#: maximum length if neither configuration nor channel nor adapter sets one
DEFAULT_LIMIT = 4000
_BLANK_LINES = re.compile(r"(?:[ \t]*\r?\n)+")
#: Markdown is parsed in parts of at most about this size
_PART = 16_384


class Leading(Enum):
    """The handling of white space before a text."""

    KEPT = auto()
    NO_BLANK_LINES = auto()
    STRIPPED = auto()


class Recipe(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """How to prepare texts for one account of one channel."""

    chunker: Chunker = Chunker.TEXT
    mode: ChunkMode = ChunkMode.LENGTH
    #: maximum length of a chunk, in UTF-16 code units
    limit: int = DEFAULT_LIMIT
    #: maximum length of a text with files, and of one with buttons; None: `limit`
    caption: int | None = None
    button_text: int | None = None
    #: in mode `newline`: put as many paragraphs into a chunk as fit
    pack: bool = False
    markup: Markup = Markup.AS_IS
    leading: Leading = Leading.KEPT


def recipe_for(channel: str, account: str, config: GatewayConfig, capabilities: Capabilities) -> Recipe:
    """The recipe of an account: its own settings, else its channel's, else what adapter and channel rules say."""
    rules, settings = config.rules[ChannelRulebook].of(channel), config.channel(channel)
    own = settings.account(account)
    return Recipe(
        chunker=capabilities.chunker or rules.chunker,
        mode=ChunkMode.LENGTH if rules.internal else own.chunk_mode or settings.chunk_mode or ChunkMode.LENGTH,
        limit=_limit(own, settings, rules, capabilities),
        caption=capabilities.caption_limit,
        button_text=capabilities.button_text_limit,
        markup=capabilities.markup,
        leading=_leading(rules),
    )


def _leading(rules: ChannelRules) -> Leading:
    if not rules.strips_leading_whitespace:
        return Leading.KEPT
    return Leading.NO_BLANK_LINES if rules.keeps_indent else Leading.STRIPPED


def _limit(own: ChannelAccountConfig, settings: ChannelConfig, rules: ChannelRules, capabilities: Capabilities) -> int:
    """The first limit that is set, else the smaller one of the channel's usual length and the adapter's limit."""
    for limit in (own.text_limit, settings.text_limit):
        if limit is not None and limit > 0:
            return limit
    limits = [limit for limit in (rules.chunk_limit, capabilities.text_limit) if limit is not None and limit > 0]
    return min(limits, default=DEFAULT_LIMIT)


def normalised(text: str, recipe: Recipe) -> str:
    """A text without what the channel strips; empty if nothing visible is left."""
    text = well_formed(text)
    if recipe.leading is Leading.STRIPPED:
        text = text.lstrip()
    elif recipe.leading is Leading.NO_BLANK_LINES and (blank := _BLANK_LINES.match(text)):
        text = text[blank.end() :]
    return text if visible(text) else ""


def pieces(text: str, recipe: Recipe) -> tuple[Piece, ...]:
    """The chunks of a text as they are sent; empty for a text without visible characters. Never raises."""
    text = normalised(text, recipe)
    if not text:
        return ()
    if recipe.markup is Markup.STYLED:
        parts = chunk(text, max(_PART, recipe.limit), chunker=Chunker.MARKDOWN)
        return tuple(piece for part in parts for piece in _styled(part, recipe))
    chunks = chunk(text, recipe.limit, chunker=recipe.chunker, mode=recipe.mode, pack=recipe.pack)
    if recipe.markup is Markup.HTML:
        return tuple(_page(one, recipe.limit) for one in chunks if visible(one))
    return tuple([Piece(text=one) for one in chunks if visible(one)])


def own_pieces(text: str, recipe: Recipe, split: Split) -> tuple[Piece, ...]:
    """Like `pieces`, with a chunker of its own: it gets each text, or in mode `newline` each paragraph.

    Raises whatever it raises, and `ChunkerError` for an invalid answer.
    """
    text = normalised(text, recipe)
    if not text:
        return ()
    parts = (text,)
    if recipe.mode is ChunkMode.NEWLINE:
        parts = chunk(text, units(text), mode=ChunkMode.NEWLINE)
    chunks = [one for part in parts for one in checked_split(split, part, recipe.limit)]
    if recipe.markup is Markup.STYLED:
        whole = msgspec.structs.replace(recipe, mode=ChunkMode.LENGTH)
        return tuple(piece for one in chunks for piece in _styled(one, whole))
    if recipe.markup is Markup.HTML:
        return tuple(_page(one, recipe.limit) for one in chunks)
    return tuple([Piece(text=one) for one in chunks])


def _page(source: str, limit: int) -> Piece:
    form = page(source)
    # Bullets may make a text too long: then it is sent as written.
    return Piece(text=source, html=form.html if fits(form.shown, limit) else escaped(source))


def _styled(source: str, recipe: Recipe) -> Iterator[Piece]:
    """The chunks of a plain text with styles: rendered first, then split."""
    if recipe.mode is ChunkMode.LENGTH:
        whole = styled(source)
        end = len(whole.text)
        fit = fits(whole.text, recipe.limit)
        spans = spans_of(recipe.chunker)
        groups = [[span] for span in (((0, end),) if fit else spans(whole.text, recipe.limit, 0, end))]
    else:
        whole = styled(with_line_ends(source))
        groups = list(_paragraphs(whole, recipe))
    for group, styles in zip(groups, rebased(whole, groups, BETWEEN), strict=True):
        shown = together(whole.text, group)
        if visible(shown):
            yield Piece(text=shown, styles=styles)


def _paragraphs(whole: StyledText, recipe: Recipe) -> Iterator[list[Span]]:
    """The paragraphs of a text, packed if the recipe allows it, and split where they are too long."""
    for group in grouped(whole.text, recipe.limit, whole.code, pack=recipe.pack):
        if fits(together(whole.text, group), recipe.limit):
            yield group
        else:
            yield from ([span] for span in spans_of(recipe.chunker)(whole.text, recipe.limit, *group[0]))


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
    """The visible text of a chunk."""
    return piece.text if piece.html is None else html.unescape(_TAG.sub("", piece.html))
