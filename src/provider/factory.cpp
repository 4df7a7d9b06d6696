// The functions that onnxruntime calls when libonnxc_ep.so is registered: the library exports these two.
#include <memory>
#include <span>
#include <string>

#include "provider/provider.h"

namespace onnxc::provider {
namespace {

constexpr const char* vendor = "onnxc";

class Factory : public OrtEpFactory {
 public:
  explicit Factory(Functions functions) : api_(functions) {
    get_name = [](const OrtEpFactory*) { return provider_name; };
    get_vendor = [](const OrtEpFactory*) { return vendor; };
    get_vendor_id = [](const OrtEpFactory*) { return uint32_t{0}; };  // of PCI, and no CPU's
    get_version = [](const OrtEpFactory*) -> const char* { return ONNXC_VERSION; };
    get_supported_devices = [](OrtEpFactory* self, const OrtHardwareDevice* const* devices, size_t device_count,
                               OrtEpDevice** provider_devices, size_t most, size_t* count) {
      return static_cast<Factory*>(self)->choose_devices({devices, device_count}, {provider_devices, most}, *count);
    };
    create_ep = [](OrtEpFactory* self, const OrtHardwareDevice* const*, const OrtKeyValuePairs* const*, size_t,
                   const OrtSessionOptions* options, const OrtLogger* logger, OrtEp** provider) {
      const Api& api = static_cast<Factory*>(self)->api_;
      return api.status_of(
          [&] { *provider = std::make_unique<Provider>(api, read_settings(api, options), logger).release(); });
    };
    release_ep = [](OrtEpFactory*, OrtEp* provider) { delete static_cast<Provider*>(provider); };
    // Memory is the CPU's, which onnxruntime allocates and copies itself.
    create_allocator = [](OrtEpFactory*, const void*, const OrtKeyValuePairs*, void** allocator) -> OrtStatus* {
      *allocator = nullptr;
      return nullptr;
    };
    release_allocator = [](OrtEpFactory*, void*) {};
    create_data_transfer = [](OrtEpFactory*, void** transfer) -> OrtStatus* {
      *transfer = nullptr;
      return nullptr;
    };
    is_stream_aware = [](const OrtEpFactory*) { return false; };
  }

 private:
  // The CPU, of the devices that onnxruntime has found.
  OrtStatus* choose_devices(std::span<const OrtHardwareDevice* const> devices, std::span<OrtEpDevice*> chosen,
                            size_t& count) {
    count = 0;
    return api_.status_of([&] {
      for (const OrtHardwareDevice* device : devices)
        if (api_.call(entry::HardwareDevice_Type, device) == DeviceType::cpu && count < chosen.size())
          chosen[count++] = api_.get(entry::CreateEpDevice, this, device, nullptr, nullptr);
    });
  }

  Api api_;
};

}  // namespace
}  // namespace onnxc::provider

extern "C" {

__attribute__((visibility("default"))) onnxc::provider::OrtStatus* CreateEpFactories(
    const char*, const onnxc::provider::OrtApiBase* base, const void*, onnxc::provider::OrtEpFactory** factories,
    size_t most, size_t* count) {
  using namespace onnxc::provider;
  *count = 0;
  const Functions functions = base->get_api(api_version);
  if (functions == nullptr) {
    const std::string text = std::string("onnxc's provider needs onnxruntime 1.24 or newer, and this is ") +
                             base->get_version_string() + "; update onnxruntime";
    constexpr uint32_t first_with_providers = 22;
    return Api(base->get_api(first_with_providers)).call(entry::CreateStatus, ErrorCode::failed, text.c_str());
  }
  if (most == 0) return nullptr;
  factories[0] = std::make_unique<Factory>(functions).release();
  *count = 1;
  return nullptr;
}

__attribute__((visibility("default"))) onnxc::provider::OrtStatus* ReleaseEpFactory(
    onnxc::provider::OrtEpFactory* factory) {
  delete static_cast<onnxc::provider::Factory*>(factory);
  return nullptr;
}
}
