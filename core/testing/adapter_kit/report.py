"""The report of the adapter kit."""

from enum import StrEnum

import msgspec

from trunkline.core.errors import TrunklineError


class ContractBroken(TrunklineError):
    """The adapter breaks its contract."""


class CheckVerdict(StrEnum):
    PASSED = "passed"
    FAILED = "failed"
    #: the adapter lacks the capability, or the bench cannot provoke the case
    NOT_TRIED = "not tried"


class CheckResult(msgspec.Struct, frozen=True, kw_only=True):
    """The result of a check: sentence, verdict and evidence."""

    id: str
    #: the sentence that says what a conforming adapter does
    sentence: str
    verdict: CheckVerdict
    evidence: tuple[str, ...] = ()


class KitReport(msgspec.Struct, frozen=True, kw_only=True):
    """All checks of an adapter."""

    #: its channel and account
    adapter: str
    checks: tuple[CheckResult, ...]

    @property
    def failures(self) -> tuple[CheckResult, ...]:
        return self._with(CheckVerdict.FAILED)

    @property
    def not_tried(self) -> tuple[CheckResult, ...]:
        return self._with(CheckVerdict.NOT_TRIED)

    def _with(self, verdict: CheckVerdict) -> tuple[CheckResult, ...]:
        return tuple(check for check in self.checks if check.verdict is verdict)

    def raise_for_failures(self) -> None:
        """Raise `ContractBroken` if any check failed."""
        if self.failures:
            failed = "; ".join(f"{check.id}: {', '.join(check.evidence)}" for check in self.failures)
            raise ContractBroken(f"{self.adapter}: {failed}")

    def __str__(self) -> str:
        counts = ", ".join(f"{len(self._with(verdict))} {verdict.value}" for verdict in CheckVerdict)
        lines = [f"{self.adapter}: {counts}"]
        for check in self.checks:
            lines.append(f"  {check.verdict.value:9}  {check.id:20}  {check.sentence}")
            lines += [f"{'':13}{line}" for line in check.evidence]
        return "\n".join(lines)
