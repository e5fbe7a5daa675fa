"""The text by which a transcript remembers a sent message."""

from tests.support.for_each import for_each
from trunkline.core.text.mirror_text import mirror_text


@for_each(
    ("text", "media", "remembered"),
    [
        (None, None, None),
        (None, [], None),
        ("", [], None),
        (" \n\t ", None, None),
        ("  hello \n", None, "hello"),
        ("two\n\nlines ", [], "two\n\nlines"),
        # Media that is only blanks is none.
        ("hello", ["", "  "], "hello"),
        (None, [" "], None),
        (" caption\n", [" ", "/a.png"], "caption\na.png"),
        (None, ["https://e.com/a.png", "https://e.com/", "https://e.com/b%20c.jpg#x"], "a.png, b c.jpg"),
        ("caption", ["https://e.com/"], "caption\nmedia"),
        (None, ["https://e.com/%E0%A4%A.png"], "%E0%A4%A.png"),
        (None, ["https://e.com/a.png", "https://e.com/a.png"], "a.png, a.png"),
    ],
)
def test_what_is_remembered(text: str | None, media: list[str] | None, remembered: str | None) -> None:
    assert mirror_text(text, media) == remembered
