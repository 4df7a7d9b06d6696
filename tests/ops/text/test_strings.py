"""Operators of strings, and what else takes strings: copies, comparisons, choices."""

from typing import Any

import numpy as np
import pytest

from models.tensor_files import Array
from tests.ops.case import Case, Constant, case, graph_case, ints
from tests.ops.text.string_table import table_test, texts

WORDS = texts("alpha", "", "β", "a\0b", "alpha ", "long " * 50, "日本語", "Alpha", "b", "alpha")
GRID = np.array([["a", "bc", ""], ["d", "a", "é"]], object)


def broken_utf8() -> Array:
    """Bytes that are not text, as Python has them."""
    return texts(b"\xff\xfe".decode(errors="surrogateescape"), "x")


def moves() -> list[Case]:
    """ONNX's own meaning, by numpy: onnxruntime lacks strings for some."""

    def given(op: str, inputs: list[Any], expected: list[Array], name: str = "", **attributes: Any) -> Case:
        return case(op, *inputs, expected=expected, outputs=len(expected), name=f"{name} strings".strip(), **attributes)

    where = np.array([[True, False, True]])
    return [
        given("Identity", [WORDS], [WORDS]),
        given("Reshape", [GRID, ints(3, 2)], [GRID.reshape(3, 2)]),
        given("Flatten", [GRID], [GRID]),
        given("Squeeze", [GRID[:, None], ints(1)], [GRID]),
        given("Unsqueeze", [GRID, ints(0)], [GRID[None]]),
        given("Transpose", [GRID], [GRID.T], perm=[1, 0]),
        given("Gather", [GRID, np.array([2, 0, -1])], [GRID[:, [2, 0, 2]]], axis=1),
        given("GatherElements", [GRID, np.array([[1, 0, 1]])], [np.array([["d", "bc", "é"]], object)]),
        given("GatherND", [GRID, Constant(np.array([[1, 0], [0, 1]]))], [texts("d", "bc")]),
        given("ScatterElements", [GRID, np.array([[1]]), texts("new")[None]],
              [np.array([["a", "bc", ""], ["new", "a", "é"]], object)]),
        given("Slice", [WORDS, ints(1), ints(8), ints(0), ints(3)], [WORDS[1:8:3]]),
        given("Split", [GRID, ints(1, 2)], [GRID[:, :1], GRID[:, 1:]], axis=1),
        given("Concat", [GRID, GRID[:1]], [np.concatenate([GRID, GRID[:1]])], axis=0),
        given("Concat", [WORDS, Constant(texts("constant"))], [texts(*WORDS, "constant")], "constant", axis=0),
        given("Expand", [GRID[:1], ints(2, 3)], [np.repeat(GRID[:1], 2, 0)]),
        given("Tile", [GRID, ints(1, 2)], [np.tile(GRID, (1, 2))]),
        given("Where", [where, GRID, texts("other")[None]], [np.where(where, GRID, "other").astype(object)]),
        given("Pad", [GRID, ints(0, 1, 0, 0), Constant(np.array("pad", object))],
              [np.pad(GRID, [(0, 0), (1, 0)], constant_values="pad")]),
        given("Pad", [GRID, ints(0, 1, 0, 0)], [np.pad(GRID, [(0, 0), (1, 0)], constant_values="")], "empty"),
        given("Compress", [WORDS, np.array([True, False, True])], [texts("alpha", "β")]),
        given("Shape", [GRID], [np.array([2, 3])]),
    ]  # fmt: skip


