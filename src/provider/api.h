// The provider's part of onnxruntime's C interface: the names, signatures and positions of its functions, and the
// structures that a provider fills (onnxruntime_c_api.h and onnxruntime_ep_c_api.h, MIT License, Microsoft
// Corporation). No package carries these headers. The tables only grow at their end; tests/provider/test_api.py holds
// the rows below against the library that is installed.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <tuple>
#include <type_traits>
#include <vector>

namespace onnxc::provider {

// Objects of onnxruntime's, which are pointers here and no more.
struct OrtEpDevice;
struct OrtEpGraphSupportInfo;
struct OrtGraph;
struct OrtHardwareDevice;
struct OrtKernelContext;
struct OrtKeyValuePairs;
struct OrtLogger;
struct OrtNode;
struct OrtNodeComputeContext;
struct OrtOpAttr;
struct OrtSessionOptions;
struct OrtStatus;  // null if all is well
struct OrtTensorTypeAndShapeInfo;
struct OrtTypeInfo;
struct OrtValue;
struct OrtValueInfo;

using Functions = const void* const*;

struct OrtApiBase {
  Functions (*get_api)(uint32_t version);
  const char* (*get_version_string)();
};

// The version whose functions are used: that of onnxruntime 1.24, the first that tells a scalar from a tensor of
// unknown rank.
constexpr uint32_t api_version = 24;

// Not ORT_EP_FAIL: on that onnxruntime's Python package makes the session anew, with only the CPU provider.
enum class ErrorCode : int { failed = 1 };
enum class LogLevel : int { info = 1, warning = 2 };
enum class AttributeType : int { undefined, integer, integers, number, numbers, text, texts, graph, tensor };
enum class DeviceType : int { cpu = 0 };
constexpr int type_is_tensor = 1;
constexpr int element_is_string = 8;  // the others have the numbers of ONNX's TensorProto.DataType too

// A function of one of onnxruntime's tables, by its position.
enum class Table { main, provider, editor };
template <class Signature>
struct Entry {
  size_t position;
  Table table = Table::main;
};

// clang-format off: a row a line.
namespace entry {
inline constexpr Entry<OrtStatus*(ErrorCode, const char*)> CreateStatus{0};
inline constexpr Entry<const char*(const OrtStatus*)> GetErrorMessage{2};
inline constexpr Entry<OrtStatus*(OrtValue*, void**)> GetTensorMutableData{51};
inline constexpr Entry<OrtStatus*(const OrtTypeInfo*, const OrtTensorTypeAndShapeInfo**)> CastTypeInfoToTensorInfo{55};
inline constexpr Entry<OrtStatus*(const OrtTypeInfo*, int*)> GetOnnxTypeFromTypeInfo{56};
inline constexpr Entry<OrtStatus*(const OrtTensorTypeAndShapeInfo*, int*)> GetTensorElementType{60};
inline constexpr Entry<OrtStatus*(const OrtTensorTypeAndShapeInfo*, size_t*)> GetDimensionsCount{61};
inline constexpr Entry<OrtStatus*(const OrtTensorTypeAndShapeInfo*, int64_t*, size_t)> GetDimensions{62};
inline constexpr Entry<OrtStatus*(const OrtTensorTypeAndShapeInfo*, const char**, size_t)> GetSymbolicDimensions{63};
inline constexpr Entry<OrtStatus*(const OrtValue*, OrtTensorTypeAndShapeInfo**)> GetTensorTypeAndShape{65};
inline constexpr Entry<OrtStatus*(const OrtKernelContext*, size_t, const OrtValue**)> KernelContext_GetInput{90};
inline constexpr Entry<OrtStatus*(OrtKernelContext*, size_t, const int64_t*, size_t, OrtValue**)> KernelContext_GetOutput{91};
inline constexpr Entry<void(OrtStatus*)> ReleaseStatus{93};
inline constexpr Entry<void(OrtValue*)> ReleaseValue{96};
inline constexpr Entry<void(OrtTensorTypeAndShapeInfo*)> ReleaseTensorTypeAndShapeInfo{99};
inline constexpr Entry<OrtStatus*(const char*, const void*, int, AttributeType, OrtOpAttr**)> CreateOpAttr{211};
inline constexpr Entry<void(OrtOpAttr*)> ReleaseOpAttr{212};
inline constexpr Entry<OrtStatus*(const OrtLogger*, LogLevel, const char*, const char*, int, const char*)> Logger_LogMessage{247};
inline constexpr Entry<OrtStatus*(const OrtOpAttr*, AttributeType, void*, size_t, size_t*)> ReadOpAttr{272};
inline constexpr Entry<OrtStatus*(const OrtKernelContext*, void (*)(void*, size_t), size_t, size_t, void*)> KernelContext_ParallelFor{274};
inline constexpr Entry<OrtStatus*(const OrtValueInfo*, const char**)> GetValueInfoName{289};
inline constexpr Entry<OrtStatus*(const OrtValueInfo*, const OrtTypeInfo**)> GetValueInfoTypeInfo{290};
inline constexpr Entry<Functions()> GetModelEditorApi{291};
inline constexpr Entry<void(const OrtKeyValuePairs*, const char* const**, const char* const**, size_t*)> GetKeyValuePairs{298};
inline constexpr Entry<void(OrtKeyValuePairs*)> ReleaseKeyValuePairs{300};
inline constexpr Entry<DeviceType(const OrtHardwareDevice*)> HardwareDevice_Type{307};
inline constexpr Entry<Functions()> GetEpApi{317};
inline constexpr Entry<OrtStatus*(const OrtValue*, size_t*)> GetTensorSizeInBytes{318};
inline constexpr Entry<OrtStatus*(const OrtValueInfo*, const OrtValue**)> ValueInfo_GetInitializerValue{326};
inline constexpr Entry<OrtStatus*(const OrtValueInfo*, bool*)> ValueInfo_IsGraphOutput{330};
inline constexpr Entry<OrtStatus*(const OrtValueInfo*, bool*)> ValueInfo_IsConstantInitializer{331};
inline constexpr Entry<OrtStatus*(const OrtValueInfo*, bool*)> ValueInfo_IsFromOuterScope{332};
inline constexpr Entry<OrtStatus*(const OrtGraph*, const char**)> Graph_GetModelPath{334};
inline constexpr Entry<OrtStatus*(const OrtGraph*, int64_t*)> Graph_GetOnnxIRVersion{335};
inline constexpr Entry<OrtStatus*(const OrtGraph*, size_t*)> Graph_GetNumOperatorSets{336};
inline constexpr Entry<OrtStatus*(const OrtGraph*, const char**, int64_t*, size_t)> Graph_GetOperatorSets{337};
inline constexpr Entry<OrtStatus*(const OrtGraph*, size_t*)> Graph_GetNumInputs{338};
inline constexpr Entry<OrtStatus*(const OrtGraph*, const OrtValueInfo**, size_t)> Graph_GetInputs{339};
inline constexpr Entry<OrtStatus*(const OrtGraph*, size_t*)> Graph_GetNumOutputs{340};
inline constexpr Entry<OrtStatus*(const OrtGraph*, const OrtValueInfo**, size_t)> Graph_GetOutputs{341};
inline constexpr Entry<OrtStatus*(const OrtGraph*, size_t*)> Graph_GetNumNodes{344};
inline constexpr Entry<OrtStatus*(const OrtGraph*, const OrtNode**, size_t)> Graph_GetNodes{345};
inline constexpr Entry<OrtStatus*(const OrtGraph*, const OrtNode**)> Graph_GetParentNode{346};
inline constexpr Entry<OrtStatus*(const OrtNode*, const char**)> Node_GetName{349};
inline constexpr Entry<OrtStatus*(const OrtNode*, const char**)> Node_GetOperatorType{350};
inline constexpr Entry<OrtStatus*(const OrtNode*, const char**)> Node_GetDomain{351};
inline constexpr Entry<OrtStatus*(const OrtNode*, size_t*)> Node_GetNumInputs{353};
inline constexpr Entry<OrtStatus*(const OrtNode*, const OrtValueInfo**, size_t)> Node_GetInputs{354};
inline constexpr Entry<OrtStatus*(const OrtNode*, size_t*)> Node_GetNumOutputs{355};
inline constexpr Entry<OrtStatus*(const OrtNode*, const OrtValueInfo**, size_t)> Node_GetOutputs{356};
inline constexpr Entry<OrtStatus*(const OrtNode*, size_t*)> Node_GetNumImplicitInputs{357};
inline constexpr Entry<OrtStatus*(const OrtNode*, const OrtValueInfo**, size_t)> Node_GetImplicitInputs{358};
inline constexpr Entry<OrtStatus*(const OrtNode*, size_t*)> Node_GetNumAttributes{359};
inline constexpr Entry<OrtStatus*(const OrtNode*, const OrtOpAttr**, size_t)> Node_GetAttributes{360};
inline constexpr Entry<OrtStatus*(const OrtNode*, const char*, const OrtOpAttr**)> Node_GetAttributeByName{361};
inline constexpr Entry<OrtStatus*(const OrtOpAttr*, OrtValue**)> OpAttr_GetTensorAttributeAsOrtValue{362};
inline constexpr Entry<OrtStatus*(const OrtOpAttr*, AttributeType*)> OpAttr_GetType{363};
inline constexpr Entry<OrtStatus*(const OrtOpAttr*, const char**)> OpAttr_GetName{364};
inline constexpr Entry<OrtStatus*(const OrtNode*, size_t*)> Node_GetNumSubgraphs{365};
inline constexpr Entry<OrtStatus*(const OrtNode*, const OrtGraph**, size_t, const char**)> Node_GetSubgraphs{366};
inline constexpr Entry<OrtStatus*(const OrtValue*, const void**)> GetTensorData{378};
inline constexpr Entry<OrtStatus*(const OrtSessionOptions*, OrtKeyValuePairs**)> GetSessionOptionsConfigEntries{379};
inline constexpr Entry<bool(const OrtTensorTypeAndShapeInfo*)> TensorTypeAndShape_HasShape{390};
}  // namespace entry
// clang-format on

// The structures that a provider fills, in the form of onnxruntime 1.23; `implemented` says so, and then onnxruntime
// reads no member that came later.
constexpr uint32_t implemented = 23;

struct OrtEp;
struct OrtNodeComputeInfo;

struct OrtNodeFusionOptions {
  uint32_t version = implemented;
  bool drop_constant_initializers = false;
};

struct OrtEpFactory {
  uint32_t version = implemented;
  const char* (*get_name)(const OrtEpFactory*) = nullptr;
  const char* (*get_vendor)(const OrtEpFactory*) = nullptr;
  OrtStatus* (*get_supported_devices)(OrtEpFactory*, const OrtHardwareDevice* const* devices, size_t device_count,
                                      OrtEpDevice** provider_devices, size_t most, size_t* count) = nullptr;
  OrtStatus* (*create_ep)(OrtEpFactory*, const OrtHardwareDevice* const* devices, const OrtKeyValuePairs* const*,
                          size_t device_count, const OrtSessionOptions*, const OrtLogger*, OrtEp**) = nullptr;
  void (*release_ep)(OrtEpFactory*, OrtEp*) = nullptr;
  uint32_t (*get_vendor_id)(const OrtEpFactory*) = nullptr;
  const char* (*get_version)(const OrtEpFactory*) = nullptr;
  void* validate_compiled_model = nullptr;
  OrtStatus* (*create_allocator)(OrtEpFactory*, const void*, const OrtKeyValuePairs*, void** allocator) = nullptr;
  void (*release_allocator)(OrtEpFactory*, void* allocator) = nullptr;
  OrtStatus* (*create_data_transfer)(OrtEpFactory*, void** transfer) = nullptr;
  bool (*is_stream_aware)(const OrtEpFactory*) = nullptr;
  std::array<void*, 8> not_implemented = {};
};

struct OrtEp {
  uint32_t version = implemented;
  const char* (*get_name)(const OrtEp*) = nullptr;
  OrtStatus* (*get_capability)(OrtEp*, const OrtGraph*, OrtEpGraphSupportInfo*) = nullptr;
  OrtStatus* (*compile)(OrtEp*, const OrtGraph** graphs, const OrtNode** fused_nodes, size_t count,
                        OrtNodeComputeInfo** compute_infos, OrtNode** context_nodes) = nullptr;
  void (*release_compute_infos)(OrtEp*, OrtNodeComputeInfo**, size_t count) = nullptr;
  std::array<void*, 16> not_implemented = {};
};

struct OrtNodeComputeInfo {
  uint32_t version = implemented;
  OrtStatus* (*create_state)(OrtNodeComputeInfo*, OrtNodeComputeContext*, void** state) = nullptr;
  OrtStatus* (*compute)(OrtNodeComputeInfo*, void* state, OrtKernelContext*) = nullptr;
  void (*release_state)(OrtNodeComputeInfo*, void* state) = nullptr;
};

// clang-format off: a row a line.
namespace entry {
inline constexpr Entry<OrtStatus*(OrtEpFactory*, const OrtHardwareDevice*, const OrtKeyValuePairs*, const OrtKeyValuePairs*, OrtEpDevice**)> CreateEpDevice{0, Table::provider};
inline constexpr Entry<OrtStatus*(OrtEpGraphSupportInfo*, const OrtNode* const*, size_t, const OrtNodeFusionOptions*)> EpGraphSupportInfo_AddNodesToFuse{2, Table::provider};
inline constexpr Entry<OrtStatus*(const char*, const char*, const char*, const char* const*, size_t, const char* const*, size_t, OrtOpAttr**, size_t, OrtNode**)> CreateNode{6, Table::editor};
}  // namespace entry
// clang-format on

// The text of a status with which onnxruntime answered.
class OrtFailure : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// onnxruntime's functions, which may be called from any thread.
class Api {
 public:
  // `functions` is the table of `api_version`.
  explicit Api(Functions functions) : tables_{functions, nullptr, nullptr} {
    tables_[1] = call(entry::GetEpApi);
    tables_[2] = call(entry::GetModelEditorApi);
  }

