"""The Debug Adapter Protocol: sessions as editors have them, every message held to the schema."""
