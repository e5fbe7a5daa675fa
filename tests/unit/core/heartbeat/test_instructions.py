"""Instructions that hold nothing to do."""

from tests.support.for_each import for_each
from trunkline.core.heartbeat.guards import is_effectively_empty


@for_each(
    "text",
    [
        "",
        " \n\t\n",
        "# Heartbeat\n\n## Tasks\n#\n",
        "# T\n- [ ]\n",
        "-\n* [ ]\n+ [x]\n- [X] \n*",
        "<!-- keep\nthis -->\n# T",
        "<!-- never closed\nDo it",
        "---\ntitle: x\n---\n# T\n",
        "---\n---\n",
        "\ufeff---\r\ntitle: x\r\n---\r\n",
        "tasks:\n",
        "---\nx: 1\n---\n<!-- a --> <!-- b -->\ntasks:\n- [ ]\n",
    ],
)
def test_headings_empty_items_and_comments_are_nothing_to_do(text: str) -> None:
    assert is_effectively_empty(text)


@for_each(
    "text",
    [
        # No file: the prompt alone decides.
        None,
        "#TODO call mum",
        "- [ ] call mum",
        "- call mum",
        "1.",
        "tasks: call mum",
        "<!-- a --> call mum <!-- b -->",
        "---\ntitle: x\n---\ncall mum",
        "---\nno end of the front matter\n",
        "---\na: b---\n",
        "[ ]",
    ],
)
def test_everything_else_is_something_to_do(text: str | None) -> None:
    assert not is_effectively_empty(text)
