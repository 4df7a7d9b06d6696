#include "strings/string_functions.h"

#include <string.h>

#include <algorithm>

#include "strings/made_string.h"

namespace onnxc::runtime {
namespace {

// Walks the parts of a text from the left.
class Splitter {
 public:
  Splitter(Text text, Text delimiter, int64_t most) : text_(text), delimiter_(delimiter), most_(most) {}
  // Goes on after the part of a number, which began at an offset.
  void resume(int64_t number, int64_t begin) {
    number_ = number - 1;
    next_ = begin;
  }

  // Goes to the next part; false after the last.
  bool advance() {
    if (is_over_) return false;
    begin_ = next_;
    if (delimiter_.size == 0) {
      while (begin_ < text_.size && is_space(text_.data[begin_])) ++begin_;
      if (begin_ == text_.size) return false;
    }
    ++number_;
    find_end();
    return true;
  }

  int64_t number() const { return number_; }
  int64_t begin() const { return begin_; }
  Text part() const { return {text_.data + begin_, end_ - begin_}; }

 private:
  void find_end() {
    end_ = text_.size;
    is_over_ = true;
    if (number_ >= most_) return;  // all that is left
    if (delimiter_.size == 0) {
      end_ = begin_;
      while (end_ < text_.size && !is_space(text_.data[end_])) ++end_;
      next_ = end_;
      is_over_ = false;
      return;
    }
    for (int64_t at = begin_; at <= text_.size - delimiter_.size; ++at) {
      if (memcmp(text_.data + at, delimiter_.data, static_cast<size_t>(delimiter_.size)) != 0) continue;
      end_ = at;
      next_ = at + delimiter_.size;
      is_over_ = false;
      return;
    }
  }

  Text text_, delimiter_;
  int64_t most_;
  int64_t number_ = -1, begin_ = 0, end_ = 0, next_ = 0;
  bool is_over_ = false;
};

}  // namespace

int64_t string_concatenate(const Frame& frame, int64_t a, int64_t b) {
  const Text left = written_text(frame, a), right = written_text(frame, b);
  if (left.size == 0) return b;
  if (right.size == 0) return a;
  int64_t size;
  if (__builtin_add_overflow(left.size, right.size, &size)) return no_memory(frame);
  char* const bytes = frame.strings->room(size);
  if (bytes == nullptr) return no_memory(frame);
  memcpy(bytes, left.data, static_cast<size_t>(left.size));
  memcpy(bytes + left.size, right.data, static_cast<size_t>(right.size));
  return made(frame, {bytes, size});
}

bool string_precedes(const Frame& frame, int64_t a, int64_t b) {
  const Text left = written_text(frame, a), right = written_text(frame, b);
  const int64_t shared = std::min(left.size, right.size);
  const int order = shared == 0 ? 0 : memcmp(left.data, right.data, static_cast<size_t>(shared));
  return order != 0 ? order < 0 : left.size < right.size;
}

int64_t string_count_parts(const Frame& frame, int64_t text, int64_t delimiter, int64_t most) {
  Splitter splitter(written_text(frame, text), written_text(frame, delimiter), most);
  int64_t count = 0;
  while (splitter.advance()) ++count;
  return count;
}

int64_t string_part(const Frame& frame, int64_t text, int64_t delimiter, int64_t most, int64_t number) {
  // Parts are asked for in their order: from the one before on, a text is walked once.
  InternedStrings::LastPart& last = frame.strings->last_part;
  Splitter splitter(written_text(frame, text), written_text(frame, delimiter), most);
  if (last.text == text && last.delimiter == delimiter && last.most == most && last.number <= number)
    splitter.resume(last.number, last.begin);
  while (splitter.number() < number)
    if (!splitter.advance()) return 0;
  last = {text, delimiter, most, number, splitter.begin()};
  const int64_t handle = frame.strings->intern(splitter.part());
  return handle < 0 ? no_memory(frame) : handle;
}

}  // namespace onnxc::runtime
