"""The released package: wheels, other launchers, real programs, and faults that tests find."""
