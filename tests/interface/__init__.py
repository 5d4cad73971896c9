"""The declarations: complete, correct, and enough to add a function."""
