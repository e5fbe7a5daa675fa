"""What a gateway writes: stored up to an end, and quoted without what commands a terminal."""

from pathlib import Path

import pytest

from trunkline.core.errors import UsageError
from trunkline.sim.attach.process.gateway_log import GatewayLog, last_lines


def test_lines_are_cleaned_and_bounded() -> None:
    output = b"first\n\x1b[31mred\x1b[0m \x1b]0;title\x07end\r\n\n\xff\x00two\n" + b"x" * 900
    *_, second, third, last = last_lines(output)
    assert (second, third) == ("red end", "\N{REPLACEMENT CHARACTER}two")
    assert len(last) == 500
    assert last.endswith("…")


def test_the_last_lines_outlive_the_end_of_the_file(tmp_path: Path) -> None:
    with GatewayLog(tmp_path / "log", most=100) as log:
        for number in range(100):
            log.feed(b"line %d\n" % number)
        assert log.last_lines(2) == ("line 98", "line 99")
        assert "wrote more than 100 bytes" in log.problem
    text = (tmp_path / "log").read_text()
    assert text.startswith("line 0\n")
    assert text.endswith("\n[the log ends here, after 100 bytes]\n")


def test_a_log_that_cannot_be_written_says_so_at_once(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="Is a directory: the gateway's log cannot be written"):
        GatewayLog(tmp_path)


def test_a_full_disk_ends_the_file_and_not_the_run() -> None:
    if not Path("/dev/full").exists():
        pytest.skip("there is no /dev/full")
    with GatewayLog(Path("/dev/full")) as log:
        log.feed(b"some words\n")
        assert log.problem == "/dev/full: No space left on device: the gateway's log ends there"
        assert log.last_lines() == ("some words",)
