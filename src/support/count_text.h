// Numbers of things in messages: "1 window", "2 windows".
#pragma once

#include <fmt/format.h>

#include <concepts>
#include <string>
#include <string_view>

namespace onnxc {

// `noun`: of one. Its plural takes an s, or es after a hiss, but for "axis" and what else ends so ("axes"), and "leaf".
template <std::integral Number>
std::string counted(Number number, std::string_view noun) {
  if (number == 1) return fmt::format("1 {}", noun);
  const auto without = [&](size_t letters) { return noun.substr(0, noun.size() - letters); };
  if (noun.ends_with("is")) return fmt::format("{} {}es", number, without(2));
  if (noun.ends_with("leaf")) return fmt::format("{} {}ves", number, without(1));
  return fmt::format("{} {}{}", number, noun, noun.ends_with("s") || noun.ends_with("x") ? "es" : "s");
}

// For an expression's text: "N channels", "1 channel".
inline std::string counted(const std::string& number, std::string_view noun) {
  return number == "1" ? counted(1, noun) : number + counted(2, noun).substr(1);
}

// With the verb: "1 axis is", "2 axes are".
template <std::integral Number>
std::string counted_are(Number number, std::string_view noun) {
  return counted(number, noun) + (number == 1 ? " is" : " are");
}

}  // namespace onnxc
