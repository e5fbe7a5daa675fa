"""Preparing what is said: after this, the bytes do not change any more, and only then are they committed. Pure.

A `Recipe` says how the texts of one account of one channel are made fit for their platform: what is taken away, how
they are cut, and the form that they are sent in. It is decided by the configuration, the rules of the channel and what
the adapter can do; see `docs/delivery.md`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import msgspec

from trunkline.core.channels import ChannelRules, rules_for
from trunkline.core.config import AccountConfig, ChannelConfig, GatewayConfig
from trunkline.core.delivery.chunking.plain_text import (
    BETWEEN,
    Span,
    chunk,
    grouped,
    plain_spans,
    together,
    with_line_ends,
)
from trunkline.core.delivery.chunking.utf16 import fits, visible
from trunkline.core.delivery.markup.renderers import StyledText, escaped, page, rebased, styled
from trunkline.core.values import Capabilities, Chunker, ChunkMode, Markup, Piece
from trunkline.core.well_formed import well_formed

#: where neither configuration nor channel nor adapter says anything
DEFAULT_LIMIT = 4000
_BLANK_LINES = re.compile(r"(?:[ \t]*\r?\n)+")
#: Markdown is read in parts of at most about this size
_PART = 16_384
_NO_ACCOUNT = AccountConfig()


class Recipe(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """How texts are made fit for one account of one channel."""

    chunker: Chunker = Chunker.TEXT
    mode: ChunkMode = ChunkMode.LENGTH
    #: longest chunk, in UTF-16 code units
    limit: int = DEFAULT_LIMIT
    #: in mode `newline`: as many paragraphs in a chunk as fit
    pack: bool = False
    markup: Markup = Markup.AS_IS
    strip_leading_blank_lines: bool = False


def recipe_for(channel: str, account: str, config: GatewayConfig, capabilities: Capabilities) -> Recipe:
    """The recipe of an account: its own settings, else those of its channel, else what adapter and channel say."""
    rules, settings = rules_for(channel), config.channel(channel)
    own = _account(settings, account)
    return Recipe(
        chunker=capabilities.chunker or rules.chunker,
        mode=ChunkMode.LENGTH if rules.internal else own.chunk_mode or settings.chunk_mode or ChunkMode.LENGTH,
        limit=_limit(own, settings, rules, capabilities),
        markup=capabilities.markup,
        strip_leading_blank_lines=rules.strips_leading_blank_lines,
    )


def _account(settings: ChannelConfig, account: str) -> AccountConfig:
    """The settings of an account; the case of its name does not count."""
    if not settings.accounts:
        return _NO_ACCOUNT
    folded = account.lower()
    found = (own for name, own in settings.accounts.items() if name.lower() == folded)
    return settings.accounts.get(account) or next(found, _NO_ACCOUNT)


def _limit(own: AccountConfig, settings: ChannelConfig, rules: ChannelRules, capabilities: Capabilities) -> int:
    """The first that is set. The channel's usual length holds where its platform would take more."""
    for limit in (own.text_limit, settings.text_limit):
        if limit is not None and limit > 0:
            return limit
    limits = [limit for limit in (rules.chunk_limit, capabilities.text_limit) if limit is not None and limit > 0]
    return min(limits, default=DEFAULT_LIMIT)


def normalised(text: str, recipe: Recipe) -> str:
    """A text without what the channel does not want; empty when nothing is left that can be seen."""
    text = well_formed(text)
    if recipe.strip_leading_blank_lines and (blank := _BLANK_LINES.match(text)):
        text = text[blank.end() :]
    return text if visible(text) else ""


def pieces(text: str, recipe: Recipe) -> tuple[Piece, ...]:
    """The chunks of a text as they are sent; none for a text without anything visible. No text makes it raise."""
    text = normalised(text, recipe)
    if not text:
        return ()
    if recipe.markup is Markup.STYLED:
        parts = chunk(text, max(_PART, recipe.limit), chunker=Chunker.MARKDOWN)
        return tuple(piece for part in parts for piece in _styled(part, recipe))
    chunks = chunk(text, recipe.limit, chunker=recipe.chunker, mode=recipe.mode, pack=recipe.pack)
    if recipe.markup is Markup.HTML:
        return tuple(_page(one, recipe.limit) for one in chunks if visible(one))
    return tuple(Piece(text=one) for one in chunks if visible(one))


def _page(source: str, limit: int) -> Piece:
    form = page(source)
    # Bullets may make a text longer: then it is shown as it was written.
    return Piece(text=source, html=form.html if fits(form.shown, limit) else escaped(source))


def _styled(source: str, recipe: Recipe) -> Iterator[Piece]:
    """Plain text with styles: rendered first, and cut then."""
    if recipe.mode is ChunkMode.LENGTH:
        whole = styled(source)
        end = len(whole.text)
        fit = fits(whole.text, recipe.limit)
        groups = [[span] for span in (((0, end),) if fit else plain_spans(whole.text, recipe.limit, 0, end))]
    else:
        whole = styled(with_line_ends(source))
        groups = list(_paragraphs(whole, recipe))
    for group, styles in zip(groups, rebased(whole, groups, BETWEEN), strict=True):
        shown = together(whole.text, group)
        if visible(shown):
            yield Piece(text=shown, styles=styles)


def _paragraphs(whole: StyledText, recipe: Recipe) -> Iterator[list[Span]]:
    """The paragraphs of a text, together where they fit and may be, and cut where they are too long."""
    for group in grouped(whole.text, recipe.limit, whole.code, pack=recipe.pack):
        if fits(together(whole.text, group), recipe.limit):
            yield group
        else:
            yield from ([span] for span in plain_spans(whole.text, recipe.limit, *group[0]))


def chunk_text(text: str, limit: int) -> tuple[str, ...]:
    """The visible chunks of a plain text."""
    return tuple(one for one in chunk(text, limit) if visible(one))
