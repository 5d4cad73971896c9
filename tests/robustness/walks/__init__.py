"""Random walks over the public interface, by several controllers at once."""
