"""The answers of the fakes against the published types of the platforms' APIs."""
