"""Options that several verbs have: what to look at, what to run there, where to write."""
