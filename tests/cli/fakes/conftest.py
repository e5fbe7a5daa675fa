"""Fakes that these tests share; each test begins with nothing said."""

from collections.abc import Iterator

import pytest

from trunkline.app.fakes.client import FakesClient, running_fakes


@pytest.fixture(scope="package")
def fakes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[FakesClient]:
    record = tmp_path_factory.mktemp("fakes") / "wire.jsonl"
    with running_fakes("telegram", "model", options=["--record", str(record)]) as client:
        yield client


@pytest.fixture(autouse=True)
def _begin_again(request: pytest.FixtureRequest) -> None:
    if "fakes" in request.fixturenames:
        request.getfixturevalue("fakes").reset()
