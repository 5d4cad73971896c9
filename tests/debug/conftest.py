"""As for the model, nothing that a test looked at is held when it is over."""

from model.conftest import nothing_is_left, pytest_collection_modifyitems

__all__ = ["nothing_is_left", "pytest_collection_modifyitems"]
