"""Nights of the re-check, played through the real command line against the emulator."""
