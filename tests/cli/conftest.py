"""The command, called as its users call it: from the folder of the clone, by its arguments."""

import sys

import pytest

from tests.support.paths import ROOT
from trunkline.app.cli import main


@pytest.fixture(autouse=True)
def _at_home(monkeypatch):
    monkeypatch.chdir(ROOT)


@pytest.fixture
def trunkline(monkeypatch, capsys):
    def run(*arguments):
        monkeypatch.setattr(sys, "argv", ["trunkline", *map(str, arguments)])
        code = main()
        out, err = capsys.readouterr()
        return code, out, err

    return run
