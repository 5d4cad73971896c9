"""Many stacks as one tree, wherever they come from: live threads, samples, recordings.

What does not live here: how stacks are taken (`jvmti.model`), and how they are drawn
(`jvmti.report.flames`).
"""
