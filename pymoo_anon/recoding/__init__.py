"""Local recodings: trees of attributes, requirements on classes, search, lower bounds."""

from pymoo_anon.recoding.bound import Ascent
from pymoo_anon.recoding.recode import FEW, check_ways, recode, recode_parts, recode_some
from pymoo_anon.recoding.trees import ColumnRequirement, RequirementKind, Requirements, Trees

__all__ = [
    "FEW",
    "Ascent",
    "ColumnRequirement",
    "RequirementKind",
    "Requirements",
    "Trees",
    "check_ways",
    "recode",
    "recode_parts",
    "recode_some",
]
