"""The exceptions of this package."""


class OnnxcError(Exception):
    """Any error of onnxc."""


class ArgumentError(OnnxcError, ValueError):
    """An argument has a value that cannot be done."""


class CompileError(OnnxcError):
    """The compiler ended with an error.

    exit_code: 1 when the model or the machine is at fault, 2 when the options are, 3 for a bug of ours.
    """

    def __init__(self, message: str, exit_code: int) -> None:
        super().__init__(message)
        self.exit_code = exit_code


class RunError(OnnxcError):
    """A model refused a call. status: the number of runtime/include/onnxc.h, such as 6 for wrong dims."""

    def __init__(self, message: str, status: int) -> None:
        super().__init__(message)
        self.status = status


def counted(number: int, noun: str) -> str:
    """The text of a message, as support/count_text.h writes it: "1 sample", "2 samples"."""
    return f"{number} {noun}{'' if number == 1 else 's'}"


def counted_are(number: int, noun: str) -> str:
    """The same with its verb: "1 sample is", "2 samples are"."""
    return f"{counted(number, noun)} {'is' if number == 1 else 'are'}"
