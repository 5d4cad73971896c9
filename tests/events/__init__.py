"""What events bring, and what their handlers may do: every event, and the ways of using them.

The program is `Events` of tests/java, which says on request what Java itself saw.  An event is
handled before the program goes on, so what a handler noted is complete when the program has
answered.
"""
