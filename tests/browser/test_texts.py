"""What people write is shown as text, with the marks of Markdown, in a real browser."""

import pytest

from tests.support.chat_page import CHROMIUM, ChatPage

pytestmark = pytest.mark.parametrize(
    "browser",
    [
        pytest.param(
            None,
            id="chromium" if CHROMIUM else "skipped: no chromium",
            marks=pytest.mark.skipif(CHROMIUM is None, reason="there is no chromium on PATH"),
        )
    ],
    indirect=True,
)


HOSTILE = {
    "image": "<img src=x onerror=alert(1)>",
    "script": "</p><script>alert(1)</script>",
    "svg": "<svg/onload=alert(1)>",
    "link": "[click](javascript:alert(1))",
    "link with case": "[click](JaVaScRiPt:alert(1)) <javascript:alert(1)>",
    "link with blanks": "[click](java\tscript:alert(1)) [b]( javascript:alert(1))",
    "data": "[click](data:text/html,<script>alert(1)</script>)",
    "attribute": '[click](https://example.org/"onmouseover="alert(1))',
    "fence": "```\n</code></pre><img src=x onerror=alert(1)>\n```",
    "style": "<style>*{display:none}</style>",
    "entity": "&lt;b&gt; &#x3c;img src=x onerror=alert(1)&#x3e;",
    "right to left": "\u202egnp.exe \u2066 \u2069 abc",
    "marks": "**" * 50 + "_" * 50 + "`" * 51 + "[" * 50,
}


@pytest.mark.slow(every=4)
@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_text_is_text(chat: ChatPage, name: str) -> None:
    chat.say(HOSTILE[name])
    chat.until(2)
    found = chat.page.evaluate(
        """() => [...document.querySelectorAll(".bubble *")].flatMap((one) => [
            ...(/^(p|a|em|strong|del|code|pre|ul|ol|li|blockquote|hr)$/i.test(one.tagName) ? [] : [one.tagName]),
            ...[...one.attributes].map((it) => it.name).filter((it) => /^on|^style$|^src/.test(it)),
            ...(one.tagName === "A" && !/^(https?|mailto):$/.test(one.protocol) ? [one.href] : []),
        ])"""
    )
    assert found == []
    assert chat.page.evaluate("getComputedStyle(document.querySelector('.bubble')).unicodeBidi") == "isolate"
    assert chat.page.locator("#composer").is_visible()


@pytest.mark.slow(every=4)
@pytest.mark.parametrize(
    "unit", ["word ", "x", "*", "**a", "`", "[", "[a](", "> ", "_a", "<", "http", "\n- "], ids=repr
)
def test_a_long_text_becomes_a_bounded_number_of_elements(chat: ChatPage, unit: str) -> None:
    elements, shown = chat.page.evaluate(
        """async (text) => {
            const { render } = await import("/chat/markdown.js");
            const made = render(text);
            return [made.querySelectorAll("*").length, made.textContent];
        }""",
        (unit * 100_000)[:100_000],
    )
    assert elements <= 4100
    letters = [sign for sign in unit if sign.isalpha()]
    for sign in letters:
        assert shown.count(sign) == (unit * 100_000)[:100_000].count(sign), "nothing of the text is lost"


def test_markdown_is_shown(chat: ChatPage) -> None:
    chat.say(
        "# Title\n\n**bold** *em* ~~gone~~ `code` snake_case_word 2*3*4\n\n- one\n- two\n\n3. three\n\n> quote\n\n"
        "```py\nx = 1 < 2\n```\n\n[site](https://example.org/a_b) https://example.org/x."
    )
    chat.until(2)
    html = chat.page.locator(".mine .bubble").inner_html()
    for part in (
        '<p class="heading">Title</p>',
        "<strong>bold</strong> <em>em</em> <del>gone</del> <code>code</code> snake_case_word",
        '<ul><li dir="auto">one</li>',
        '<ol start="3">',
        "<blockquote>",
        "x = 1 &lt; 2</code></pre>",
        'href="https://example.org/a_b"',
        ">https://example.org/x</a>.",
        'rel="noopener noreferrer nofollow"',
    ):
        assert part in html, part
