"""Dominators and retained sizes the way the definition says, for small graphs."""

from __future__ import annotations


def reachable(edges: list[list[int]], roots: list[int], without: set[int]) -> set[int]:
    found = {root for root in roots if root not in without}
    waiting = list(found)
    while waiting:
        for target in edges[waiting.pop()]:
            if target not in found and target not in without:
                found.add(target)
                waiting.append(target)
    return found


def dominated(edges: list[list[int]], roots: list[int]) -> list[set[int]]:
    """For each node what cannot be reached without it, itself included."""
    everything = reachable(edges, roots, set())
    return [
        everything - reachable(edges, roots, {node}) if node in everything else set()
        for node in range(len(edges))
    ]


def immediate(edges: list[list[int]], roots: list[int]) -> list[int | None]:
    """The immediate dominator of each node; -1 is the root above all, None not reachable."""
    below = dominated(edges, roots)
    found: list[int | None] = []
    for node in range(len(edges)):
        if node not in below[node]:
            found.append(None)
            continue
        above = [other for other in range(len(edges)) if other != node and node in below[other]]
        # Of all that dominate it the nearest is the one that dominates least.
        found.append(min(above, key=lambda other: len(below[other])) if above else -1)
    return found
