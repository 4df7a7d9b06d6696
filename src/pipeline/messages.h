// The destination of a compile's messages. The compiler itself prints nothing: main.cpp does, and a program that holds
// the compiler as a library may do what it likes.
#pragma once

#include <functional>
#include <string_view>

namespace onnxc {

enum class MessageKind {
  output,    // what was asked for: shapes, IR, reports; standard output's
  times,     // of --time-passes; standard error's
  detail,    // a stage has ended
  progress,  // a stage begins
  warning
};

// Called by the thread that compiles. Texts of `output` and `times` end their own lines.
using MessageSink = std::function<void(MessageKind, std::string_view)>;

inline void ignore_message(MessageKind /*kind*/, std::string_view /*text*/) {}

}  // namespace onnxc
