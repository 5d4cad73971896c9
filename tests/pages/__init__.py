"""The documentation: its links, examples, generated pages and prose."""
