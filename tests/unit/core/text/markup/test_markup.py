"""Markdown as plain text with styles, and as HTML, by example. The laws are in tests/property/test_markup.py."""

from tests.support.for_each import for_each
from trunkline.core.text import markup
from trunkline.core.text.markup import page, rebased, styled
from trunkline.core.values import Style, StyleKind


def shown(text: str) -> str:
    return styled(text).text


def styles(text: str) -> list[tuple[str, str]]:
    """What is styled, and how."""
    made = styled(text)
    return [(kind.value, made.text[start:end]) for kind, start, end in made.styles]


# -------------------------------------------------------------------- spans


@for_each(
    ("text", "plain", "styled_as", "html"),
    [
        ("a **b** c", "a b c", [("bold", "b")], "a <b>b</b> c"),
        ("a __b__ c", "a b c", [("bold", "b")], "a <b>b</b> c"),
        ("*a* _b_", "a b", [("italic", "a"), ("italic", "b")], "<i>a</i> <i>b</i>"),
        ("~~a~~", "a", [("strikethrough", "a")], "<s>a</s>"),
        ("`a*b*`", "a*b*", [("monospace", "a*b*")], "<code>a*b*</code>"),
        ("||a||", "a", [("spoiler", "a")], "<tg-spoiler>a</tg-spoiler>"),
        (
            "||a||||b||",
            "ab",
            [("spoiler", "a"), ("spoiler", "b")],
            "<tg-spoiler>a</tg-spoiler><tg-spoiler>b</tg-spoiler>",
        ),
        (
            "**a _b ||c||_**",
            "a b c",
            [("bold", "a b c"), ("italic", "b c"), ("spoiler", "c")],
            "<b>a <i>b <tg-spoiler>c</tg-spoiler></i></b>",
        ),
        ("**a __b__**", "a b", [("bold", "a b")], "<b>a b</b>"),
        (
            "[**a** ||b||](http://c.d)",
            "a b (http://c.d)",
            [("bold", "a"), ("spoiler", "b")],
            '<a href="http://c.d"><b>a</b> <tg-spoiler>b</tg-spoiler></a>',
        ),
        ("\\*a\\* &lt;b&gt; <c>", "*a* <b> <c>", [], "*a* &lt;b&gt; &lt;c&gt;"),
        ("**😀** b", "😀 b", [("bold", "😀")], "<b>😀</b> b"),
    ],
)
def test_spans(text: str, plain: str, styled_as: list[tuple[str, str]], html: str) -> None:
    assert (shown(text), styles(text), page(text).html) == (plain, styled_as, html)


@for_each(
    "text",
    [
        "plain",
        "  two  blanks \n\n\n   and lines\t\n",
        "snake_case_name and 2 * 3 * 4",
        "a || b or c || d",
        "|a| |||",
        "x < y && y > z",
        "[a]: http://b.c",
        "    four blanks",
        "**not closed",
        "line\r\nline",
        "#hashtag",
        "1.5 and 2) no",
        "-5 degrees",
        "~~~",
        "> ",
        "a****b",
    ],
)
def test_what_is_no_markup_stays_to_the_byte(text: str) -> None:
    assert (shown(text), styles(text)) == (text, [])
    assert page(text).html == text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


# -------------------------------------------------------------------- blocks


