"""Names in a platform's directory."""

import pytest

from tests.support.for_each import for_each
from trunkline.core.channels import DirectoryEntry, find_in_directory
from trunkline.core.errors import AmbiguousTarget
from trunkline.core.values import ChatKind

OPS = DirectoryEntry(target="channel:1", kind=ChatKind.CHANNEL, name="ops")
NIGHT = DirectoryEntry(target="channel:2", kind=ChatKind.CHANNEL, name="ops-night")
ANA = DirectoryEntry(target="user:3", kind=ChatKind.DIRECT, name="Ana Lima", handle="ana")
ANAIS = DirectoryEntry(target="user:4", kind=ChatKind.DIRECT, name="Anaïs Lopes", handle="anais")
HALL = DirectoryEntry(target="channel:5", kind=ChatKind.CHANNEL, name="Ana's hall")
ALL = [OPS, NIGHT, ANA, ANAIS, HALL, DirectoryEntry(target="user:6", kind=ChatKind.DIRECT)]


@for_each(
    ("text", "entry"),
    [
        ("ops", OPS),
        (" OPS ", OPS),
        ("#ops", OPS),
        ("channel:ops", OPS),
        ("discord:channel:ops", OPS),
        ("night", NIGHT),
        ("Ana Lima", ANA),
        ("@ana", ANA),
        ("user:ana", ANA),
        ("lima", ANA),
        ("@lopes", ANAIS),
        ("#ana", HALL),
        ("conversation:hall", HALL),
    ],
)
def test_an_entry_is_found_by_what_it_is_called(text: str, entry: DirectoryEntry) -> None:
    found = find_in_directory(text, ALL, "discord")
    assert found is not None
    assert (found.target, found.kind) == (entry.target, entry.kind)


@for_each("text", ["nobody", "@ops", "user:ops", "#lima", "1", "+41 44 123", "<@3>", "<#1>", "", "@", "#"])
def test_what_nothing_is_called_is_unknown(text: str) -> None:
    assert find_in_directory(text, ALL, "discord") is None


def test_of_several_the_caller_has_to_name_one() -> None:
    with pytest.raises(AmbiguousTarget) as raised:
        find_in_directory("l", ALL, "discord")
    assert raised.value.facts == (
        '"l" for discord. Provide a unique name or an explicit id: user:3 (Ana Lima), user:4 (Anaïs Lopes),'
        " channel:5 (Ana's hall)"
    )


def test_an_error_lists_few_names() -> None:
    many = [DirectoryEntry(target=f"user:{n}", kind=ChatKind.DIRECT, name="Ana") for n in range(50)]
    with pytest.raises(AmbiguousTarget, match=r"user:4 \(Ana\), \.\.\.$"):
        find_in_directory("ana", many, "discord")
    assert find_in_directory("ana", many[:1] * 2, "discord") is not None
