"""The version of the package, which is that of Locus."""

__version__ = "0.1.0"
