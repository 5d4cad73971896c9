"""Chapters about classes: their members and modules, and where the VM looks for classes."""
