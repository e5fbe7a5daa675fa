"""Runs the hands of delegations."""
