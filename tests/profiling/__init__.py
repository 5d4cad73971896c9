"""Profiles of running JVMs."""
