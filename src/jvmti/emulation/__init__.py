"""Stands in for capabilities that the VM does not grant.

Engines do by other means what such a capability allows; see the README of this folder.
"""
