"""A family of scenarios: one text with slots, and a table with a row for each file."""

import textwrap
from collections.abc import Iterator, Mapping
from string import Template

import msgspec

#: the folder of `scenarios/` that is written
FOLDER = "families"
_FIRST = "# yaml-language-server: $schema=../../docs/scenario.schema.json"


class Family(msgspec.Struct, frozen=True, kw_only=True):
    """One text, and a row for each file. A slot is ``$name``; a row says what stands there.

    `title`, `story` and `text` have slots. A slot that stands alone in its line may be several lines: they are indented
    like it, and an empty one leaves no line. Row names are the ends of file names.
    """

    name: str
    title: str
    story: str
    tags: tuple[str, ...]
    #: from `gateway:` or `world:` to the end of the script
    text: str
    #: what people see and what happens, where only this says it
    expect: str = ""
    #: the invariants that each file is for
    exercised: tuple[str, ...]
    rows: Mapping[str, Mapping[str, str]]
    defaults: Mapping[str, str] = {}

    def files(self) -> Iterator[tuple[str, str]]:
        """The files with their texts."""
        for row, slots in self.rows.items():
            values = {"row": row, "expect": "", "exercised": ", ".join(self.exercised), **self.defaults, **slots}
            yield f"{self.name}-{row}.yaml" if row else f"{self.name}.yaml", self._text(values)

    def _text(self, values: Mapping[str, str]) -> str:
        story = textwrap.fill(Template(" ".join(self.story.split())).substitute(values), 128, break_on_hyphens=False)
        lines = [
            _FIRST,
            "scenario: 2",
            f"title: {_quoted(Template(self.title).substitute(values))}",
            Template(f"tags: [{', '.join(self.tags)}]").substitute(values),
            "story: |",
            textwrap.indent(story, "  "),
            *_filled(self.text, values),
            "expect:",
            *(f"  {line}" for text in (self.expect, "$expect") for line in _filled(text, values)),
            f"  exercised: [{values['exercised']}]",
        ]
        return "\n".join(lines) + "\n"


def _filled(text: str, values: Mapping[str, str]) -> Iterator[str]:
    for line in textwrap.dedent(text).strip("\n").splitlines():
        indent = line[: len(line) - len(line.lstrip())]
        filled = Template(line).substitute(values)
        if line.strip().startswith("$") and "\n" in filled.strip():
            filled = textwrap.indent(textwrap.dedent(Template(line.strip()).substitute(values)).strip("\n"), indent)
        if filled.strip():
            yield filled.rstrip()


def _quoted(title: str) -> str:
    return f'"{title}"' if ": " in title or title.startswith(("`", "*", "@", "/")) else title
