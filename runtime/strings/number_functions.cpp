// Numbers in strings and strings of numbers. libc reads and writes their digits, in the "C" locale whatever the
// process has.
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <algorithm>

#include "strings/made_string.h"
#include "strings/string_functions.h"

namespace onnxc::runtime {
namespace {

constexpr int64_t longest_number = 4096;  // characters of a text that is read as one

// glibc has it ready: nothing is allocated, and it is never freed.
locale_t c_locale() { return newlocale(LC_ALL_MASK, "C", nullptr); }

Text without_spaces(Text text) {
  while (text.size > 0 && is_space(text.data[0])) ++text.data, --text.size;
  while (text.size > 0 && is_space(text.data[text.size - 1])) --text.size;
  return text;
}

void refuse_number(const Frame& frame) {
  frame.strings->fail(ONNXC_INVALID_DATA, "a string is not a number, such as \"3.14\", \"1e-5\", \"INF\" or \"NaN\"");
}

bool equals_name(Text text, const char* name) {
  const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; };
  int64_t i = 0;
  for (; i < text.size && name[i] != 0; ++i)
    if (lower(text.data[i]) != name[i]) return false;
  return i == text.size && name[i] == 0;
}

// Digits, a point, an exponent: not the hexadecimal numbers and other names that libc reads as well.
bool has_form_of_number(Text text) {
  return text.size > 0 && std::all_of(text.data, text.data + text.size, [](char c) {
           return (c >= '0' && c <= '9') || c == '+' || c == '-' || c == '.' || c == 'e' || c == 'E';
         });
}

// A whole number without a sign; false for another text, and for one beyond 64 bits.
bool read_whole(Text text, uint64_t& value) {
  value = 0;
  for (int64_t i = 0; i < text.size; ++i) {
    const char c = text.data[i];
    if (c < '0' || c > '9' || __builtin_mul_overflow(value, 10, &value) ||
        __builtin_add_overflow(value, static_cast<uint64_t>(c - '0'), &value))
      return false;
  }
  return text.size > 0;
}

// The digits d.ddd...e+xx of a number, with as few digits as read back as it (`reads_back`).
template <class ReadsBack>
int shortest(char (&digits)[64], double value, int most, ReadsBack reads_back) {
  const locale_t locale = c_locale(), before = uselocale(locale);
  int length = 0;
  for (int precision = 0; precision < most; ++precision) {
    length = snprintf(digits, sizeof digits, "%.*e", precision, value);
    if (reads_back(strtod_l(digits, nullptr, locale))) break;
  }
  uselocale(before);
  return length;
}

int64_t plain_text(const Frame& frame, const char* scientific, int length) {
  char* const bytes = frame.strings->room(512);  // 309 digits before the point, or 324 + 17 after it
  if (bytes == nullptr) return no_memory(frame);
  const char* const end = scientific + length;
  const char* const e = std::find(scientific, end, 'e');
  int exponent = 0;
  for (const char* at = e + 2; at < end; ++at) exponent = 10 * exponent + (*at - '0');
  if (e[1] == '-') exponent = -exponent;
  char digits[32];
  int count = 0;
  for (const char* at = scientific; at < e; ++at)
    if (*at >= '0' && *at <= '9') digits[count++] = *at;
  char* to = bytes;
  if (*scientific == '-') *to++ = '-';
  if (exponent < 0) {
    *to++ = '0';
    *to++ = '.';
    for (int i = 1; i < -exponent; ++i) *to++ = '0';
    to = std::copy(digits, digits + count, to);
  } else {
    for (int i = 0; i <= exponent || i < count; ++i) {
      if (i == exponent + 1) *to++ = '.';
      *to++ = i < count ? digits[i] : '0';
    }
  }
  return made(frame, {bytes, to - bytes});
}

int64_t text_of_name(const Frame& frame, const char* name) {
  const int64_t handle = frame.strings->intern({name, static_cast<int64_t>(strlen(name))});
  return handle < 0 ? no_memory(frame) : handle;
}

template <class ReadsBack>
int64_t text_of_number(const Frame& frame, double value, int most, ReadsBack reads_back) {
  if (value != value) return text_of_name(frame, "NaN");
  if (value - value != 0) return text_of_name(frame, value > 0 ? "INF" : "-INF");
  char digits[64];
  const int length = shortest(digits, value, most, reads_back);
  return plain_text(frame, digits, length);
}

int64_t text_of_whole(const Frame& frame, bool is_negative, uint64_t magnitude) {
  constexpr int64_t most = 24;
  char* const bytes = frame.strings->room(most);
  if (bytes == nullptr) return no_memory(frame);
  char* at = bytes + most;
  do *--at = static_cast<char>('0' + magnitude % 10);
  while ((magnitude /= 10) != 0);
  if (is_negative) *--at = '-';
  const int64_t size = bytes + most - at;
  memmove(bytes, at, static_cast<size_t>(size));
  return made(frame, {bytes, size});
}

}  // namespace

