"""Odd texts: what people and agents say, and what platforms and terminals stumble over."""

from tests.random_scenarios.draws import Draws

ODD = (
    "\u202eRTL",
    "👩‍👩‍👧‍👦👍🏽",
    "```py\nx = 1\n\ny = 2\n```",
    "a\tb\r\nc",
    "\x1b[31mred\x07",
    "<b>&amp;</b> *_~`",
    "{{braces}}",
    "x" * 180,
    "é́́́ ﷽",
    "one\n\ntwo\n\nthree",
    "http://example.org/?q=1&r=2",
)


def odd(draws: Draws) -> str:
    """An odd text in a third of the cases, else nothing; as part of a template."""
    return f" {draws.pick(ODD)}" if draws.chance(0.33) else ""


def literal(text: str) -> str:
    """The text of a template without slots."""
    return text.replace("{{", "{").replace("}}", "}")
