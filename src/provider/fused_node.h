// The node that onnxruntime calls to run a part of a graph: the compiled model of that part.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "provider/api.h"
#include "provider/loaded_model.h"

namespace onnxc::provider {

// Runs of several threads at once have an instance each, which are kept for later runs.
class FusedNode : public OrtNodeComputeInfo {
 public:
  // `inputs` and `outputs` are the names of the node that onnxruntime puts in place of the part, in its order.
  // InternalError if the model has others.
  FusedNode(const Api& api, std::shared_ptr<const LoadedModel> model, const std::vector<std::string>& inputs,
            const std::vector<std::string>& outputs);
  ~FusedNode();

 private:
  class Worker;

  std::unique_ptr<Worker> take_worker();
  void run(OrtKernelContext* context);

  const Api& api_;
  std::shared_ptr<const LoadedModel> model_;
  std::vector<size_t> inputs_, outputs_;  // for each of the model's the number of the node's
  std::mutex mutex_;
  std::vector<std::unique_ptr<Worker>> idle_;
};

}  // namespace onnxc::provider
