"""Fixtures of these tests."""

import pytest

from tests.support.cli.explanations import CONFIG


@pytest.fixture
def config(tmp_path):
    path = tmp_path / "gateway.yaml"
    path.write_text(CONFIG)
    return path
