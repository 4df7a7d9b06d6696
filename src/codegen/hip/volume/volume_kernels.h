// The kernels by which the runtime runs a model over whole volumes. They are a part of the code of every model whose
// values can be windows of one; no step launches them.
#pragma once

#include <string>
#include <vector>

#include "codegen/text/text_writer.h"
#include "ir/program/program.h"

namespace onnxc {

// Windows are cut, added to the sums and finished by one each: the first two for every type that the model reads and
// gives windows in.
class VolumeKernels {
 public:
  struct Kernel {
    std::string name, description, arguments, instance;
  };

  explicit VolumeKernels(const Program& program);

  bool empty() const { return kernels_.empty(); }
  const std::vector<Kernel>& kernels() const { return kernels_; }
  // Their definitions in the device source, and the headers that it needs.
  void print(TextWriter& device) const;
  static std::vector<std::string> headers();
  // The initializer of runtime::VolumeKernels; `first` is the number of the first of them among the model's.
  std::string numbers(size_t first) const;

 private:
  void add(const std::string& verb, DType dtype, const std::string& description);

  std::vector<Kernel> kernels_;
};

}  // namespace onnxc
