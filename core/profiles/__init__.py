"""The rules of other gateways, a folder each. No room of the core knows them: a configuration names their profile."""