def cases() -> list[Case]:
    return [
        *moves(),
        case("Equal", WORDS, texts(*WORDS[::-1])),
        case("Equal", GRID, texts("a", "x", "")[None], name="broadcast"),
        case("Equal", GRID, Constant(texts("a", "x", "é")), name="constant"),
        case("Equal", texts(), texts(), name="empty"),
        case("StringConcat", WORDS, texts(*WORDS[::-1])),
        case("StringConcat", GRID, texts("-")[None], name="broadcast"),
        case("StringConcat", texts(), texts("x"), name="empty"),
        case("StringConcat", broken_utf8(), texts("y"), name="bytes",
             expected=[texts(b"\xff\xfey".decode(errors="surrogateescape"), "xy")]),
        graph_case("StringConcat of itself", [("StringConcat", "x x", "a"), ("StringConcat", "a x", "b"),
                                              ("Equal", "b z", "y")],
                   {"x": texts("ab", ""), "z": texts("ababab", "")}, {}, expected=(np.array([True, True]),)),
        case("TfIdfVectorizer", texts("a", "b", "a", "c", "a", "b"), mode="TF", min_gram_length=1, max_gram_length=2,
             max_skip_count=0, ngram_counts=[0, 2], ngram_indexes=[0, 1, 2], pool_strings=["a", "x", "a", "b"]),
        *splits(),
        *normalizers(),
        case("Unique", WORDS, outputs=4, expected=unique(WORDS)),
        case("Unique", texts("b", "a", "b"), outputs=1, name="unsorted", sorted=0, expected=[texts("b", "a")]),
    ]  # fmt: skip


def unique(values: Array) -> list[Array]:
    encoded = np.array([value.encode() for value in values], object)
    _, first, inverse, counts = np.unique(encoded, return_index=True, return_inverse=True, return_counts=True)
    return [values[first], first, inverse, counts]


def splits() -> list[Case]:
    sentences = texts("a,b,,c", ",", "none", "a,", ",,x,")
    spaced = texts("  two words ", "one", " \t\n", "a  b   c d")
    # ONNX's text says Python's split; onnxruntime finds no part in an empty string.
    return [
        case("StringSplit", sentences, outputs=2, delimiter=","),
        case("StringSplit", sentences, outputs=2, name="twice", delimiter=",", maxsplit=2),
        case("StringSplit", sentences, outputs=2, name="never", delimiter=",", maxsplit=0),
        case("StringSplit", texts("a--b---c", "--"), outputs=2, name="long delimiter", delimiter="--"),
        case("StringSplit", texts("", "a"), outputs=2, name="empty string", delimiter=",",
             expected=[np.array([[""], ["a"]], object), np.array([1, 1])]),
        case("StringSplit", spaced, outputs=2, name="white space",
             expected=[np.array([["two", "words", "", ""], ["one", "", "", ""], [""] * 4, list("abcd")], object),
                       np.array([2, 1, 0, 4])]),
        case("StringSplit", spaced, outputs=2, name="white space once", maxsplit=1,
             expected=[np.array([["two", "words "], ["one", ""], ["", ""], ["a", "b   c d"]], object),
                       np.array([2, 1, 0, 2])]),
        case("StringSplit", GRID[:, :2], outputs=2, name="rank 2", delimiter="c"),
        case("StringSplit", texts(), outputs=2, name="nothing", delimiter=",",
             expected=[np.zeros((0, 0), object), np.zeros(0, np.int64)]),
    ]  # fmt: skip


