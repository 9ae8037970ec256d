"""The engine's compute graph, as far as memory goes: its tensors, the device each is computed on, and where each is put."""
