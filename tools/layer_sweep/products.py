"""Products of matrices, and what is made of them: recurrent layers and attention."""

import numpy as np

from tools.layer_sweep.layer import Parameters, Values
from tools.operator_timing import Array, Operator


def product(v: Values, p: Parameters) -> Operator | None:
    rows, inner, columns = p["sizes"]
    batch = (p["batch"],) if p["batch"] > 1 else ()
    a, b = v.normal(*batch, rows, inner, dtype=p["type"]), v.normal(inner, columns, dtype=p["type"])
    if p["right"] == "constant":
        return Operator("MatMul", {"a": a}, {"b": b})
    return Operator("MatMul", {"a": a, "b": v.normal(*batch, inner, columns, dtype=p["type"])})


def general_product(v: Values, p: Parameters) -> Operator:
    rows, inner, columns = p["sizes"]
    a = v.normal(*((inner, rows) if p["transposes a"] else (rows, inner)))
    b = v.normal(*((columns, inner) if p["transposes b"] else (inner, columns)))
    return Operator("Gemm", {"a": a}, {"b": b, "c": v.normal(columns)},
                    attributes={"transA": int(p["transposes a"]), "transB": int(p["transposes b"])})  # fmt: skip


def byte_product(v: Values, p: Parameters) -> Operator:
    rows, inner, columns = p["sizes"]
    a, b = v.whole(0, 256, rows, inner, dtype=np.uint8), v.whole(-127, 128, inner, columns, dtype=np.int8)
    if p["type of product"] == "MatMulInteger":
        return Operator("MatMulInteger", {"a": a}, {"b": b})
    number, zero = np.array(0.01, np.float32), np.array(128, np.uint8)
    return Operator(
        "QLinearMatMul",
        {"a": a},
        {"as": number, "az": zero, "b": b, "bs": number, "bz": np.array(0, np.int8), "ys": number * 50, "yz": zero},
    )


def sums_of_products(v: Values, p: Parameters) -> Operator:
    terms = p["equation"].split("->")[0].split(",")
    sizes = {"b": 4, "h": 8, "i": 64, "j": 96, "k": 48, "c": 32, "d": 16}
    inputs = {f"x{n}": v.normal(*(sizes[letter] for letter in term)) for n, term in enumerate(terms)}
    dims = {f"x{n}": tuple(term) for n, term in enumerate(terms)}
    return Operator("Einsum", inputs, attributes={"equation": p["equation"]}, dims=dims)


def recurrent(v: Values, p: Parameters) -> Operator:
    gates = {"LSTM": 4, "GRU": 3, "RNN": 1}[p["operator"]]
    both, hidden, width = (2 if p["direction"] == "bidirectional" else 1), p["hidden"], p["width"]
    constants: dict[str, Array | None] = {
        "w": v.normal(both, gates * hidden, width) / 10,
        "r": v.normal(both, gates * hidden, hidden) / 10,
        "b": v.normal(both, 2 * gates * hidden),
    }
    outputs = 3 if p["operator"] == "LSTM" else 2
    return Operator(p["operator"], {"x": v.normal(p["steps"], p["batch"], width)}, constants, outputs,
                    attributes={"hidden_size": hidden, "direction": p["direction"]})  # fmt: skip


def attention(v: Values, p: Parameters) -> Operator:
    def heads(length: int) -> Array:
        return v.normal(p["batch"], p["heads"], length, p["width"])

    inputs = {"q": heads(p["queries"]), "k": heads(p["keys"]), "v": heads(p["keys"])}
    return Operator("Attention", inputs, opset=23, attributes={"is_causal": int(p["causal"])})
