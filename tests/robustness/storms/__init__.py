"""Storms of events: none is lost, however many threads send them."""
