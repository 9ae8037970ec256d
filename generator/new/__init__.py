"""`gen new`: a model's spec, lock and recipes from the Hub or a GGUF file, a card from a page; and what is left to write."""
