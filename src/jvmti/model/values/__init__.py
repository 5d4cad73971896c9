"""Values on their way between Python and Java.

What lives here: conversion, boxing, calls and the choice of an overload, and Java's collections,
numbers and dates as Python values.  What does not: the objects themselves (`jvmti.model.objects`).
"""
