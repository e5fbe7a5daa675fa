"""The texts of a gateway that its profile names, as people read them."""

import pytest

from trunkline.sim.index.known_texts import KnownTexts


@pytest.mark.parametrize(
    ("pattern", "text"),
    [
        ("⚠️ *", "⚠ the answer may have arrived"),
        ("⚠ *", "⚠️ the answer may have arrived"),
        ("No home channel.*", "No  home\\nchannel\\. Type /sethome".replace("\\n", "\n")),
        ("a.b", "a.b"),
    ],
)
def test_a_text_is_known_as_people_read_it(pattern: str, text: str):
    assert KnownTexts([pattern]).have(text)


@pytest.mark.parametrize(("pattern", "text"), [("⚠ *", "Answer ⚠ one"), ("a.b", "axb"), ("notice", "notice and more")])
def test_another_text_is_not(pattern: str, text: str):
    assert not KnownTexts([pattern]).have(text)


def test_nothing_is_known_without_patterns():
    assert not KnownTexts().have("")
