"""Chapters about the VM as a whole: capabilities, phases, properties, clocks and memory."""
