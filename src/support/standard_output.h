// Standard output is data: when it cannot be written, the command has failed. Standard error is said if it can be.
#pragma once

#include <string_view>

namespace onnxc {

// For the begin of main: a standard stream that is closed must not become a file that is opened later.
void keep_standard_streams() noexcept;

// Writes to standard error. If that is closed or full, only the exit code can say it.
void write_error(std::string_view text) noexcept;

// Prints to standard output. Throws UserError if it cannot be written.
void print(std::string_view text);

// To be called when all has been printed. Throws UserError when any of it could not be written (a full disk).
void finish_standard_output();

}  // namespace onnxc
