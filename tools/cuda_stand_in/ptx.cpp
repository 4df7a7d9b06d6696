#include "cuda_stand_in/ptx.h"

#include <cctype>
#include <charconv>

#include "cuda_stand_in/errors.h"

namespace cuda_stand_in {
namespace {

using gpu_streams::Refusal;

Refusal not_ptx(const std::string& what) { return Refusal(invalid_ptx, "the module's text is not PTX: " + what); }

// The words of the text: directives and names with their dots and signs, numbers, and single marks; without comments.
class Words {
 public:
  explicit Words(std::string_view text) : text_(text) { advance(); }

  std::string_view current() const { return word_; }  // empty at the end
  std::string_view take() {
    const std::string_view taken = word_;
    if (taken.empty()) throw not_ptx("it ends in the middle of a declaration");
    advance();
    return taken;
  }
  void expect(std::string_view word) {
    if (take() != word) throw not_ptx("a '" + std::string(word) + "' is missing");
  }
  int64_t number() {
    const std::string_view word = take();
    int64_t value = 0;
    if (std::from_chars(word.begin(), word.end(), value).ec != std::errc()) throw not_ptx("a number is missing");
    return value;
  }

 private:
  static bool is_of_word(char letter) {
    return std::isalnum(static_cast<unsigned char>(letter)) || letter == '_' || letter == '.' || letter == '$' ||
           letter == '%';
  }
  void skip_to(std::string_view end) {
    const size_t found = text_.find(end, at_);
    at_ = found == std::string_view::npos ? text_.size() : found + end.size();
  }
  void advance() {
    while (at_ < text_.size()) {
      if (text_.substr(at_, 2) == "//") {
        skip_to("\n");
      } else if (text_.substr(at_, 2) == "/*") {
        skip_to("*/");
      } else if (text_[at_] == '"') {
        ++at_;
        skip_to("\"");
      } else if (std::isspace(static_cast<unsigned char>(text_[at_]))) {
        ++at_;
      } else {
        break;
      }
    }
    size_t end = at_;
    while (end < text_.size() && is_of_word(text_[end])) ++end;
    if (end == at_ && at_ < text_.size()) ++end;
    word_ = text_.substr(at_, end - at_);
    at_ = end;
  }

  std::string_view text_, word_;
  size_t at_ = 0;
};

size_t bytes_of_type(std::string_view type) {
  size_t bits = 0;
  const size_t digit = type.find_first_of("0123456789");
  if (digit == std::string_view::npos || std::from_chars(type.begin() + digit, type.end(), bits).ec != std::errc() ||
      bits < 8)
    throw not_ptx("a parameter has the type '" + std::string(type) + "'");
  return bits / 8;
}

// .param .align 8 .b8 name[48]   or   .param .u64 name
PtxParameter take_parameter(Words& words, size_t begin) {
  words.expect(".param");
  size_t alignment = 0;
  if (words.current() == ".align") {
    words.take();
    alignment = static_cast<size_t>(words.number());
  }
  size_t bytes = bytes_of_type(words.take());
  if (alignment == 0) alignment = bytes;
  words.take();
  if (words.current() == "[") {
    words.take();
    bytes *= static_cast<size_t>(words.number());
    words.expect("]");
  }
  if (alignment == 0 || (alignment & (alignment - 1)) != 0) throw not_ptx("an alignment is not a power of two");
  return {(begin + alignment - 1) / alignment * alignment, bytes};
}

void take_kernel(Words& words, PtxModule& module) {
  PtxKernel& kernel = module.kernels[std::string(words.take())];
  if (words.current() == "(") {
    words.take();
    while (words.current() != ")") {
      kernel.parameters.push_back(take_parameter(words, kernel.parameter_bytes()));
      if (words.current() == ",") words.take();
    }
    words.take();
  }
  for (; words.current() != "{" && words.current() != ";"; words.take())
    if (words.current() == ".maxntid" || words.current() == ".reqntid") {
      words.take();
      kernel.most_threads = static_cast<uint32_t>(words.number());
    }
}

}  // namespace

PtxModule read_ptx(std::string_view text) {
  PtxModule module;
  Words words(text);
  while (!words.current().empty()) {
    const std::string_view word = words.take();
    if (word == ".version") {
      const std::string version(words.take());  // "7.1"
      module.version = 10 * std::atoi(version.c_str());
      if (const size_t point = version.find('.'); point != std::string::npos)
        module.version += std::atoi(version.c_str() + point + 1);
    } else if (word == ".target") {
      const std::string target(words.take());  // "sm_90a"
      if (!target.starts_with("sm_")) throw not_ptx("the target is '" + target + "'");
      module.target = std::atoi(target.c_str() + 3);
      module.only_target = !std::isdigit(static_cast<unsigned char>(target.back()));
    } else if (word == ".entry") {
      take_kernel(words, module);
    }
  }
  if (module.version == 0 || module.target == 0) throw not_ptx("it lacks .version or .target");
  return module;
}

}  // namespace cuda_stand_in