  template <class Result, class... Parameters>
  Result call(Entry<Result(Parameters...)> entry, std::type_identity_t<Parameters>... arguments) const {
    void* function = const_cast<void*>(tables_[static_cast<size_t>(entry.table)][entry.position]);
    return reinterpret_cast<Result (*)(Parameters...)>(function)(arguments...);
  }

  // Throws OrtFailure if the status is not null.
  template <class... Parameters>
  void check(Entry<OrtStatus*(Parameters...)> entry, std::type_identity_t<Parameters>... arguments) const {
    if (OrtStatus* status = call(entry, arguments...)) throw OrtFailure(take_text(status));
  }

  // The value that a function writes to its last parameter.
  template <class... Parameters, class... Arguments>
  auto get(Entry<OrtStatus*(Parameters...)> entry, Arguments... arguments) const {
    using Last = std::tuple_element_t<sizeof...(Parameters) - 1, std::tuple<Parameters...>>;
    std::remove_pointer_t<Last> result{};
    check(entry, arguments..., &result);
    return result;
  }

  // The items that one function counts and another writes.
  template <class Owner, class Item>
  std::vector<Item> list(Entry<OrtStatus*(const Owner*, size_t*)> count,
                         Entry<OrtStatus*(const Owner*, Item*, size_t)> items, const Owner* owner) const {
    std::vector<Item> result(get(count, owner));
    if (!result.empty()) check(items, owner, result.data(), result.size());
    return result;
  }

  // An object of onnxruntime's that is released with what is returned.
  template <class Object>
  auto own(Entry<void(Object*)> release, Object* object) const {
    auto end = [this, release](Object* each) { call(release, each); };
    return std::unique_ptr<Object, decltype(end)>(object, end);
  }

  // The text of a status, which is released.
  std::string take_text(OrtStatus* status) const {
    std::string text = call(entry::GetErrorMessage, status);
    call(entry::ReleaseStatus, status);
    return text;
  }

  // Runs what onnxruntime calls: an exception becomes a status.
  template <class Work>
  OrtStatus* status_of(Work work) const noexcept {
    try {
      work();
      return nullptr;
    } catch (const std::exception& error) {
      return call(entry::CreateStatus, ErrorCode::failed, error.what());
    }
  }

  void log(const OrtLogger* logger, LogLevel level, const std::string& text) const {
    OrtStatus* status = call(entry::Logger_LogMessage, logger, level, text.c_str(), "onnxc", 0, "provider");
    if (status != nullptr) call(entry::ReleaseStatus, status);
  }

 private:
  std::array<Functions, 3> tables_;
};

}  // namespace onnxc::provider