double string_number_of(const Frame& frame, int64_t handle) {
  const Text text = without_spaces(written_text(frame, handle));
  const bool has_sign = text.size > 0 && (text.data[0] == '+' || text.data[0] == '-');
  const double sign = has_sign && text.data[0] == '-' ? -1 : 1;
  const Text magnitude = has_sign ? Text{text.data + 1, text.size - 1} : text;
  if (equals_name(magnitude, "inf") || equals_name(magnitude, "infinity")) return sign * __builtin_inf();
  if (equals_name(magnitude, "nan")) return __builtin_nan("");
  char copy[longest_number + 1];
  char* end = copy;
  double value = 0;
  if (has_form_of_number(text) && text.size <= longest_number) {
    memcpy(copy, text.data, static_cast<size_t>(text.size));
    copy[text.size] = 0;
    value = strtod_l(copy, &end, c_locale());
  }
  if (end == copy || *end != 0) {
    refuse_number(frame);
    return 0;
  }
  return value;
}

int64_t string_integer_of(const Frame& frame, int64_t handle) {
  Text text = without_spaces(written_text(frame, handle));
  const bool has_sign = text.size > 0 && (text.data[0] == '+' || text.data[0] == '-');
  const bool is_negative = has_sign && text.data[0] == '-';
  if (has_sign) text = {text.data + 1, text.size - 1};
  uint64_t magnitude;
  if (read_whole(text, magnitude) && magnitude <= uint64_t{INT64_MAX} + (is_negative ? 1 : 0))
    return static_cast<int64_t>(is_negative ? 0 - magnitude : magnitude);
  const double value = string_number_of(frame, handle);
  if (value != value) return 0;
  return value >= 0x1p63 ? INT64_MAX : value < -0x1p63 ? INT64_MIN : static_cast<int64_t>(value);
}

uint64_t string_unsigned_of(const Frame& frame, int64_t handle) {
  uint64_t magnitude;
  if (read_whole(without_spaces(written_text(frame, handle)), magnitude)) return magnitude;
  const double value = string_number_of(frame, handle);
  if (value < 0) return static_cast<uint64_t>(string_integer_of(frame, handle));
  return value >= 0x1p64 ? UINT64_MAX : value == value ? static_cast<uint64_t>(value) : 0;
}

int64_t string_text_of_float(const Frame& frame, float value) {
  constexpr int most = 9;
  return text_of_number(frame, static_cast<double>(value), most,
                        [value](double read) { return static_cast<float>(read) == value; });
}

int64_t string_text_of_double(const Frame& frame, double value) {
  constexpr int most = 17;
  return text_of_number(frame, value, most, [value](double read) { return read == value; });
}

int64_t string_text_of_integer(const Frame& frame, int64_t value) {
  return text_of_whole(frame, value < 0, value < 0 ? 0 - static_cast<uint64_t>(value) : static_cast<uint64_t>(value));
}

int64_t string_text_of_unsigned(const Frame& frame, uint64_t value) { return text_of_whole(frame, false, value); }

}  // namespace onnxc::runtime
