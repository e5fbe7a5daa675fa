"""Makes a text speakable: without Markdown, and with links as the name of their site. Pure."""

import re
import unicodedata

_IMAGE_OR_LINK = re.compile(r"!?\[([^\[\]\n]*)\]\(\s*<?[^()\s]*>?(?:\s+\"[^\"\n]*\")?\s*\)")
_URL = re.compile(r"<?\b(?:https?|ftp)://(?:[^\s/?#@<>]*@)?(?P<host>[^\s/?#:<>]+)[^\s<>]*>?", re.IGNORECASE)
#: ends of a sentence that a bare link swallows
_AFTER_URL = re.compile(r"[.,;:!?)\]\"']+$")
_FENCE = re.compile(r"^[ \t]*(?:`{3,}|~{3,})[^\n]*$", re.MULTILINE)
_RULE = re.compile(r"^[ \t]*(?:[-*_][ \t]*){3,}$", re.MULTILINE)
_TABLE_RULE = re.compile(r"^[ \t]*\|?(?:[ \t]*:?-{2,}:?[ \t]*\|)+[ \t]*:?-*:?[ \t]*$", re.MULTILINE)
_HEADING = re.compile(r"^[ \t]{0,3}#{1,6}[ \t]+", re.MULTILINE)
_QUOTE = re.compile(r"^[ \t]*(?:>[ \t]?)+", re.MULTILINE)
_BULLET = re.compile(r"^[ \t]*[-*+•][ \t]+", re.MULTILINE)
#: emphasis and code around words; a star or underscore inside a word or a sum stays
_MARKS = re.compile(r"(?<!\w)(?:\*{1,3}|_{1,3}|~~|\|\|)(?=\S)|(?<=\S)(?:\*{1,3}|_{1,3}|~~|\|\|)(?!\w)")
_BARS = re.compile(r"[ \t]*\|[ \t]*")
#: no sentence end: letters, digits, and marks that a line ends with anyway
_OPEN_END = re.compile(r"(?<=[\w)\]\"'%])[ \t]*\n+[ \t]*(?=\S)")
_SPACES = re.compile(r"\s+")
#: controls, and halves of characters
_UNSPOKEN = ("Cc", "Cf", "Cs", "Co", "Cn")


def speakable(text: str) -> str:
    """The speakable words of a text; empty without any.

    >>> speakable("**Done:** see [the plan](https://example.org/a/b?c=1), or https://example.org/x.")
    'Done: see the plan, or a link to example.org.'
    """
    text = _IMAGE_OR_LINK.sub(r"\1", text)
    text = _URL.sub(_site, text)
    for noise in (_FENCE, _RULE, _TABLE_RULE, _HEADING, _QUOTE, _BULLET):
        text = noise.sub("", text)
    text = _MARKS.sub("", text.replace("`", ""))
    text = _BARS.sub(", ", text).replace("\n, ", "\n").replace(", \n", "\n")
    # A line that ends without a stop is read with a pause.
    text = _OPEN_END.sub(". ", text.strip().strip(",").strip())
    spoken = "".join(char if unicodedata.category(char) not in _UNSPOKEN else " " for char in text)
    spoken = _SPACES.sub(" ", spoken).strip()
    return spoken if any(char.isalnum() or unicodedata.category(char) == "So" for char in spoken) else ""


def _site(link: re.Match[str]) -> str:
    tail = _AFTER_URL.search(link[0])
    host = _AFTER_URL.sub("", link["host"]).lower().removeprefix("www.")
    end = "" if tail is None or link[0].startswith("<") else tail[0]
    return f"a link to {host}{end}"
