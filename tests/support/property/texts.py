"""Texts to prepare: what people write, what programs write, and what nobody should."""

from hypothesis import strategies as st

WORDS = (
    "word",
    "a",
    " ",
    "\n",
    "   ",
    "\n\n",
    "longer-than-most",
    "(",
    ")",
    "\r\n",
    "😀",
    "e\u0301",
    "👩‍👩‍👧",
    "🇩🇪",
    "\u00a0",
)
MARKS = (
    *(
        "**",
        "*",
        "_",
        "__",
        "~~",
        "||",
        "`",
        "``",
        "[",
        "](http://b.c)",
        "](x)",
        "![",
        "<http://b.c>",
        "\\",
        "&amp;",
        "<b>",
    ),
    *(
        "\n# ",
        "\n- ",
        "\n  - ",
        "\n1. ",
        "\n> ",
        "\n---\n",
        "\n===\n",
        "\t",
        "\n```\n",
        "\n```py\n",
        "\n~~~\n",
        "&",
        ">",
    ),
)
FENCES = (
    "\n```\n",
    "\n```py\n",
    "\n~~~~\n",
    "\n  ```\n",
    "\n``` \n",
    "```",
    "~~~",
    "`",
    "x = 1\n",
    "    y\n",
    "prose ",
    "\n\n",
    "```x`",
)


def made_of(*words: str, most: int = 24) -> st.SearchStrategy[str]:
    return st.lists(st.sampled_from(words), max_size=most).map("".join)


plain = st.one_of(
    st.text(max_size=80),
    st.text(alphabet="ab \n\t\u2003\u00a0\r()", max_size=80),
    st.text(alphabet="a\u0301\u200d👩🏽🇩🇪\r\n क्षि각ᄀ", max_size=60),
    made_of(*WORDS),
)
fenced = made_of(*FENCES, *WORDS, most=30)
marked = st.one_of(
    st.text(max_size=60), st.text(alphabet="*_~|`[]()<>&#-+=\\!1. \n\tab", max_size=60), made_of(*MARKS, *WORDS)
)
CODE = ("x = 1", "    y", "```x`", "~~~ z", "(", "\n", "\n\n", "a long line of code that goes on and on ", "😀")


def block(opening: str) -> st.SearchStrategy[str]:
    """A block of code whose lines may look like the fences of others."""
    marker = opening.removesuffix("py")
    code = made_of(*(word for word in CODE if not word.startswith(marker.strip()[:3])), most=12)
    return code.map(lambda lines: f"{opening}\n{lines}\n{marker}")


prose = made_of("word", " ", "\n", "(", ")", "longer-than-most", "\n\n", "a b c ", "`x`", "~ ", "😀", most=16)
blocks = st.one_of(*map(block, ("```", "```py", "  ~~~", "`````py", "~~~~")))
documents = st.lists(st.one_of(prose, blocks), max_size=5).map("\n".join)
anything = st.one_of(plain, fenced, documents, marked, st.text(alphabet=st.characters(), max_size=40))
