#include "provider/context_node.h"

#include <sys/mman.h>

#include <cerrno>
#include <cstring>
#include <limits>

#include "support/diagnostics.h"
#include "support/file_descriptor.h"
#include "support/safe_file.h"
#include "support/text.h"

namespace onnxc::provider {
namespace {

namespace fs = std::filesystem;

// The attributes of the operator, by onnxruntime's schema.
constexpr const char* content_attribute = "ep_cache_context";
constexpr const char* embed_attribute = "embed_mode";
constexpr const char* source_attribute = "source";

const OrtOpAttr* find_attribute(const Api& api, const NodeView& node, const char* name) {
  const OrtOpAttr* attribute = nullptr;
  // A status as well says that there is none.
  OrtStatus* status = api.call(entry::Node_GetAttributeByName, node.handle, name, &attribute);
  if (status != nullptr) api.take_text(status);
  return status == nullptr ? attribute : nullptr;
}

std::string text_of(const Api& api, const NodeView& node, const char* name) {
  const OrtOpAttr* attribute = find_attribute(api, node, name);
  if (attribute == nullptr) return {};
  const std::vector<char> text = elements_of<char>(api, attribute, AttributeType::text);
  return {text.begin(), text.end()};
}

bool is_embedded(const Api& api, const NodeView& node) {
  const OrtOpAttr* attribute = find_attribute(api, node, embed_attribute);
  return attribute == nullptr || elements_of<int64_t>(api, attribute, AttributeType::integer).at(0) != 0;
}

// From memory: a file without a name, which goes when the model is loaded.
std::shared_ptr<const LoadedModel> load_bytes(std::string_view bytes) {
  const FileDescriptor file(memfd_create("onnxc-model", MFD_CLOEXEC));
  user_check(file.is_open(), "cannot make a file in memory: {}", std::strerror(errno));
  const std::string name = fmt::format("/proc/self/fd/{}", file.get());
  internal::write_all(file.get(), std::as_bytes(std::span(bytes)), name);
  return std::make_shared<LoadedModel>(name);
}

std::vector<const char*> pointers_to(const std::vector<std::string>& texts) {
  std::vector<const char*> pointers;
  for (const std::string& text : texts) pointers.push_back(text.c_str());
  return pointers;
}

// The attributes of a node that is being made; the node copies them.
class Attributes {
 public:
  explicit Attributes(const Api& api) : api_(api) {}
  ~Attributes() {
    for (OrtOpAttr* each : made_) api_.call(entry::ReleaseOpAttr, each);
  }
  Attributes(const Attributes&) = delete;
  Attributes& operator=(const Attributes&) = delete;

  void add(const char* name, std::string_view text) {
    user_check(text.size() < static_cast<size_t>(std::numeric_limits<int>::max()),
               "a compiled part has {} bytes, and an attribute holds at most 2 GiB: do not embed it", text.size());
    add(name, text.data(), static_cast<int>(text.size()), AttributeType::text);
  }
  void add(const char* name, int64_t number) { add(name, &number, 1, AttributeType::integer); }

  std::vector<OrtOpAttr*>& made() { return made_; }

 private:
  void add(const char* name, const void* data, int count, AttributeType type) {
    made_.push_back(api_.get(entry::CreateOpAttr, name, data, count, type));
  }

  const Api& api_;
  std::vector<OrtOpAttr*> made_;
};

}  // namespace

bool is_context_node(const Api& api, const NodeView& node, const std::string& provider) {
  return node.type == "EPContext" && node.domain == "com.microsoft" && text_of(api, node, source_attribute) == provider;
}

std::shared_ptr<const LoadedModel> load_context(const Api& api, const NodeView& node, const fs::path& folder) {
  const std::string content = text_of(api, node, content_attribute);
  if (is_embedded(api, node)) return load_bytes(content);
  const fs::path where = folder.empty() ? "." : folder;
  map_file_within(where, content);  // for its checks
  return std::make_shared<LoadedModel>(fs::absolute(where) / content);
}

OrtNode* make_context_node(const Api& api, const Context& context) {
  const std::span<const std::byte> bytes = context.model->bytes();
  const std::string_view content(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  if (!context.is_embedded) write_file(context.file, content);
  Attributes attributes(api);
  attributes.add("main_context", int64_t{1});
  attributes.add(embed_attribute, int64_t{context.is_embedded});
  attributes.add(content_attribute, context.is_embedded ? content : context.file.filename().string());
  attributes.add(source_attribute, context.provider);
  attributes.add("ep_sdk_version", context.version);
  attributes.add("partition_name", context.name);
  const std::vector<const char*> inputs = pointers_to(context.inputs), outputs = pointers_to(context.outputs);
  return api.get(entry::CreateNode, "EPContext", "com.microsoft", context.name.c_str(), inputs.data(), inputs.size(),
                 outputs.data(), outputs.size(), attributes.made().data(), attributes.made().size());
}

}  // namespace onnxc::provider
