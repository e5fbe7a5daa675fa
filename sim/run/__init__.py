"""Plays a scenario: world, processes, script, faults, rest."""
