"""Values of expressions: their static types, where they come from, and what may be done with them.

What lives here: types, literals, operators, conversions, and the places that values are read from
and written to.  What does not: names, calls and the evaluation of syntax trees
(`jvmti.expressions`).
"""
