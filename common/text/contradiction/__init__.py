"""Decide whether two similar texts disagree.

The checks look for opposites, word order, amounts and negation. All functions are pure. The
package imports nothing but `common.text`.
"""
