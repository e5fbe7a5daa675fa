"""A model on the wire: an endpoint that speaks OpenAI's chat completions, and plays a script or echoes."""
