"""Adapters of real platforms, by their client libraries. Each library is imported only in the folder of an adapter."""
