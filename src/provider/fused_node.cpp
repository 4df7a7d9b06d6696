#include "provider/fused_node.h"

#include <algorithm>

#include "support/diagnostics.h"

namespace onnxc::provider {
namespace {

// The number of each of the model's values among those of the node.
template <class Info>
std::vector<size_t> numbers_among(const std::vector<std::string>& names, int32_t count, Info info) {
  std::vector<size_t> numbers;
  for (int32_t i = 0; i < count; ++i) {
    const auto found = std::ranges::find(names, info(i)->name);
    internal_check(found != names.end(), "the compiled model has the inputs and outputs of the node");
    numbers.push_back(static_cast<size_t>(found - names.begin()));
  }
  return numbers;
}

// The tasks of a step, in pieces that onnxruntime's threads take.
struct Pieces {
  onnxc_parallel_body body;
  void* context;
  int64_t tasks, count;
};

void run_piece(void* argument, size_t index) {
  const Pieces& pieces = *static_cast<const Pieces*>(argument);
  const int64_t piece = static_cast<int64_t>(index), size = pieces.tasks / pieces.count;
  const int64_t longer = pieces.tasks % pieces.count;  // so many have one task more
  const int64_t begin = piece * size + std::min(piece, longer);
  pieces.body(pieces.context, begin, begin + size + (piece < longer ? 1 : 0));
}

}  // namespace

// An instance of the model, for one run at a time.
class FusedNode::Worker {
 public:
  explicit Worker(const FusedNode& node)
      : node_(node), inputs_(node.inputs_.size()), outputs_(node.outputs_.size()), dims_(node.inputs_.size()) {
    onnxc_options options{};
    options.struct_size = sizeof options;
    options.parallel_for = parallel_for;
    options.parallel_for_context = this;
    char error[ONNXC_ERROR_SIZE];
    const onnxc_api& model = node_.model_->api();
    if (model.create(&options, &instance_, error, sizeof error) != ONNXC_OK) throw UserError(error);
    most_pieces_ = int64_t{pieces_a_thread} * model.threads(instance_);
    for (int32_t i = 0; i < model.output_count; ++i) outputs_[static_cast<size_t>(i)].dtype = model.output(i)->dtype;
  }
  ~Worker() { node_.model_->api().destroy(instance_); }
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  void run(OrtKernelContext* context) {
    context_ = context;
    failure_.clear();
    for (size_t i = 0; i < inputs_.size(); ++i) read_input(i);
    onnxc_run_options options{};
    options.struct_size = sizeof options;
    options.allocate_output = allocate_output;
    options.allocate_context = this;
    const onnxc_api& model = node_.model_->api();
    const onnxc_status status =
        model.run(instance_, inputs_.data(), model.input_count, outputs_.data(), model.output_count, &options);
    if (!failure_.empty()) throw OrtFailure(failure_);
    if (status != ONNXC_OK) throw UserError(model.last_error(instance_));
  }

 private:
  static constexpr int pieces_a_thread = 8;  // so that threads that come late, or are slow, do less

  void read_input(size_t i) {
    const Api& api = node_.api_;
    const OrtValue* tensor = api.get(entry::KernelContext_GetInput, context_, node_.inputs_[i]);
    const auto info = api.own(entry::ReleaseTensorTypeAndShapeInfo, api.get(entry::GetTensorTypeAndShape, tensor));
    const OrtTensorTypeAndShapeInfo* shape = info.get();
    dims_[i].resize(api.get(entry::GetDimensionsCount, shape));
    if (!dims_[i].empty()) api.check(entry::GetDimensions, shape, dims_[i].data(), dims_[i].size());
    inputs_[i].dtype = api.get(entry::GetTensorElementType, shape);
    inputs_[i].rank = static_cast<int32_t>(dims_[i].size());
    inputs_[i].dims = dims_[i].data();
    inputs_[i].data = const_cast<void*>(api.get(entry::GetTensorData, tensor));
    inputs_[i].bytes = static_cast<int64_t>(api.get(entry::GetTensorSizeInBytes, tensor));
  }

  static void* allocate_output(void* argument, int32_t output, onnxc_dtype, int32_t rank, const int64_t* dims,
                               int64_t bytes) {
    Worker& worker = *static_cast<Worker*>(argument);
    const Api& api = worker.node_.api_;
    try {
      OrtValue* tensor = api.get(entry::KernelContext_GetOutput, worker.context_,
                                 worker.node_.outputs_[static_cast<size_t>(output)], dims, static_cast<size_t>(rank));
      void* data = api.get(entry::GetTensorMutableData, tensor);
      return bytes == 0 ? argument : data;  // nothing is written, and null would say that there is no memory
    } catch (const std::exception& error) {
      worker.failure_ = error.what();
      return nullptr;
    }
  }

  static void parallel_for(void* argument, int64_t tasks, onnxc_parallel_body body, void* body_context) {
    const Worker& worker = *static_cast<Worker*>(argument);
    Pieces pieces{body, body_context, tasks, std::min(tasks, worker.most_pieces_)};
    const Api& api = worker.node_.api_;
    OrtStatus* status = api.call(entry::KernelContext_ParallelFor, worker.context_, run_piece,
                                 static_cast<size_t>(pieces.count), 0, &pieces);
    if (status != nullptr) api.take_text(status);  // the run says that tasks were not done
  }

  const FusedNode& node_;
  onnxc_instance* instance_ = nullptr;
  int64_t most_pieces_ = 0;
  std::vector<onnxc_value> inputs_, outputs_;
  std::vector<std::vector<int64_t>> dims_;  // of the inputs
  OrtKernelContext* context_ = nullptr;     // of the run under way
  std::string failure_;                     // of onnxruntime's during it
};

FusedNode::FusedNode(const Api& api, std::shared_ptr<const LoadedModel> model, const std::vector<std::string>& inputs,
                     const std::vector<std::string>& outputs)
    : api_(api),
      model_(std::move(model)),
      inputs_(numbers_among(inputs, model_->api().input_count, model_->api().input)),
      outputs_(numbers_among(outputs, model_->api().output_count, model_->api().output)) {
  if (outputs_.size() < outputs.size())
    throw UsageError(
        "the provider's option 'options': --outputs leaves outputs out, which onnxruntime expects; leave it out, and "
        "name the outputs of a run");
  create_state = [](OrtNodeComputeInfo* info, OrtNodeComputeContext*, void** state) {
    FusedNode& node = *static_cast<FusedNode*>(info);
    return node.api_.status_of([&] {
      node.idle_.push_back(node.take_worker());  // a model that this CPU cannot run is refused here
      *state = &node;
    });
  };
  compute = [](OrtNodeComputeInfo* info, void*, OrtKernelContext* context) {
    FusedNode& node = *static_cast<FusedNode*>(info);
    return node.api_.status_of([&] { node.run(context); });
  };
  release_state = [](OrtNodeComputeInfo*, void*) {};
}

FusedNode::~FusedNode() = default;

std::unique_ptr<FusedNode::Worker> FusedNode::take_worker() {
  {
    const std::lock_guard lock(mutex_);
    if (!idle_.empty()) {
      std::unique_ptr<Worker> worker = std::move(idle_.back());
      idle_.pop_back();
      return worker;
    }
  }
  return std::make_unique<Worker>(*this);
}

void FusedNode::run(OrtKernelContext* context) {
  std::unique_ptr<Worker> worker = take_worker();
  worker->run(context);
  const std::lock_guard lock(mutex_);
  idle_.push_back(std::move(worker));
}

}  // namespace onnxc::provider
