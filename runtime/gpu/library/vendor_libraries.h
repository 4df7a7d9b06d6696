// The two libraries that gpu_library opens, and the common parts of opening them.
#pragma once

#include <dlfcn.h>

#include "gpu/library/gpu_library.h"

namespace onnxc::runtime {

// Each fills the table once; false with the reason if it cannot.
bool open_hip_library(GpuLibrary& gpu, ErrorText& error);
bool open_cuda_library(GpuLibrary& gpu, ErrorText& error);

// Whether a variable of the environment names the file; if so it is opened, or the reason against it told.
bool is_named_by(const char* variable, void*& library, ErrorText& error);

// Fills in functions of one library, and tells of the first that it lacks.
class FunctionFinder {
 public:
  FunctionFinder(void* library, const char* what, ErrorText& error) : library_(library), what_(what), error_(error) {}

  template <class Function>
  void find(const char* symbol, Function& function) {
    function = reinterpret_cast<Function>(dlsym(library_, symbol));
    if (function == nullptr && has_all_) error_.append("%s lacks %s: it is too old, or another library", what_, symbol);
    has_all_ = has_all_ && function != nullptr;
  }
  template <class... Arguments>
  void find(const char* symbol, GpuFunction<Arguments...>& function) {
    find(symbol, function.function);
    function.name = symbol;
  }
  // Null if the library lacks it.
  template <class Function>
  void find_if_there(const char* symbol, Function& function) {
    function = reinterpret_cast<Function>(dlsym(library_, symbol));
  }
  bool has_all() const { return has_all_; }

 private:
  void* library_;
  const char* what_;
  ErrorText& error_;
  bool has_all_ = true;
};

}  // namespace onnxc::runtime
