"""`make test` runs a sample of the slow tests, never none of a parametrised kind."""

from dataclasses import dataclass
from typing import cast

import pytest

from tests.support.scale import VARIABLE, scaled, split_sample


@dataclass
class Item:
    """What `split_sample` asks of a test item."""

    nodeid: str
    mark: pytest.Mark | None

    def get_closest_marker(self, name: str) -> pytest.Mark | None:
        return self.mark if name == "slow" else None


def test_every_nth_item_is_in_the_sample_and_the_first_always() -> None:
    third = [Item(f"test_many[{number}]", pytest.mark.slow(every=3).mark) for number in range(7)]
    others = [Item("test_whole", pytest.mark.slow.mark), Item("test_quick", None)]
    chosen, left = split_sample(cast(list[pytest.Item], [*third, *others]))
    assert [item.nodeid for item in chosen] == ["test_many[0]", "test_many[3]", "test_many[6]", "test_quick"]
    assert len(chosen) + len(left) == 9


def test_a_parameter_is_full_only_where_everything_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, "all")
    assert scaled(12, 4) == 12
    monkeypatch.delenv(VARIABLE)
    assert scaled(12, 4) == 4
