"""Programs of others at work, with the events of a VM as the witness of probes."""
