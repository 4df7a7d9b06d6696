// Reads the textual form of loop nests back: for tests of passes, which show nests before and after as text.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>

#include "ir/loops/loops.h"
#include "ir/text/cursor.h"

namespace onnxc {

// The meaning of the names of dims in a text: symbols, or such as 16*n for a dim that is a multiple of 16. A name that
// is new is a dim of at least 0.
using DimNames = std::map<std::string, Expr, std::less<>>;

Expr parse_index(std::string_view text, DimNames& dims);
// "[N, 2*D]"; the brackets are not part of the text.
Shape parse_shape(std::string_view text, DimNames& dims);

// Reads the text that to_string(LoopNest) writes. `dtype_of` gives the dtypes of the buffers, which the text of a nest
// does not hold. UserError naming the line (counted from `first_line`) and what is expected there.
LoopNest parse_nest(std::string_view text, const std::function<DType(BufferId)>& dtype_of, DimNames& dims,
                    size_t first_line = 1);

// A scalar over axes, as to_string(Scalar) writes it: the epilogue of a kernel, whose result is acc0, a float32.
Scalar parse_epilogue(TextCursor& cursor, const std::vector<Axis>& axes, const std::function<DType(BufferId)>& dtype_of,
                      DimNames& dims);

}  // namespace onnxc
