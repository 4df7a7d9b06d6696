"""Numbers of things as text, for messages, as support/count_text.h has them for the commands."""


def counted(number: int, noun: str) -> str:
    """ "1 sample", "2 samples". `noun`: of one; its plural takes an s."""
    return f"{number} {noun}{'' if number == 1 else 's'}"


def counted_are(number: int, noun: str) -> str:
    """ "1 sample is", "2 samples are"."""
    return f"{counted(number, noun)} {'is' if number == 1 else 'are'}"
