"""Tries of the toy gateway: each defect is found, and nothing is found where there is none."""