@for_each(
    ("text", "plain", "html"),
    [
        ("# a\nb", "a\nb", "<b>a</b>\nb"),
        ("a\n===\n\nb", "a\n\nb", "<b>a</b>\n\nb"),
        ("# **a** b", "a b", "<b>a b</b>"),
        ("- a\n- b\n\n\nc", "• a\n• b\n\n\nc", "• a\n• b\n\n\nc"),
        ("* a\n  - b\n    + c\n* d", "• a\n  • b\n    • c\n• d", "• a\n  • b\n    • c\n• d"),
        ("3. a\n4. b", "3. a\n4. b", "3. a\n4. b"),
        ("2) **a**", "2) a", "2) <b>a</b>"),
        ("- a\n\n  b\n-\n- c", "• a\n\nb\n• \n• c", "• a\n\nb\n• \n• c"),
        ("- - a", "• • a", "• • a"),
        ("-\n  a", "• a", "• a"),
        ("a\n\n---\n\nb", "a\n\n───\n\nb", "a\n\n───\n\nb"),
        ("```py\na\n\n  b\n```\nc", "a\n\n  b\nc", '<pre><code class="language-py">a\n\n  b</code></pre>\nc'),
        ("~~~\n<a>\n~~~", "<a>", "<pre>&lt;a&gt;</pre>"),
        ('```a"b c\nx\n```', "x", '<pre><code class="language-a">x</code></pre>'),
        ("a\n```\nopen", "a\nopen", "a\n<pre>open</pre>"),
        ("> a\n> b\n\nc", "> a\n> b\n\nc", "<blockquote>a\nb</blockquote>\n\nc"),
        ("> a\n>\n> > **b**\n\nc", "> a\n> \n> > b\n\nc", "<blockquote>a\n\n<b>b</b></blockquote>\n\nc"),
        ("> - a\n> - b", "> • a\n> • b", "<blockquote>• a\n• b</blockquote>"),
        ("- > a\n  > b", "• > a\n> b", "• <blockquote>a\nb</blockquote>"),
        ("> ```\n> a\n> b\n> ```", "> a\n> b", "<blockquote><pre>a\nb</pre></blockquote>"),
        ("*a*  \nb\\\nc", "a\nb\nc", "<i>a</i>\nb\nc"),
    ],
)  # fmt: skip
def test_blocks(text: str, plain: str, html: str) -> None:
    assert (shown(text), page(text).html) == (plain, html)


# -------------------------------------------------------------------- links


@for_each(
    ("text", "plain", "html"),
    [
        ("[a](http://b.c)", "a (http://b.c)", '<a href="http://b.c">a</a>'),
        ("[b.c](https://www.b.c/)", "b.c", '<a href="https://www.b.c/">b.c</a>'),
        ("<http://b.c?d&e>", "http://b.c?d&e", '<a href="http://b.c?d&amp;e">http://b.c?d&amp;e</a>'),
        ("<a@b.c>", "a@b.c", '<a href="mailto:a@b.c">a@b.c</a>'),
        ("![a](http://b.c)", "a (http://b.c)", '<a href="http://b.c">a</a>'),
        ("[](http://b.c)", "http://b.c", "http://b.c"),
        ("[a](docs/b.md)", "a (docs/b.md)", "a (docs/b.md)"),
        ("[a]()", "a", "a"),
        ("[a](javascript:b)", "[a](javascript:b)", "[a](javascript:b)"),
        ("[![a](http://b.c)](http://d.e)", "a (http://b.c) (http://d.e)", '<a href="http://d.e">a (http://b.c)</a>'),
    ],
)
def test_links(text: str, plain: str, html: str) -> None:
    assert (shown(text), page(text).html) == (plain, html)


def test_links_move_no_style() -> None:
    text = "[first](https://a.b/c) **bold** [second](https://a.b/d) _it_"
    assert styles(text) == [("bold", "bold"), ("italic", "it")]


# -------------------------------------------------------------------- bad input


@for_each(
    "text",
    [
        ">" * 500 + " a",
        "- " * 500 + "a",
        "[" * 5000,
        "![" * 3000 + "a" + "](b)" * 3000,
        "*a _b " * 2000,
        "`" * 999 + "a",
        "**a\ud800** [b](http://\udfff)",
        "\x00**a**\x00",
        "&#0; &#x110000; &#xd800; **a**",
    ],
)
def test_no_text_makes_it_raise_or_vanish(text: str) -> None:
    assert "a" in shown(text) or "a" not in text
    assert "a" in page(text).shown or "a" not in text


def test_a_text_that_the_parser_trips_over_is_sent_as_it_is(monkeypatch) -> None:
    class Broken:
        def parse(self, text: str) -> None:
            raise IndexError(text)

    monkeypatch.setattr(markup, "_parser", Broken)
    assert styled("**a**").text == "**a**"
    assert page("**a** <").html == "**a** &lt;"


# -------------------------------------------------------------------- parts


def test_styles_count_from_the_start_of_each_part() -> None:
    whole = styled("😀 **bold 😀 text** _it_")
    assert whole.text == "😀 bold 😀 text it"
    first, second = rebased(whole, [[(0, 8)], [(9, 16)]], "")
    assert first == (Style(kind=StyleKind.BOLD, start=3, length=7),)
    assert second == (Style(kind=StyleKind.BOLD, start=0, length=4), Style(kind=StyleKind.ITALIC, start=5, length=2))
    (both,) = rebased(whole, [[(0, 8), (9, 16)]], "\n\n")
    assert [(style.start, style.length) for style in both] == [(3, 7), (12, 4), (17, 2)]
