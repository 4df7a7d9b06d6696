#include "ir/loops/string_functions.h"

#include <algorithm>
#include <array>

namespace onnxc {
namespace {

using enum DType;
using enum StringFunction;

constexpr DType text[] = {string}, two_texts[] = {string, string};
constexpr DType split[] = {string, string, int64}, split_part[] = {string, string, int64, int64};
constexpr DType real[] = {float32}, wide_real[] = {float64}, whole[] = {int64}, natural[] = {uint64};

constexpr std::array rows = {
    StringFunctionRow{concatenate, "concatenate", two_texts, string},
    StringFunctionRow{precedes, "precedes", two_texts, boolean},
    StringFunctionRow{to_lower, "to_lower", text, string},
    StringFunctionRow{to_upper, "to_upper", text, string},
    StringFunctionRow{count_parts, "count_parts", split, int64},
    StringFunctionRow{part, "part", split_part, string},
    StringFunctionRow{number_of, "number_of", text, float64},
    StringFunctionRow{integer_of, "integer_of", text, int64},
    StringFunctionRow{unsigned_of, "unsigned_of", text, uint64},
    StringFunctionRow{text_of_float, "text_of_float", real, string},
    StringFunctionRow{text_of_double, "text_of_double", wide_real, string},
    StringFunctionRow{text_of_integer, "text_of_integer", whole, string},
    StringFunctionRow{text_of_unsigned, "text_of_unsigned", natural, string},
};

constexpr bool is_in_order() {
  for (size_t i = 0; i < rows.size(); ++i)
    if (rows[i].function != static_cast<StringFunction>(i)) return false;
  return rows.back().function == text_of_unsigned;
}
static_assert(is_in_order(), "a row for each function, in the order of StringFunction");

}  // namespace

const StringFunctionRow& row(StringFunction function) { return rows.at(static_cast<size_t>(function)); }

const StringFunctionRow* find_string_function(std::string_view name) {
  const auto* const found = std::ranges::find(rows, name, &StringFunctionRow::name);
  return found == rows.end() ? nullptr : found;
}

}  // namespace onnxc
