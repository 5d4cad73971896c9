"""The protocol itself: messages on a stream, and requests with checked arguments.

What lives here knows neither Java nor the program: framing, the order of responses, what a request
may carry, and the numbers that stand for things of the program.
"""
