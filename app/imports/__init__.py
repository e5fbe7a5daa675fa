"""Reads what gateways that are not ours have stored, and never writes there."""
