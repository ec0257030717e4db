"""VARIANT: values of any shape, as Spark carries them, in two parts of bytes.

codec      from values to bytes and back
access     what a path leads to, as a VARIANT, a text or a value of a type
changes    values with something put in, taken out or left out
schemas    the types of values
"""

from driftline.engine.expressions.variants import access, changes, schemas

__all__ = ["access", "changes", "schemas"]
