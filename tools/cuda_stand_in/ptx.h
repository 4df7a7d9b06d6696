// The facts about a module that the driver reads in the text of PTX: which kernels it has, and what they ask for.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace cuda_stand_in {

struct PtxParameter {
  size_t offset, bytes;
};
struct PtxKernel {
  std::vector<PtxParameter> parameters;
  uint32_t most_threads = 1024;  // .maxntid or .reqntid

  size_t parameter_bytes() const { return parameters.empty() ? 0 : parameters.back().offset + parameters.back().bytes; }
};
struct PtxModule {
  int version = 0;           // 71 for PTX 7.1
  int target = 0;            // 80 for sm_80
  bool only_target = false;  // sm_90a
  bool is_cubin = false;     // cubin.h
  std::map<std::string, PtxKernel> kernels;
};

// Throws gpu_streams::Refusal for text that is not PTX.
PtxModule read_ptx(std::string_view text);

}  // namespace cuda_stand_in
