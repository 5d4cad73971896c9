"""Many stacks as one tree: of live threads, samples or recordings.

What does not live here: capturing stacks (`jvmti.model`), and drawing them (`jvmti.report.flames`).
"""
