"""`gen new`: a model's spec, lock and recipes from a repository of the Hub or a GGUF file, and what is left for a person to write."""
