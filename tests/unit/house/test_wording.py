"""The English of the product: words that the house does not use, and citations of what the repository does not hold."""

import io
import re
import tokenize

import pytest

from tests.support.paths import ROOT
from tests.support.sources import modules, source_of

#: Each of these stands for a plainer word: see the guide for contributors.
BANNED = re.compile(
    r"\b(?:whoever|anew|so manyth|for want of|as they stand|what is open|was told|is told|are told|were told)\b"
    r"|(?<![.\w-])(?:told|tells?)\b(?![-.\w])",
    re.IGNORECASE,
)
#: "seed 002" of a report, "issue 5", "shared facts", "DESIGN section 5", "(S12)"; a public issue is owner/name#1.
CITATION = re.compile(r"\b[Ss]eed 0\d\d\b|\bissue \d+\b|\bshared facts\b|\bDESIGN\b|\(S\d+\)|\bthe review\b")


def is_name(token: tokenize.TokenInfo) -> bool:
    return token.type == tokenize.STRING and token.string.strip("\"'").isidentifier()


def prose(source: str) -> list[tuple[int, str]]:
    """Comments and string literals, docstrings among them, with their lines. A literal of one word is a name."""
    wanted = {tokenize.COMMENT, tokenize.STRING, getattr(tokenize, "FSTRING_MIDDLE", tokenize.STRING)}
    tokens = tokenize.generate_tokens(io.StringIO(source).readline)
    return [(token.start[0], token.string) for token in tokens if token.type in wanted and not is_name(token)]


def found(pattern: re.Pattern[str], source: str) -> list[str]:
    if not pattern.search(source):
        # Taking a module apart is slow, and what no part of it holds is in none of its texts.
        return []
    return [
        f"{line + text.count(chr(10), 0, hit.start())}: {hit.group()}"
        for line, text in prose(source)
        for hit in pattern.finditer(text)
    ]


#: What is still to be reworded, by module: a number may shrink, and a module that needs none leaves the table.
REMAINING: dict[str, int] = {"core/agent.py": 1, "app/view/faults/catalog.py": 1}
CITED: dict[str, int] = {}


def over(pattern: re.Pattern[str], allowed: dict[str, int]) -> list[str]:
    """What is found in modules that have more than they are allowed."""
    return [
        f"{module}: {one}"
        for module in modules()
        if len(hits := found(pattern, source_of(module))) > allowed.get(module, 0)
        for one in hits
    ]


def test_prose_uses_plain_words() -> None:
    assert over(BANNED, REMAINING) == []


ATTACH_TEXTS = [
    *sorted((ROOT / "scenarios" / "attach").glob("*.yaml")),
    ROOT / "docs" / "attach.md",
    *sorted((ROOT / "docs" / "attach").glob("*.md")),
]


def test_scenarios_and_pages_about_other_gateways_use_plain_words() -> None:
    texts = {path.name: path.read_text(encoding="utf-8") for path in ATTACH_TEXTS}
    assert len(texts) > 40
    assert {name: hits for name, text in texts.items() if (hits := BANNED.findall(text))} == {}


def test_prose_cites_what_a_reader_can_open() -> None:
    assert over(CITATION, CITED) == []


@pytest.mark.parametrize(
    "source",
    ['"""Whoever asks is served."""', "x = 1  # begins anew", 'def f():\n    "It was told."', "y = f'{x} tells all'"],
)
def test_a_banned_word_is_found(source: str) -> None:
    assert len(found(BANNED, source)) == 1


def test_names_and_event_kinds_are_not_prose() -> None:
    assert found(BANNED, "told = tell('client.told', 'hook-told')") == []


@pytest.mark.parametrize("text", ["see seed 002", "# by issue 5", "DESIGN section 5", "as agreed (S12)"])
def test_a_citation_is_found(text: str) -> None:
    assert len(found(CITATION, f"'{text}'")) == 1
    assert found(CITATION, "'openclaw/openclaw#13021 and seed 7'") == []
