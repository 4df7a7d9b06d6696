#include "gpu/device_choice.h"

#include "gpu/program_choice.h"

namespace onnxc::runtime {
namespace {

// Whether the library finds a GPU of this number.
bool has_device(const GpuLibrary& gpu, int index, ErrorText& error) {
  int count = 0;
  if (!succeeded(gpu, gpu.init(0), "", error) || !succeeded(gpu, gpu.device_count(&count), "", error)) {
    error.append("; %s", gpu.if_no_device);
    return false;
  }
  if (count == 0)
    error.append("%s sees no GPU; %s", gpu.name, gpu.if_no_device);
  else if (index < 0 || index >= count)
    error.append("there is no GPU %d: %s sees %d; choose another number", index, gpu.name, count);
  return index >= 0 && index < count;
}

bool has_code(const ModelDescription& model, const GpuLibrary& gpu, int index, GpuDescription& description,
              ErrorText& error) {
  if (!succeeded(gpu, gpu.describe({.index = index}, description), "", error)) return false;
  if (choose_program(model.device_programs, model.device_program_count, gpu.vendor, description, nullptr) != nullptr)
    return true;
  error.append("this model was compiled for '%s', and GPU %d is %s; ", model.target, index, description.name);
  gpu.advise_on_code(description, error);
  return false;
}

}  // namespace

bool choose_device(const ModelDescription& model, int index, ChosenDevice& chosen, ErrorText& error) {
  bool is_tried[gpu_vendor_count] = {};
  for (int32_t i = 0; i < model.device_program_count; ++i) {
    const GpuVendor vendor = vendor_of(*model.device_programs[i]);
    bool& is_known = is_tried[static_cast<int32_t>(vendor)];
    if (is_known) continue;
    is_known = true;
    if (*error.text() != '\0') error.append("; ");
    chosen.gpu = gpu_library(vendor, error);
    if (chosen.gpu == nullptr || !has_device(*chosen.gpu, index, error)) continue;
    if (!has_code(model, *chosen.gpu, index, chosen.description, error)) continue;
    error.clear();
    return true;
  }
  error.append("; %s", on_the_cpu(model));
  return false;
}

}  // namespace onnxc::runtime
