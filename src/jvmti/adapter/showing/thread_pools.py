"""Pools of threads in lists: an editor that lists ten thousand threads stalls."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence

from jvmti.text.pools import pool_of


def without_rest_of_pools(
    threads: Sequence[tuple[int, str]], most: int, keep: Collection[int]
) -> tuple[list[tuple[int, str]], dict[str, int]]:
    """Threads without those that come late in their pools.

    Args:
        threads: their numbers and names.
        most: how many of a pool stay.
        keep: the numbers of those that stay in any case.

    Returns:
        The threads that stay, and for each pool with others, how many those are.
    """
    seen: Counter[str] = Counter()
    left: Counter[str] = Counter()
    found = []
    for number, name in threads:
        pool = pool_of(name)
        if number in keep or seen[pool] < most:
            seen[pool] += 1
            found.append((number, name))
        else:
            left[pool] += 1
    return found, dict(left)


__all__ = ["without_rest_of_pools"]
