"""Factories, doubles and helpers that tests share."""
