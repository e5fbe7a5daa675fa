"""Test kits for users' own parts."""
