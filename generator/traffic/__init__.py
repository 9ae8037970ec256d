"""What is read and moved: bytes for each generated token on either side of the bus, and for a prompt. Pure arithmetic."""
