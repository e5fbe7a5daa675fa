"""Adapters of real platforms, by their client libraries. Each library is imported only inside its own folder."""