def normalizers() -> list[Case]:
    # Unicode's full mapping, which is Python's; onnxruntime asks the C library for one character at a time.
    letters = texts("Straße", "İstanbul", "ΣΟΦΙΑ", "ǆ", "ﬁx", "NAÏVE ÉTÉ", "数字 12", "𐐀𐐨", "ß")
    lower = [each.lower() for each in letters]
    days = texts("monday", "Tuesday", "MONDAY", "wednesday")
    return [
        case("StringNormalizer", letters, name="upper", case_change_action="UPPER",
             expected=[texts(*(each.upper() for each in letters))]),
        case("StringNormalizer", letters, name="lower", case_change_action="LOWER", expected=[texts(*lower)]),
        case("StringNormalizer", broken_utf8(), name="bytes", case_change_action="UPPER",
             expected=[texts(b"\xff\xfe".decode(errors="surrogateescape"), "X")]),
        case("StringNormalizer", days, name="nothing"),
        case("StringNormalizer", days, name="stop words", is_case_sensitive=1, stopwords=["monday"]),
        case("StringNormalizer", days, name="stop words of any case", stopwords=["Monday"], case_change_action="LOWER"),
        case("StringNormalizer", days[None], name="rank 2", stopwords=["monday", "x"], case_change_action="UPPER"),
        case("StringNormalizer", days[:1], name="nothing left", stopwords=["MONDAY"], expected=[texts("")]),
        case("StringNormalizer", days[None, :1], name="nothing left of rank 2", stopwords=["MONDAY"],
             expected=[texts("")[None]]),
    ]  # fmt: skip


test_strings = table_test(cases())


def casts() -> list[Case]:
    numbers = ["3.14", " 1e-5", "1E8 ", "-0", "INF", "+inf", "-Inf", "nan", ".5", "1e400", "4.9e-324", "7"]
    wholes = ["0", "-12", "+9223372036854775807", "-9223372036854775808", " 42 ", "100.5", "1e3"]
    found = [
        case("Cast", texts(*numbers), name=name, to=to, expected=[np.array(list(map(float, numbers))).astype(kind)])
        for name, to, kind in (("float32", 1, np.float32), ("float64", 11, np.float64), ("float16", 10, np.float16))
    ]  # fmt: skip
    found += [
        case("Cast", texts(*wholes), name="int64", to=7,
             expected=[np.array([0, -12, 2**63 - 1, -(2**63), 42, 100, 1000])]),
        case("Cast", texts("18446744073709551615", "0"), name="uint64", to=13,
             expected=[np.array([2**64 - 1, 0], np.uint64)]),
        case("Cast", texts("0", "1"), name="bool", to=9, expected=[np.array([False, True])]),
        case("CastLike", texts("2.5"), np.zeros(1, np.float32)),
        case("Cast", np.array([-(2**63), 0, 12]), name="of int64", to=8),
        case("Cast", np.array([2**64 - 1, 7], np.uint64), name="of uint64", to=8),
        case("Cast", np.array([-128, 5], np.int8), name="of int8", to=8),
        case("Cast", np.array([True, False]), name="of bool", to=8),
    ]  # fmt: skip
    floats = {
        0.1: "0.1", 314.15926: "314.15926", -2.0: "-2", 1e-5: "0.00001", 1.5e10: "15000000000", -0.0: "-0",
        float("inf"): "INF", float("-inf"): "-INF", float("nan"): "NaN", 1 / 3: "0.3333333333333333",
        5e-324: "0." + "0" * 323 + "5", 1.7976931348623157e308: "17976931348623157" + "0" * 292,
    }  # fmt: skip
    found.append(case("Cast", np.array(list(floats)), name="of float64", to=8, expected=[texts(*floats.values())]))
    singles = np.array([0.1, 1 / 3, 16777216, 1e-3, 3.4028235e38], np.float32)
    found.append(
        case("Cast", singles, name="of float32", to=8,
             expected=[texts("0.1", "0.33333334", "16777216", "0.001", "34028235" + "0" * 31)])
    )  # fmt: skip
    return found


test_casts = table_test(casts())


@pytest.mark.parametrize("text", ["", "Hello", "1,5", "0x10", "1e", "--1", "nano", "1 2"])
def test_what_is_no_number_ends_the_run(text: str, string_to_float: Any) -> None:
    with pytest.raises(Exception, match=r"in the_cast: a string is not a number, such as \"3.14\"") as failure:
        string_to_float.run(None, {"x": texts("1", text)})
    assert "INVALID" not in str(failure.value)
    np.testing.assert_array_equal(string_to_float.run(None, {"x": texts("1", "2")})[0], [1, 2])
