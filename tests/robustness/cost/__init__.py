"""What a target pays: its memory does not grow, walks end, and who waits uses no processor."""
