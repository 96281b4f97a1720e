"""The order of recall's results: relevance, evidence and nearness of every candidate, fused.

DuckDB finds which words stand where; what is reckoned of these numbers is numpy's: a SELECT of
many joins takes longer to plan than all of it.
"""
