"""Sends that a client of the gateway asks for: target resolution, planning, dispatch."""
