"""Where the source of a class is, and which line of which file a line number means."""
