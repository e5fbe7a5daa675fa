"""What is said in these tests: texts that depend on nothing but the id of the message that they are for.

An agent that works on a message again, in another process, says the same; and whoever checks what people see knows it.
"""

import random

_WORDS = (
    "the", "release", "is", "out", "naïve", "Grüße", "日本語", "🙂", "“quoted”", "back\\slash", "{braces}", "</tag>",
    "a'b", 'c"d', "100%", "line\nbreak", "e\u0301", "👩‍👩‍👧", "tail,", "and", "so", "on", "null", "\u00a0", "§",
)  # fmt: skip
#: ends each message; the id follows
END = "∎"
#: first letter of messages whose work an outside worker does
DELEGATING = "d"
#: longest chunk, in characters
LIMIT = 90


def wordy(tag: str, most: int = 60) -> str:
    """A text that tells what it is for at its begin and at its end."""
    dice = random.Random(tag)
    body = " ".join(dice.choices(_WORDS, k=dice.randint(1, most)))
    return f"{tag}: {body} {END}{tag}"


def question(message: str) -> str:
    """What a person writes."""
    return f"{message}? {'please ' * random.Random(message).randint(0, 3)}".strip()


def asked_in(text: str) -> str:
    """The id of the message in which a person wrote this."""
    return text.partition("?")[0]


def answers(message: str) -> tuple[str, ...]:
    """All that the agent says to a message, in order: sometimes something by its tool, and an answer.

    Nothing for a message at which it fails, see `tests.kill.nonsense`.
    """
    if message.startswith("x"):
        return ()
    if message.startswith(DELEGATING):
        return (wordy(f"{message}.reply", 8),)
    by_tool = (wordy(f"{message}.tool", 8),) if random.Random(f"tool {message}").random() < 0.3 else ()
    return (*by_tool, wordy(f"{message}.reply"))


def abandoned(message: str) -> bool:
    """Whether the worker that takes the task of a message never answers, so that it times out."""
    return random.Random(f"abandoned {message}").random() < 0.08


def work_of(message: str) -> str:
    """The result of a worker."""
    return wordy(f"{message}.work", 20)


def report(message: str) -> str:
    """What the agent says once the task of a message has ended."""
    return wordy(f"{message}.late" if abandoned(message) else f"{message}.back", 30)


def ended_by(chunk: str) -> str | None:
    """The tag of the message of which this is the last chunk."""
    _, mark, tag = chunk.rpartition(END)
    return tag if mark else None


def bare(*chunks: str) -> str:
    """A text without white space: where a text is cut, some is lost."""
    return "".join("".join(chunks).split())
