"""Stands in for capabilities that the VM does not grant.

Engines provide such a capability by other means; see the README of this folder.
"""
