"""The solver: of all settings for a model on a card, those that fit and serve a goal best, and why these."""
