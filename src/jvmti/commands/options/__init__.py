"""Options of several verbs: targets, code to run, output files."""
