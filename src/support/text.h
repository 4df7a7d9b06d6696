// The one place where text that came from a model, a file name or another program is made fit to stand in generated
// code, in a comment, in a message or in a file name. Nothing else may write such text.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace onnxc {

// A C identifier: `prefix` (ours: starts with a letter), the index that makes it unique, and what of the hint is
// letters and digits, at most 40 characters of it: identifier("k", 3, "conv/1") is "k3_conv_1".
std::string identifier(std::string_view prefix, int64_t index, std::string_view hint = {});

// A string literal of C and C++, with its quotes, for the same bytes: printable ASCII as it is, the rest as octal
// escapes (bytes of zero included, so its length is to be taken by sizeof).
std::string c_string_literal(std::string_view bytes);

// For a comment of C, C++ or assembly: ASCII with all that could end or continue the comment percent-encoded (control
// characters, \, ?, %, the * of */), at most 60 characters ("..." at the end if it was longer).
std::string comment_text(std::string_view text);

// For a terminal, a log or an error message: control characters, invalid UTF-8 and characters that reorder text become
// escapes (\x1b); longer than `max_length` bytes it is cut and ends in "...".
std::string printable(std::string_view text, size_t max_length = 200);
// The same in single quotes: how a name stands in a message.
std::string quote(std::string_view text);
// A whole message, of several lines: as printable, but lines and tabs stay, and only what is longer than anybody reads
// is cut.
std::string printable_message(std::string_view text);

// The stem of a file's name for a tensor, to be followed by an extension. Characters other than ASCII letters, digits,
// '.', '_', '-' become '_'; longer than 100 characters it is cut, and a hash of the whole name appended. Names that
// differ may become one.
std::string safe_file_name(std::string_view name);

}  // namespace onnxc
