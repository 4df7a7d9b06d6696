// Lower and upper case.
#include <algorithm>
#include <iterator>

#include "strings/case_table.h"
#include "strings/made_string.h"
#include "strings/string_functions.h"

namespace onnxc::runtime {
namespace {

// The longest that a character's bytes grow: "ΐ" of two bytes becomes three characters of two.
constexpr int64_t most_growth = 3;

struct Character {
  uint32_t code;
  int length;  // in bytes; 0 for bytes that are not UTF-8
};

Character decode(const char* at, int64_t left) {
  const auto byte = [&](int i) { return static_cast<uint32_t>(static_cast<unsigned char>(at[i])); };
  const uint32_t first = byte(0);
  if (first < 0x80) return {first, 1};
  const int length = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
  if (first < 0xc2 || first > 0xf4 || length > left) return {0, 0};
  uint32_t code = first & (0x7fu >> length);
  for (int i = 1; i < length; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return {0, 0};
    code = code << 6 | (byte(i) & 0x3f);
  }
  constexpr uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
  if (code < least[length] || code > 0x10ffff || (code >= 0xd800 && code < 0xe000)) return {0, 0};
  return {code, length};
}

char* encode(uint32_t code, char* to) {
  const int more = code < 0x80 ? 0 : code < 0x800 ? 1 : code < 0x10000 ? 2 : 3;
  constexpr uint32_t marks[] = {0, 0xc0, 0xe0, 0xf0};
  *to++ = static_cast<char>(marks[more] | code >> (6 * more));
  for (int i = more - 1; i >= 0; --i) *to++ = static_cast<char>(0x80 | (code >> (6 * i) & 0x3f));
  return to;
}

struct CaseTable {
  const CaseRun *runs, *runs_end;
  const CaseExpansion *expansions, *expansions_end;

  char* append(uint32_t code, char* to) const {
    const CaseRun* const run =
        std::lower_bound(runs, runs_end, code, [](const CaseRun& a, uint32_t b) { return a.last < b; });
    if (run != runs_end && code >= run->first && (code - run->first) % run->stride == 0)
      return encode(code + static_cast<uint32_t>(run->distance), to);
    const CaseExpansion* const expansion = std::lower_bound(
        expansions, expansions_end, code, [](const CaseExpansion& a, uint32_t b) { return a.from < b; });
    if (expansion == expansions_end || expansion->from != code) return encode(code, to);
    for (const uint32_t each : expansion->to)
      if (each != 0) to = encode(each, to);
    return to;
  }
};

constexpr CaseTable lower = {std::begin(lower_runs), std::end(lower_runs), std::begin(lower_expansions),
                             std::end(lower_expansions)};
constexpr CaseTable upper = {std::begin(upper_runs), std::end(upper_runs), std::begin(upper_expansions),
                             std::end(upper_expansions)};

int64_t mapped(const Frame& frame, int64_t handle, const CaseTable& table) {
  const Text text = written_text(frame, handle);
  int64_t most;
  if (__builtin_mul_overflow(text.size, most_growth, &most)) return no_memory(frame);
  char* const bytes = frame.strings->room(most);
  if (bytes == nullptr) return no_memory(frame);
  char* to = bytes;
  for (int64_t i = 0; i < text.size;) {
    const Character character = decode(text.data + i, text.size - i);
    if (character.length == 0)
      *to++ = text.data[i];
    else
      to = table.append(character.code, to);
    i += std::max(character.length, 1);
  }
  return made(frame, {bytes, to - bytes});
}

}  // namespace

int64_t string_to_lower(const Frame& frame, int64_t text) { return mapped(frame, text, lower); }
int64_t string_to_upper(const Frame& frame, int64_t text) { return mapped(frame, text, upper); }

}  // namespace onnxc::runtime
