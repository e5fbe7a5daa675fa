"""Booleans of files: `true` or `false`, and nothing that only sounds like it. A policy must not open by a slip."""

import pytest
from pydantic import ValidationError

from tests.support.for_each import for_each
from trunkline.core.config.base import Flag, Model

#: what YAML 1.1, pydantic or people take for true
SLIPS = ["yes", "on", "t", "y", "true", "1", 1, 1.0]


class Policy(Model):
    is_open: Flag = False
    maybe: Flag | None = None


@for_each("slip", SLIPS, ids=repr)
@for_each("field", ["is_open", "maybe"])
def test_a_flag_is_opened_by_true_alone(field: str, slip: object) -> None:
    assert getattr(Policy.model_validate({field: True}), field) is True
    with pytest.raises(ValidationError):
        Policy.model_validate({field: slip})
