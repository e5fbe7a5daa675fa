"""Which chunk of a text is the caption of files, and how short texts with buttons are."""

import msgspec

from tests.support.for_each import for_each
from trunkline.core.channels import check_capabilities, rules_for
from trunkline.core.config import GatewayConfig
from trunkline.core.delivery.prepare import Recipe, beside, captioned, pieces, recipe_for
from trunkline.core.text.mirror_text import said
from trunkline.core.values import Capabilities, ChunkMode, Markup, Piece

PLAIN = Recipe(limit=20, caption=10)
HTML = Recipe(limit=100, caption=10, markup=Markup.HTML)
ALONE = Piece(text="")


def cut(text: str, recipe: Recipe, *, buttons: bool = False) -> tuple[Piece, ...]:
    used = beside(recipe, files=True, buttons=buttons)
    return captioned(pieces(text, used), used)


@for_each(
    ("text", "recipe", "chunks"),
    [
        ("ten of 10.", PLAIN, ["ten of 10."]),
        ("eleven: 11.", PLAIN, ["", "eleven: 11."]),
        ("unit: 😀😀", PLAIN, ["unit: 😀😀"]),
        ("units: 😀😀", PLAIN, ["", "units: 😀😀"]),
        ("one two three four five six", PLAIN, ["", "one two three four", "five six"]),
        (
            "short\n\nand a longer one",
            msgspec.structs.replace(PLAIN, mode=ChunkMode.NEWLINE),
            ["short", "and a longer one"],
        ),
        ("a text of any length", msgspec.structs.replace(PLAIN, caption=None), ["a text of any length"]),
        (" \n", PLAIN, []),
    ],
)
def test_a_text_that_is_too_long_follows_the_files(text: str, recipe: Recipe, chunks: list[str]) -> None:
    assert [one.text for one in cut(text, recipe)] == chunks


def test_markup_does_not_count() -> None:
    [shown] = cut("**[ten](https://example.org/a>b)** &<of>", HTML)
    assert shown.html is not None and "<b>" in shown.html
    assert cut("**eleven: 11.**", HTML)[0] == ALONE


def test_buttons_stay_with_a_text() -> None:
    limited = Recipe(limit=20, button_text=8)
    assert beside(limited, files=True, buttons=False) == limited
    assert [one.text for one in pieces("one two three four", beside(limited, files=False, buttons=True))] == [
        "one two",
        "three",
        "four",
    ]
    assert [one.text for one in cut("one two three four", PLAIN, buttons=True)] == ["one two", "three four"]


def test_channels_have_the_documented_limits() -> None:
    config = GatewayConfig()
    found = {
        name: (recipe.caption, recipe.button_text)
        for name in ("telegram", "whatsapp", "discord", "slack", "matrix", "signal")
        for recipe in [recipe_for(name, "default", config, rules_for(name).capabilities)]
    }
    assert found == {"telegram": (1024, None), "whatsapp": (1024, 1024)} | dict.fromkeys(
        ("discord", "slack", "matrix", "signal"), (None, None)
    )


def test_a_limit_that_allows_no_text_is_an_error() -> None:
    assert check_capabilities(Capabilities(caption_limit=1, button_text_limit=1)) == ()
    for wrong in (Capabilities(caption_limit=0), Capabilities(button_text_limit=-1)):
        [sentence] = check_capabilities(wrong)
        assert sentence.startswith("a limit below 1: ")


def test_files_that_go_alone_add_no_line_to_what_was_said() -> None:
    assert said(("", "one", "two")) == "one\ntwo"
    assert said(("",)) == said(()) == ""
