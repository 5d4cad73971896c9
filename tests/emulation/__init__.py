"""What engines emulate in a JVM that was attached to late, against what Java tells of itself."""
