// Which C++ compiler makes a model.so of generated source, and how its options are spelled.
#pragma once

#include <string>
#include <vector>

namespace onnxc {

// The user's choice of a compiler; empty members take whatever is there.
struct CompilerRequest {
  std::string compiler;    // a command or a path, such as clang++-20; or zig
  std::string glibc;       // the oldest that model.so must run with, such as 2.28
  std::string ptxas = {};  // the path of NVIDIA's assembler (ptxas.h)
};

struct Compiler {
  enum class Kind { clang, zig };

  Kind kind = Kind::clang;
  std::vector<std::string> command = {"clang++-19"};  // what stands before its options
  std::string linker = "lld-19";                      // as -fuse-ld has it; zig brings its own
  std::string glibc = {};                             // that the result needs at most; empty: the system's own

  bool is_zig() const { return kind == Kind::zig; }
  // The option for a CPU that clang calls `march`.
  std::string cpu_option(const std::string& march) const;
  // For people: "clang++-19 with lld-19".
  std::string describe() const;
};

// $ONNXC_CXX is asked if the request is silent, then clang 19 and newer on the PATH, then zig: the Python package
// ziglang beside an installed onnxc or in the active virtual environment, or zig on the PATH. A request for a glibc
// takes zig, which has every version's. UserError if there is none, saying what to install; UsageError for a request
// that nothing can meet.
Compiler find_compiler(const CompilerRequest& request = {});

// The commands of this machine that compile a model, with commas, and what installs one if there is none; those that
// compile HIP for a GPU are clang's.
std::string usable_compilers(bool for_gpu);

// Whether the compiler first compiles libraries of its own, which takes 20 to 30 s: zig, with an empty cache.
bool compiles_libraries_first(const Compiler& compiler);

// Before any work: UserError for a compiler that is not clang, naming those that can be taken. Clang is known by its
// name; another is asked.
void check_is_clang(const Compiler& compiler);

}  // namespace onnxc
