// Texts that tests expect, and the one way to rewrite them: with ONNXC_UPDATE_EXPECTED=$PWD in the environment, a test
// that finds another text writes it into its own source, in place of the raw literal that it expected.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <optional>
#include <source_location>
#include <string>
#include <string_view>

#include "support/safe_file.h"

namespace onnxc {

// The source with `found` in the raw literal that is `expected`; nothing if there is no such literal, or several.
inline std::optional<std::string> with_new_literal(const std::string& source, std::string_view expected,
                                                   std::string_view found) {
  const std::string literal = "R\"(" + std::string(expected) + ")\"";
  const size_t place = source.find(literal);
  if (place == std::string::npos || source.find(literal, place + 1) != std::string::npos) return std::nullopt;
  return std::string(source).replace(place, literal.size(), "R\"(" + std::string(found) + ")\"");
}

// `root` is the checkout; the name that a compiler gives a source may be relative to any folder.
inline std::string rewrite_expected(const std::filesystem::path& root, std::string_view file, std::string_view expected,
                                    std::string_view found) {
  const std::filesystem::path source = root / file.substr(file.rfind("tests/"));
  if (const auto updated = with_new_literal(std::string(map_file(source)->text()), expected, found)) {
    write_file(source, *updated);
    return source.string() + " is rewritten: look at the difference, then build and test again";
  }
  return source.string() + " has the expected text not once as a raw literal: edit it by hand";
}

// EXPECT_EQ of a text and a raw literal in the source of the caller.
inline void expect_text(const std::string& found, std::string_view expected,
                        std::source_location where = std::source_location::current()) {
  const testing::ScopedTrace trace(where.file_name(), static_cast<int>(where.line()), "expected here");
  EXPECT_EQ(found, expected);
  const char* root = std::getenv("ONNXC_UPDATE_EXPECTED");
  if (found != expected && root != nullptr) ADD_FAILURE() << rewrite_expected(root, where.file_name(), expected, found);
}

}  // namespace onnxc
