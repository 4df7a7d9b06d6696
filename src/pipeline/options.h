// The options of the command line.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "ir/expr/expr.h"
#include "machine/gpu_machine.h"
#include "passes/states/bind_states.h"
#include "report/shape_view.h"
#include "support/limits.h"
#include "toolchain/compiler.h"

namespace onnxc {

enum class Emit { shared_object, source, object, ir };

struct Options {
  std::filesystem::path model;
  std::vector<std::filesystem::path> more_models;  // which become further entries of the same model.so
  std::filesystem::path output;                    // empty: nothing is compiled, only for --dump-shapes
  std::string target = "cpu";                      // or "gpu", "cpu,gpu"
  std::vector<std::string> marches = {"native"};
  std::vector<std::string> gpus = {machine::default_gpu.name};  // --gpu-arch
  std::string precision = "float32";                            // in which type values between nodes are stored
  std::vector<std::string> keep_float32;                        // patterns of the nodes that stay float32
  std::string gpu_code = "ptx";                                 // of NVIDIA's GPUs: ptx or cubin
  std::string fp32 = "ieee";     // how a GPU makes products of float32: ieee, xf32 or bf16x3
  std::string weights = "fast";  // how the CPU's kernels hold weights: fast or compact
  CompilerRequest compiler;
  Emit emit = Emit::shared_object;
  std::map<std::string, Bounds> dims;  // --dim N=4 and N=1..8
  std::vector<std::string> outputs;    // --outputs; empty means all
  std::vector<StateNames> states;      // --state cache=next_cache
  int optimization = 3;                // -O0 to -O3
  int jobs = 0;                        // 0: as many as the machine has cores
  std::optional<std::string> report;   // "" is on stdout; else an HTML file
  bool time_passes = false;
  std::optional<std::string> run_pass;        // a single pass, on `model`
  std::optional<std::string> list_operators;  // "table" or "json"; needs no model
  std::vector<std::string> skipped_passes;    // --skip-pass
  bool keep_refused = false;                  // the sources that a compiler refuses
  std::optional<std::string> dump_ir;         // the name of a pass, or "all"
  std::optional<std::string> dump_shapes;     // "" is a table on stdout; else a JSON file
  ShapeRequest shape_request;                 // what of them is shown
  std::filesystem::path against;              // another model, whose shapes are compared; empty: none
  bool json = false;
  std::optional<bool> sandbox;  // of the command; nothing: as far as the kernel has one
  Limits limits;

  bool for_cpu() const { return target != "gpu"; }
  bool for_gpu() const { return target != "cpu"; }
  bool makes_cubin(const machine::GpuMachine& gpu) const {
    return gpu_code == "cubin" && gpu.vendor == machine::Vendor::nvidia;
  }
};

}  // namespace onnxc
