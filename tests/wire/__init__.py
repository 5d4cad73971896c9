"""What crosses between controller and agent: codecs, columns, layouts, handles, environments."""
