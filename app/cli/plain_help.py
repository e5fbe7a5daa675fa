"""Help as plain text: reading Markdown takes longer than all the rest of ``--help``."""

import re
from typing import TYPE_CHECKING, Any

from cyclopts.help import DefaultFormatter
from rich.text import Text

if TYPE_CHECKING:
    from cyclopts.help import HelpPanel
    from rich.console import Console, ConsoleOptions

#: the end of a line in the middle of a paragraph; items of a list stay on lines of their own
_BREAK = re.compile(r"(?<!\n)\n[ \t]*(?=[^\s*-])")


class PlainHelp(DefaultFormatter):
    """The usual panels; paragraphs flow, as their lines in the source are no lines for readers."""

    def __call__(self, console: "Console", options: "ConsoleOptions", panel: "HelpPanel") -> None:
        for entry in panel.entries:
            _flow(entry.description)
        super().__call__(console, options, panel)

    def render_description(self, console: "Console", options: "ConsoleOptions", description: Any) -> None:
        """Render what stands above the panels."""
        _flow(description)
        super().render_description(console, options, description)


def _flow(described: Any) -> None:
    text = getattr(described, "primary_renderable", None)
    if isinstance(text, Text):
        described.primary_renderable = Text(_BREAK.sub(" ", text.plain))
