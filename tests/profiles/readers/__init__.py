"""Programs that profiles are written for, to read them with: their own code, from registries."""
