"""Meaning: passages of what was said, the vectors a model makes of them, and what is near.

Nothing here imports onnxruntime, tokenizers or numpy before a model is used.
"""
