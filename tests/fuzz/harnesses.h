// Readers of untrusted bytes, each as a function of bytes: libFuzzer calls one (fuzzer_main.cpp), and the tests call
// all on what was found before (corpus_test.cpp).
//
// A harness says whether the input was accepted, false if it is refused in the way that the reader promises. It throws
// if a promise is broken: another exception than UserError or UsageError, a text that does not read back as the same.
#pragma once

#include <span>
#include <string_view>

namespace onnxc::fuzz {

struct Harness {
  std::string_view name;
  bool (*run)(std::string_view bytes);
  std::string_view corpus = name;  // the folder of its inputs, which two may share

  bool reads_models() const { return corpus == "model"; }
};

// expression: a dim's text. program: the text of a program. model: an ONNX file, up to the loop nests of its nodes'
// definitions and the passes over them. source: an ONNX file, up to the C++ for a CPU and the HIP for a GPU. npy,
// tensor, nifti: files of an array, a TensorProto, a scan. command_line: words, a line each. code_object: a GPU's ELF
// file, as the simulator reads it. run: calls of a compiled model (run_calls.h).
std::span<const Harness> harnesses();
// Null if no harness has this name.
const Harness* find_harness(std::string_view name);

}  // namespace onnxc::fuzz
