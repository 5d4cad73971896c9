"""The heap of a running JVM: scans, snapshots, rows as live objects, and who holds them."""
