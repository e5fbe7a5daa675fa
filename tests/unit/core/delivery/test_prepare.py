"""Recipes, normalisation and pieces by example. The laws are in tests/property/test_chunks.py and test_markup.py."""

import subprocess
import sys
from typing import Any

import pytest
from pydantic import ValidationError

from tests.support.for_each import for_each
from tests.support.paths import ROOT
from trunkline.core.channels import rules_for
from trunkline.core.config import ChannelConfig, GatewayConfig
from trunkline.core.delivery.prepare import Leading, Recipe, normalised, pieces, recipe_for
from trunkline.core.profile_rules import Profile
from trunkline.core.text.mirror_text import mirror_text
from trunkline.core.values import Capabilities, Chunker, ChunkMode, Markup, Style, StyleKind

PLAIN = Capabilities(text_limit=10_000)
WHATSAPP = Recipe(leading=Leading.STRIPPED)
UPSTREAM = Recipe(leading=Leading.NO_BLANK_LINES)
HTML = Recipe(chunker=Chunker.MARKDOWN, markup=Markup.HTML)
STYLED = Recipe(markup=Markup.STYLED)


def config(**channels: dict[str, Any]) -> GatewayConfig:
    return GatewayConfig.model_validate({"channels": channels})


def recipe(channel: str, account: str = "default", can: Capabilities = PLAIN, **channels: dict[str, Any]) -> Recipe:
    return recipe_for(channel, account, config(**channels), can)


# -------------------------------------------------------------------- recipes


@for_each(
    ("channel", "chunker", "limit"),
    [
        ("whatsapp", "text", 4000),
        ("telegram", "markdown", 4000),
        ("discord", "markdown", 2000),
        ("slack", "markdown", 4000),
        ("signal", "text", 4000),
        ("imessage", "text", 4000),
        ("bluebubbles", "text", 4000),
        ("matrix", "markdown", 4000),
        ("mattermost", "markdown", 4000),
        ("googlechat", "markdown", 4000),
        ("nextcloud-talk", "markdown", 4000),
        ("msteams", "markdown", 4000),
        ("line", "markdown", 5000),
        ("nostr", "text", 4000),
        ("tlon", "markdown", 10_000),
        ("twitch", "text", 500),
        ("zalo", "text", 2000),
        ("zalouser", "text", 2000),
        ("of-a-third-party", "text", 10_000),
    ],
)
def test_every_channel_has_its_chunker_and_its_usual_length(channel: str, chunker: str, limit: int) -> None:
    made = recipe(channel)
    assert (made.chunker.value, made.limit) == (chunker, limit)


def test_what_the_platforms_themselves_want_is_in_their_rules() -> None:
    wanted = {name: rules_for(name).capabilities.markup for name in ("telegram", "signal", "discord", "whatsapp")}
    assert wanted == {
        "telegram": Markup.HTML,
        "signal": Markup.STYLED,
        "discord": Markup.AS_IS,
        "whatsapp": Markup.AS_IS,
    }


def test_an_account_goes_before_its_channel_and_the_channel_before_its_adapter() -> None:
    own = {"text_limit": 300, "accounts": {"Ops": {"text_limit": 30}, "home": {}}}
    assert recipe("discord", "Ops", discord=own).limit == 30
    assert recipe("discord", "home", discord=own).limit == 300
    assert recipe("discord", "another", discord=own).limit == 300
    assert recipe("discord", can=Capabilities(text_limit=200)).limit == 200
    assert recipe("discord").limit == 2000


def test_an_account_is_known_in_any_case() -> None:
    accounts = {"Ops": {"text_limit": 30}, "ops": {"text_limit": 31}}
    assert recipe("discord", "OPS", discord={"accounts": accounts}).limit == 30
    assert recipe("discord", "ops", discord={"accounts": accounts}).limit == 31


def test_a_configured_length_may_be_more_than_is_usual() -> None:
    assert recipe("discord", discord={"text_limit": 9000}).limit == 9000


@pytest.mark.parametrize("limit", [0, -1])
def test_lengths_that_are_not_positive_do_not_count(limit: int) -> None:
    assert recipe("discord", can=Capabilities(text_limit=limit)).limit == 2000
    assert recipe("of-a-third-party", can=Capabilities(text_limit=limit)).limit == 4000
    # The configuration is checked when it is read; one that was made without that is no trap either.
    channel = ChannelConfig.model_construct(text_limit=limit, accounts={})
    lax = GatewayConfig.model_construct(channels={"discord": channel})
    assert recipe_for("discord", "default", lax, PLAIN).limit == 2000
    with pytest.raises(ValidationError, match="greater than 0"):
        config(discord={"accounts": {"a": {"text_limit": limit}}})


