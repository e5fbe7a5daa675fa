"""Client sends: target resolution, planning, storing, waiting for the end."""
