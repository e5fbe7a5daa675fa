"""Targets of the message tool that are names: the platform's directory knows them."""

from pathlib import Path

import pytest

from tests.support.tool_calls import Answering, called, the_error, the_result
from trunkline.core.channels import DirectoryEntry, Resolved, find_in_directory
from trunkline.core.errors import AmbiguousTarget, TargetError
from trunkline.core.events.delivery import IntentPrepared
from trunkline.core.events.gateway import ToolRefused
from trunkline.core.reasons import Reason
from trunkline.core.values import ChatKind

pytestmark = pytest.mark.anyio

ENTRIES = [
    DirectoryEntry(target="channel:500", kind=ChatKind.CHANNEL, name="ops"),
    DirectoryEntry(target="channel:501", kind=ChatKind.CHANNEL, name="sales-east"),
    DirectoryEntry(target="channel:502", kind=ChatKind.CHANNEL, name="sales-west"),
]


class Named(Answering):
    """A platform with a directory."""

    async def resolve_target(self, text: str) -> Resolved | None:
        return find_in_directory(text, ENTRIES, self.channel)


@pytest.mark.parametrize("name", ["ops", "#ops", "op"])
async def test_a_name_is_looked_up(tmp_path: Path, anyio_backend: str, name: str) -> None:
    platform = Named()
    outcomes, _ = await called(tmp_path / "s.db", platform, calls=[{"action": "send", "target": name, "message": "x"}])
    platform.close()
    place = the_result(outcomes).place
    assert place is not None
    assert place.conversation == "500"


@pytest.mark.parametrize(
    ("name", "error", "reason", "says"),
    [
        (
            "sales",
            AmbiguousTarget,
            Reason.AMBIGUOUS_TARGET,
            'Ambiguous target: "sales" for discord. Provide a unique name or an explicit id: channel:501 (sales-east),',
        ),
        ("hr", TargetError, Reason.BAD_TARGET, "the directory of discord has no such name"),
    ],
)
async def test_a_name_of_several_or_of_none_is_refused(
    tmp_path: Path, anyio_backend: str, name: str, error: type[TargetError], reason: Reason, says: str
) -> None:
    platform = Named()
    calls = [{"action": "send", "target": name, "message": "x"}]
    outcomes, running = await called(tmp_path / "s.db", platform, calls=[*calls])
    platform.close()
    refused = the_error(outcomes)
    assert type(refused) is error
    assert says in str(refused)
    assert [one.reason for one in running.recorded(ToolRefused)] == [reason]
    assert running.recorded(IntentPrepared) == []


async def test_what_is_said_of_names_is_not_said_of_numbers(tmp_path: Path, anyio_backend: str) -> None:
    platform = Named()
    calls = [{"action": "send", "target": "7", "message": "x"}]
    outcomes, _ = await called(tmp_path / "s.db", platform, calls=[*calls])
    platform.close()
    assert "directory" not in str(the_error(outcomes))
