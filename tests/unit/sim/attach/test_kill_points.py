"""The names of the points at which a gateway is killed, as commands and folders have them."""

import pytest

from trunkline.core.errors import UsageError
from trunkline.sim.attach.kill_points import KillPoint, named_kill_point


@pytest.mark.parametrize(
    "point",
    [
        KillPoint(event="wire.accepted", question="m1"),
        KillPoint(event="wire.called", question="", nth=3),
        KillPoint(event="model.answered", question="twox2", nth=12, delay=0.02),
    ],
)
def test_a_point_is_found_by_its_name(point: KillPoint):
    assert named_kill_point(point.slug) == point


@pytest.mark.parametrize("name", ["", "wire.accepted", "wire.seen-m1-1", "wire.accepted-m1-0", "wire.accepted-m1-x"])
def test_what_is_no_point_is_refused_with_an_example(name: str):
    with pytest.raises(UsageError, match=r"such as wire\.accepted-m1-1"):
        named_kill_point(name)
