"""Controllers that detach, fork or are killed, whatever they hold; threads that leave frames."""