def test_modes() -> None:
    own = {"chunkMode": "newline", "accounts": {"ops": {"chunkMode": "length"}, "home": {"text_limit": 5}}}
    assert recipe("slack").mode is ChunkMode.LENGTH
    assert recipe("slack", "home", slack=own).mode is ChunkMode.NEWLINE
    assert recipe("slack", "ops", slack=own).mode is ChunkMode.LENGTH
    assert recipe("webchat", "home", webchat=own).mode is ChunkMode.LENGTH


def test_the_adapter_says_how_it_wants_its_texts() -> None:
    can = Capabilities(chunker=Chunker.TEXT, markup=Markup.HTML)
    made = recipe("slack", can=can)
    assert (made.chunker, made.markup) == (Chunker.TEXT, Markup.HTML)
    assert recipe("telegram").markup is Markup.AS_IS


def test_paragraphs_are_not_packed() -> None:
    made = recipe("slack", slack={"chunk_mode": "newline"})
    assert [piece.text for piece in pieces("one\n\ntwo", made)] == ["one", "two"]


# -------------------------------------------------------------------- normalisation


@for_each(
    ("text", "expected"),
    [
        ("\n \n  hi", "  hi"),
        ("\r\n\t\r\nhi\n\n", "hi\n\n"),
        ("  hi", "  hi"),
        ("hi\n\nthere", "hi\n\nthere"),
        ("\n\n", ""),
        (" \n ", ""),
        ("\u200b\n", ""),
    ],
)
def test_upstream_removes_leading_blank_lines_on_whatsapp(text: str, expected: str) -> None:
    for profile in (Profile.OPENCLAW, Profile.OPENCLAW_2026_08):
        assert recipe_for("whatsapp", "default", GatewayConfig(profile=profile), PLAIN) == UPSTREAM
    assert normalised(text, UPSTREAM) == expected
    assert tuple(piece.text for piece in pieces(text, UPSTREAM)) == ((expected,) if expected else ())


@for_each(
    "text", ["\n \n  hi", "\r\n\t\r\nhi", "  hi", "\u2003\u2028hi", "hi  \n\n  there", "\n\n", " \n ", "\u200b\n"]
)
def test_on_whatsapp_people_see_what_the_transcript_has(text: str) -> None:
    assert recipe("whatsapp") == WHATSAPP
    remembered = mirror_text(text, ()) or ""
    shown = "".join(piece.text for piece in pieces(text, WHATSAPP))
    assert shown == (remembered if shown else "")
    assert bool(shown) == ("hi" in text)


def test_other_channels_keep_leading_blank_lines() -> None:
    assert [piece.text for piece in pieces("\n\n hi", recipe("discord"))] == ["\n\n hi"]


@for_each("made", [Recipe(), WHATSAPP, UPSTREAM, HTML, STYLED, Recipe(mode=ChunkMode.NEWLINE)])
@for_each("text", ["", " \n\t ", "\u200b\u2060", "\ufeff", "\x00\x1b", "\u00a0\u3000"])
def test_what_cannot_be_seen_is_no_piece(made: Recipe, text: str) -> None:
    assert pieces(text, made) == ()


@for_each("made", [Recipe(), WHATSAPP, HTML, STYLED, Recipe(limit=1), Recipe(mode=ChunkMode.NEWLINE)])
def test_broken_unicode_can_be_stored_afterwards(made: Recipe) -> None:
    for piece in pieces("**a\ud800b** \udc00 [x](http://\ud83d)", made):
        piece.text.encode()
        (piece.html or "").encode()


# -------------------------------------------------------------------- pieces


def test_a_text_that_fits_is_one_piece_just_as_it_is() -> None:
    (piece,) = pieces("  **hi**  \n", Recipe())
    assert (piece.text, piece.html, piece.styles) == ("  **hi**  \n", None, ())


def test_26_4001_characters_are_two_messages_on_whatsapp() -> None:
    assert [len(piece.text) for piece in pieces("x" * 4001, recipe("whatsapp"))] == [4000, 1]
    made = recipe("whatsapp", whatsapp={"text_limit": 2})
    assert [piece.text for piece in pieces("abcd", made)] == ["ab", "cd"]


