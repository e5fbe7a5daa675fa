"""Laws of markup: HTML is well formed and shows what plain text shows, and what has no markup stays as it is."""

from html.parser import HTMLParser
from itertools import pairwise

from hypothesis import example, given
from hypothesis import strategies as st

from tests.support.property.texts import anything, marked
from trunkline.core.text.chunking.utf16 import units
from trunkline.core.text.markup import page, rebased, styled

TAGS = {"b", "i", "s", "a", "code", "pre", "blockquote", "tg-spoiler"}


class Shown(HTMLParser):
    """Reads HTML as Telegram does, and fails on what it would refuse."""

    def __init__(self, html: str) -> None:
        super().__init__(convert_charrefs=True)
        self.open: list[str] = []
        self.text = ""
        self.feed(html)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attrs) -> None:
        assert tag in TAGS
        assert tag not in self.open
        assert [name for name, _ in attrs] == {"a": ["href"]}.get(tag, ["class"] if attrs else [])
        self.open.append(tag)

    def handle_endtag(self, tag) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data) -> None:
        self.text += data

    def handle_comment(self, data) -> None:
        raise AssertionError(data)

    def handle_decl(self, decl) -> None:
        raise AssertionError(decl)

    def handle_pi(self, data) -> None:
        raise AssertionError(data)

    def unknown_decl(self, data) -> None:
        raise AssertionError(data)


@given(anything)
@example("**a ~~b** c~~ ||d **e|| f**")
@example("[![a](b)](http://c) <http://d> [](e)")
@example("> > - > a\n\n> b")
@example("||||||")
def test_html_is_well_formed_and_shows_its_text(text: str) -> None:
    made = page(text)
    assert Shown(made.html).text == made.shown


@given(anything)
def test_every_text_has_a_plain_form(text: str) -> None:
    made = styled(text)
    assert all(0 <= start < end <= len(made.text) for _, start, end in made.styles)
    for one, (kind, start, end) in enumerate(made.styles):
        for other, (another, begins, ends) in enumerate(made.styles):
            assert one == other or kind is not another or end <= begins or ends <= start


@given(marked)
def test_without_links_and_quotations_both_forms_show_the_same(text: str) -> None:
    text = text.replace("[", "").replace(">", "").replace("<", "")
    assert page(text).shown == styled(text).text


@given(
    st.lists(st.sampled_from(["word", " ", "\n", "  ", "\n\n", "a.b", "1", "😀", "(x)", "   y"]), max_size=20).map(
        "".join
    )
)
def test_a_text_without_markup_is_itself(text: str) -> None:
    assert (styled(text).text, styled(text).styles) == (text, ())
    assert page(text).html == text


@given(st.text(alphabet=st.characters(categories=["L", "N", "Zs"]), max_size=40))
def test_letters_have_no_markup(text: str) -> None:
    assert styled(text).text == text


@given(marked, st.lists(st.integers(0, 60), max_size=6))
def test_styles_of_parts_are_those_of_the_whole(text: str, places: list[int]) -> None:
    whole = styled(text)
    cuts = sorted({0, len(whole.text), *(place for place in places if place <= len(whole.text))})
    parts = list(pairwise(cuts))
    assert sum(style.length for styles in rebased(whole, [[part] for part in parts], "") for style in styles) == sum(
        units(whole.text[start:end]) for _, start, end in whole.styles
    )
    (together,) = rebased(whole, [parts], "")
    assert sum(style.length for style in together) == sum(
        units(whole.text[start:end]) for _, start, end in whole.styles
    )
