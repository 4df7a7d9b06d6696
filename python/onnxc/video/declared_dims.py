"""Sizes that follow from a model's declared dims, such as "2*H + 1", and the sizes of its input."""

import ast
import operator
from collections.abc import Callable, Mapping, Sequence

Dims = Sequence[int | str]

OPERATORS: Mapping[type[ast.operator], Callable[[int, int], int]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
}
FUNCTIONS: Mapping[str, Callable[..., int]] = {"min": min, "max": max}


class Unknown(Exception):
    """A size that does not follow from the symbols."""


def symbols_of(declared: Dims, shape: Sequence[int]) -> dict[str, int]:
    """The values of the symbols that are a declared dim each, or the only one in it: "H", and "16*(H//16)"."""
    found: dict[str, int] = {}
    for dim, size in zip(declared, shape, strict=True):
        names = _names(dim)
        if len(names) == 1 and size_of(dim, {names[0]: size}) == size:
            found.setdefault(names[0], size)
    return found


def size_of(dim: int | str, symbols: Mapping[str, int]) -> int | None:
    """The dim's size. None if a symbol has no value, or its name is not a name in Python."""
    if isinstance(dim, int):
        return dim
    try:
        return _value(ast.parse(dim, mode="eval").body, symbols)
    except (SyntaxError, Unknown, ZeroDivisionError):
        return None


def fits(shape: Sequence[int], declared: Dims, symbols: Mapping[str, int]) -> bool:
    """Whether a value of the shape can be given; dims that do not follow from the symbols take any size."""
    return len(shape) == len(declared) and all(
        size_of(dim, symbols) in (None, size) for dim, size in zip(declared, shape, strict=True)
    )


def text_of(dims: Dims) -> str:
    """Such as "1x16x2xHxW"."""
    return "x".join(map(str, dims))


def _names(dim: int | str) -> list[str]:
    if isinstance(dim, int):
        return []
    try:
        nodes = ast.walk(ast.parse(dim, mode="eval"))
    except SyntaxError:
        return []
    return sorted({node.id for node in nodes if isinstance(node, ast.Name)} - set(FUNCTIONS))


def _value(node: ast.expr, symbols: Mapping[str, int]) -> int:
    match node:
        case ast.Constant(value=int(value)):
            return value
        case ast.Name(id=name) if name in symbols:
            return symbols[name]
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return -_value(operand, symbols)
        case ast.BinOp(left=left, op=op, right=right) if type(op) in OPERATORS:
            return OPERATORS[type(op)](_value(left, symbols), _value(right, symbols))
        case ast.Call(func=ast.Name(id=name), args=arguments) if name in FUNCTIONS and arguments:
            return FUNCTIONS[name](*[_value(argument, symbols) for argument in arguments])
    raise Unknown
