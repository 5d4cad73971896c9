"""The conversation with an agent: frames, codecs, columns, channels and the session over them."""
