"""The graphs of architectures: each module makes those of one family, or a part that several families share."""