def test_html_is_made_of_every_chunk_of_the_source() -> None:
    made = pieces("**one** two\n\n```py\na < b\nc\n```", Recipe(chunker=Chunker.MARKDOWN, markup=Markup.HTML, limit=22))
    assert [(piece.text, piece.html) for piece in made] == [
        ("**one** two\n", "<b>one</b> two"),
        ("```py\na < b\nc\n```", '<pre><code class="language-py">a &lt; b\nc</code></pre>'),
    ]


def test_html_that_shows_more_than_the_limit_shows_the_source() -> None:
    text = "- a\n" + "\t- b\n" * 20
    (piece,) = pieces(text, Recipe(markup=Markup.HTML, limit=len(text)))
    assert (piece.text, piece.html) == (text, text)
    (piece,) = pieces(text, Recipe(markup=Markup.HTML, limit=len(text) + 20))
    assert piece.html == "• a" + "\n  • b" * 20


def test_styles_begin_again_in_every_chunk() -> None:
    made = pieces("**bold 😀 and more** _it_", Recipe(markup=Markup.STYLED, limit=12))
    assert [piece.text for piece in made] == ["bold 😀 and", "more it"]
    assert [piece.styles for piece in made] == [
        (Style(kind=StyleKind.BOLD, start=0, length=11),),
        (Style(kind=StyleKind.BOLD, start=0, length=4), Style(kind=StyleKind.ITALIC, start=5, length=2)),
    ]


def test_styles_in_paragraphs() -> None:
    text = "**😀 one**\r\n\r\n`two`\n\n```\na\n\nb\n```\n\nlonger than that **is**"
    made = pieces(text, Recipe(markup=Markup.STYLED, mode=ChunkMode.NEWLINE, limit=12))
    seen = [(piece.text, [(style.kind.value, style.start, style.length) for style in piece.styles]) for piece in made]
    assert seen == [
        ("😀 one", [("bold", 0, 6)]),
        ("two", [("monospace", 0, 3)]),
        ("a\n\nb", [("monospace", 0, 4)]),
        ("longer than", []),
        ("that is", [("bold", 5, 2)]),
    ]


def test_styles_in_packed_paragraphs() -> None:
    made = pieces("😀 **one**\n\n\n\n**two**", Recipe(markup=Markup.STYLED, mode=ChunkMode.NEWLINE, pack=True))
    assert [piece.text for piece in made] == ["😀 one\n\ntwo"]
    assert [(style.start, style.length) for style in made[0].styles] == [(3, 3), (8, 3)]


def test_a_long_text_is_read_in_parts() -> None:
    line = "**bold** and `code` and so on\n"
    made = pieces(line * 3000, Recipe(markup=Markup.STYLED, limit=2000))
    assert "".join("".join(piece.text.split()) for piece in made) == "boldandcodeandsoon" * 3000
    assert sum(len(piece.styles) for piece in made) >= 6000


def test_the_parser_is_loaded_when_a_text_needs_it() -> None:
    program = (
        "import sys\n"
        "from trunkline.core.delivery.prepare import Recipe, pieces\n"
        "from trunkline.core.values import Markup\n"
        "pieces('plain text', Recipe(markup=Markup.HTML))\n"
        "assert 'markdown_it' not in sys.modules\n"
        "pieces('**bold**', Recipe(markup=Markup.HTML))\n"
        "assert 'markdown_it' in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True, cwd=ROOT)


# -------------------------------------------------------------------- plain texts


@for_each(
    ("text", "limit", "chunks"),
    [
        ("", 5, ()),
        (" \n\t ", 5, ()),
        ("hello", 5, ("hello",)),
        ("hello!", 5, ("hello", "!")),
        ("one two", 5, ("one", "two")),
        ("one two", 3, ("one", "two")),
        ("one\ntwo three", 8, ("one", "two", "three")),
        ("a b\nc d e f", 6, ("a b", "c d e", "f")),
        ("  indented", 40, ("  indented",)),
        ("ends with blanks   ", 40, ("ends with blanks   ",)),
        ("one  \n  two", 6, ("one", "two")),
    ],
)
def test_a_text_is_cut_at_line_ends_else_blanks_else_the_limit(text: str, limit: int, chunks: tuple[str, ...]) -> None:
    assert tuple(piece.text for piece in pieces(text, Recipe(limit=limit))) == chunks
