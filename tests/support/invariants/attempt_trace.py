"""What the tests of attempt limits share."""

from tests.support.factories import direct
from trunkline.core.reasons import Reason

ELSEWHERE = direct("200", channel="telegram")
ERROR = Reason.PLATFORM_ERROR
