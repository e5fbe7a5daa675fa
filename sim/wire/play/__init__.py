"""Plays scenario files with the platforms on the wire, and the gateway on its real adapters."""
