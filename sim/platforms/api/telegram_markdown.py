"""The plain text of Telegram's MarkdownV2, and whether Telegram accepts it.

Outside of code every reserved character is markup or has a backslash before it; anything else is refused, which bots
meet when they forget to escape a full stop (https://core.telegram.org/bots/api#markdownv2-style).
"""

from trunkline.core.errors import Refused

_RESERVED = frozenset("_*[]()~`>#+-=|{}.!")
#: marks that open and close a style, the longer ones first
_STYLES = ("||", "__", "*", "_", "~")


class _MarkdownText:
    def __init__(self, source: str) -> None:
        self._source = source
        self._at = 0
        self._open: list[str] = []
        self._shown: list[str] = []

    def read(self) -> str:
        while self._at < len(self._source):
            self._step()
        if self._open:
            raise Refused(f"cannot parse entities: can't find end of the entity that begins with {self._open[-1]!r}")
        return "".join(self._shown)

    def _step(self) -> None:
        sign = self._source[self._at]
        if sign == "\\" and self._at + 1 < len(self._source) and ord(self._source[self._at + 1]) < 127:
            self._show(self._source[self._at + 1], 2)
        elif sign == "`":
            self._code()
        elif sign == ">" and (self._at == 0 or self._source[self._at - 1] == "\n"):
            self._at += 1
        elif sign in "[!" and self._link():
            pass
        elif not self._style():
            if sign in _RESERVED:
                raise Refused(
                    f"cannot parse entities: character '{sign}' is reserved and must be escaped with the preceding '\\'"
                )
            self._show(sign, 1)

    def _show(self, text: str, length: int) -> None:
        self._shown.append(text)
        self._at += length

    def _style(self) -> bool:
        mark = next((style for style in _STYLES if self._source.startswith(style, self._at)), None)
        if mark is None:
            return False
        if mark in self._open:
            if self._open[-1] != mark:
                raise Refused(f"cannot parse entities: {mark!r} ends before {self._open[-1]!r}")
            self._open.pop()
        else:
            self._open.append(mark)
        self._at += len(mark)
        return True

    def _code(self) -> None:
        fence = "```" if self._source.startswith("```", self._at) else "`"
        begin = self._at + len(fence)
        end = self._find(fence, begin)
        inside = self._source[begin:end]
        if fence == "```" and "\n" in inside and inside.split("\n", 1)[0].isalnum():
            inside = inside.split("\n", 1)[1]
        self._shown.append(inside.replace("\\`", "`").replace("\\\\", "\\"))
        self._at = end + len(fence)

    def _link(self) -> bool:
        """A link, a mention or an emoji of a pack: ``[text](address)``, perhaps with a ``!`` before it."""
        begin = self._at + (self._source[self._at] == "!")
        if not self._source.startswith("[", begin):
            return False
        middle = self._find("](", begin + 1)
        end = self._find(")", middle + 2)
        self._shown.append(_MarkdownText(self._source[begin + 1 : middle]).read())
        self._at = end + 1
        return True

    def _find(self, mark: str, begin: int) -> int:
        at = self._source.find(mark, begin)
        while at > 0 and self._source[at - 1] == "\\" and not self._source.startswith("\\\\", at - 2):
            at = self._source.find(mark, at + 1)
        if at < 0:
            raise Refused(f"cannot parse entities: can't find the end of an entity: {mark!r} is missing")
        return at


def text_of_markdown(source: str) -> str:
    """The visible text of MarkdownV2. Raises `Refused` if Telegram cannot parse it."""
    return _MarkdownText(source).read()
