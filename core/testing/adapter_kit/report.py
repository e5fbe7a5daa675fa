"""What the kit says of an adapter."""

from __future__ import annotations

from enum import StrEnum

import msgspec

from trunkline.core.errors import TrunklineError


class ContractBroken(TrunklineError):
    """The adapter breaks its contract."""


class CheckVerdict(StrEnum):
    """What came of one check."""

    PASSED = "passed"
    FAILED = "failed"
    #: the adapter has no such thing, or the bench cannot provoke it
    NOT_TRIED = "not tried"


class CheckResult(msgspec.Struct, frozen=True, kw_only=True):
    """One check: what it is about, what came of it, and what was seen."""

    id: str
    #: what a conforming adapter does
    sentence: str
    verdict: CheckVerdict
    evidence: tuple[str, ...] = ()


class KitReport(msgspec.Struct, frozen=True, kw_only=True):
    """All checks of one adapter."""

    #: its channel and account
    adapter: str
    checks: tuple[CheckResult, ...]

    @property
    def failures(self) -> tuple[CheckResult, ...]:
        """The checks that it failed."""
        return self._with(CheckVerdict.FAILED)

    @property
    def not_tried(self) -> tuple[CheckResult, ...]:
        """The checks of which nothing is known."""
        return self._with(CheckVerdict.NOT_TRIED)

    def _with(self, verdict: CheckVerdict) -> tuple[CheckResult, ...]:
        return tuple(check for check in self.checks if check.verdict is verdict)

    def raise_for_failures(self) -> None:
        """Raise `ContractBroken`, with every failed check, unless there is none."""
        if self.failures:
            told = "; ".join(f"{check.id}: {', '.join(check.evidence)}" for check in self.failures)
            raise ContractBroken(f"{self.adapter}: {told}")

    def __str__(self) -> str:
        """The report as lines for people."""
        counts = ", ".join(f"{len(self._with(verdict))} {verdict.value}" for verdict in CheckVerdict)
        lines = [f"{self.adapter}: {counts}"]
        for check in self.checks:
            lines.append(f"  {check.verdict.value:9}  {check.id:20}  {check.sentence}")
            lines += [f"{'':13}{line}" for line in check.evidence]
        return "\n".join(lines)
