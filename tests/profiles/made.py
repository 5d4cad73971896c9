"""Profiles made for tests: small ones that a reader can count, and large ones at random."""

from __future__ import annotations

import numpy

from jvmti.profile import Frames, Kind, Limits, Profile, Samples, Stacks, State, Threads

BEGAN = 1_700_000_000_000_000_000
SECOND = 1_000_000_000


def shop() -> Profile:
    """Ten samples of 10 ms in two threads, one of them without a stack.

    ========  ==============================  =======
    thread    stack, the outermost first      samples
    ========  ==============================  =======
    worker-1  Server.run, Order.add           4
    worker-1  Server.run, Order.add, put      2
    worker-2  Server.run, put                 1
    worker-2  Order.add, Order.add            2
    worker-2  (none)                          1
    ========  ==============================  =======
    """
    frames = Frames(
        ["com.acme.Server", "com.acme.Order", "java.util.HashMap", "com.acme.Order"],
        ["run", "add", "put", "add"],
        ["()V", "(I)V", "(Ljava/lang/Object;Ljava/lang/Object;)Ljava/lang/Object;", "(I)V"],
        [10, 20, 600, 21],
        [1, 2, 3, 2],
    )
    stacks = Stacks([0, 2, 5, 7, 9, 9], [1, 0, 2, 3, 0, 2, 0, 1, 3])
    samples = Samples(
        time=BEGAN + numpy.arange(10) * SECOND,
        thread=[0, 0, 0, 0, 0, 0, 1, 1, 1, 1],
        stack=[0, 0, 0, 0, 1, 1, 2, 3, 3, 4],
        weight=10_000_000,
        state=[State.RUNNING] * 7 + [State.NATIVE] * 3,
        label=[0, 0, 0, 1, 1, 1, -1, -1, -1, -1],
    )
    threads = Threads([21, 22], ["worker-1", "worker-2"], ["main", "workers"], [False, True])
    limits = Limits(
        Kind.CPU,
        engine="timer",
        reason="the kernel does not allow perf events",
        began=BEGAN,
        ended=BEGAN + 10 * SECOND,
        interval=0.01,
        effective=0.01,
        inlined_exact=True,
        failed=1,
        cut=2,
    )
    return Profile(samples, stacks, frames, threads, [limits], ["/buy", "/look"])


def large(
    samples: int = 1_000_000,
    stacks: int = 10_000,
    depth: int = 40,
    methods: int = 3_000,
    threads: int = 50,
    seed: int = 1,
) -> Profile:
    """A profile whose stacks share their outer frames, as those of a program do."""
    random = numpy.random.default_rng(seed)
    depths = random.integers(depth // 2, depth * 3 // 2, stacks)
    offsets = numpy.concatenate([[0], numpy.cumsum(depths)])
    frames = numpy.empty(offsets[-1], numpy.int32)
    for row in range(stacks):
        # A walk through a call graph in which each method calls three others.
        at = 0
        for place in range(offsets[row + 1] - 1, offsets[row] - 1, -1):
            frames[place] = at
            at = (at * 3 + int(random.integers(1, 4)) * 7919) % methods
    table = Frames(
        [f"com.acme.part{row % 20}.Class{row // 5}" for row in range(methods)],
        [f"method{row % 5}" for row in range(methods)],
        ["()V"] * methods,
        random.integers(1, 900, methods),
        random.integers(1, 5, methods),
    )
    popular = random.zipf(1.3, samples) % stacks
    return Profile(
        Samples(
            BEGAN + numpy.sort(random.integers(0, 600 * SECOND, samples)),
            random.integers(0, threads, samples),
            popular,
            random.integers(900_000, 1_100_000, samples),
            # Threads wait in some places, and run in others.
            state=popular % 7 + 1,
        ),
        Stacks(offsets, frames),
        table,
        Threads(range(1, threads + 1), [f"pool-1-thread-{row}" for row in range(threads)]),
        [Limits(Kind.CPU, "perf", began=BEGAN, ended=BEGAN + 600 * SECOND, interval=0.001)],
    )
