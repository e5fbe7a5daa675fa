"""Tests of the heartbeat's decisions."""
