"""The marks of prose that must be read twice: turns of phrase that break the rule in CONTRIBUTING.md.

Each is a regular expression for a sentence, precise enough that what is good English does not match.
"""

import re

# After these words "where" asks for a place.
PLACE = (
    r"(?:places?|points?|positions?|lines?|files?|folder|address(?:es)?|offsets?|pages?|sections?|spot"
    r"|know[ns]?|tells?|told|sees?|finds?|found|says?|said|shows?|shown|names?|near|remembers?|asks?|decides?|stays?"
    r"|to|of|from|about|is|are|there)"
)
PATTERNS = {
    "begins with a fragment": r"^(?:Of|What|Behind)\b(?!.*\?)",
    "begins with where": r"^Where\b(?!$)(?![^.]*\?)(?! [\d(])",
    "begins with a clause": r"^That (?:an?|the|it|they|no|each|every|its|their|there|all|both|one|what)\b",
    "begins with by": r"^By (?!default|hand|then|now|far|itself|design|\w+ing\b)",
    "where for if": r"\bwhere\b(?!$)(?! (?:possible|needed|necessary|it matters)\b)",
    "is no for is not": (
        r"(?<![Tt]here )\b(?:is|are|was|were|be) (?:no|none)\b(?! (?:longer|more|less|matter|\w+er than)\b)"
    ),
    "none of": r"\b(?:is|are|be|of|in|has|have|at|from|for|by) none of\b",
    "alone after its noun": r"(?<!stand )(?<!stands )(?<![Ll]eft )(?<!leave )(?<!leaves )(?<!let )\balone\b",
    "behind for after": r"(?<!left )(?<!leave )(?<!leaves )\bbehind\b",
    "of which": r"\bof which\b",
}
MARKS = {name: re.compile(pattern) for name, pattern in PATTERNS.items()}
QUOTED = re.compile(r"`[^`]*`|\"[^\"]*\"")
ASKS_FOR_A_PLACE = re.compile(rf"\b{PLACE},? where\b")


def marks(sentence: str) -> list[str]:
    """The names of the marks in a sentence."""
    bare = ASKS_FOR_A_PLACE.sub("place", QUOTED.sub("quoted", sentence))
    return [name for name, mark in MARKS.items() if mark.search(bare)]
