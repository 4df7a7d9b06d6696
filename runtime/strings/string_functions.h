// The functions of strings that steps of generated code call (src/ir/loops/string_functions.h). Strings are handles.
//
// Those that give a string add it to the run's, and are called by one thread at a time. A string that is not a number,
// or has not been written, ends the run after the step, with the empty string or 0 as the result until then; so does a
// lack of memory.
//
// C names: the code for a further CPU, which has another namespace, calls the same functions.
#pragma once

#include <stdint.h>

#include "base/model.h"

namespace onnxc::runtime {
extern "C" {

int64_t string_concatenate(const Frame& frame, int64_t a, int64_t b);
// Whether a comes before b in the order of their bytes.
bool string_precedes(const Frame& frame, int64_t a, int64_t b);

// Full case mapping of Unicode, character by character (case_table.h): without the rules of languages and of the
// characters around. Bytes that are not UTF-8 stay.
int64_t string_to_lower(const Frame& frame, int64_t text);
int64_t string_to_upper(const Frame& frame, int64_t text);

// ONNX StringSplit 20: the text split at each delimiter, from the left at most `most` times; if the delimiter is empty,
// at white space, which is one delimiter however long it is, and none at the text's ends.
int64_t string_count_parts(const Frame& frame, int64_t text, int64_t delimiter, int64_t most);
// The part of a number below that count.
int64_t string_part(const Frame& frame, int64_t text, int64_t delimiter, int64_t most, int64_t number);

// ONNX Cast from strings: "3.14", "1e-5", "INF", "-inf", "NaN", with white space around.
double string_number_of(const Frame& frame, int64_t text);
// The part of a number with a fraction before the point.
int64_t string_integer_of(const Frame& frame, int64_t text);
uint64_t string_unsigned_of(const Frame& frame, int64_t text);

// ONNX Cast to strings: the fewest digits that read back as the same number, without an exponent; "NaN", "INF", "-INF".
int64_t string_text_of_float(const Frame& frame, float value);
int64_t string_text_of_double(const Frame& frame, double value);
int64_t string_text_of_integer(const Frame& frame, int64_t value);
int64_t string_text_of_unsigned(const Frame& frame, uint64_t value);

}  // extern "C"
}  // namespace onnxc::runtime
