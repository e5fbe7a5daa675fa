"""Tests, benchmarks and conformance runs."""
