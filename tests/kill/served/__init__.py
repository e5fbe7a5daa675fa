"""Storms over ``trunkline serve`` and its standby with a store on a PostgreSQL server."""
