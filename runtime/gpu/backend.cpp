#include "gpu/backend.h"

#include "gpu/device_instance.h"
#include "gpu/window_transfers.h"

namespace onnxc::runtime {

const DeviceBackend gpu_backend = {
    .create = DeviceInstance::create,
    .program = [](const DeviceInstance* instance) -> const DeviceProgram& { return instance->module().program(); },
    .destroy = DeviceInstance::destroy,
    .plan = [](DeviceInstance* instance, int32_t level, const int64_t* symbols,
               ErrorText& error) { return instance->plan(level, symbols, error); },
    .working_bytes = [](const DeviceInstance* instance) { return instance->working_bytes(); },
    .captured_graphs = [](const DeviceInstance* instance) { return instance->captured_graphs(); },
    .run = [](DeviceInstance* instance, const DeviceRun& run, ErrorText& error) { return instance->run(run, error); },
    .read_buffer = [](DeviceInstance* instance, int32_t buffer, Array<char>& bytes,
                      ErrorText& error) { return instance->read_buffer(buffer, bytes, error); },
    .make_windows = [](DeviceInstance* instance, const Array<WindowBuffer>& buffers, int64_t batch,
                       onnxc_status& status, ErrorText& error) -> DeviceWindows* {
      return WindowTransfers::create(instance->module(), buffers, batch, status, error);
    },
    .destroy_windows = [](DeviceWindows* windows) { WindowTransfers::destroy(static_cast<WindowTransfers*>(windows)); },
    .send_windows = [](DeviceWindows* windows, int32_t slot, int64_t count,
                       ErrorText& error) { return static_cast<WindowTransfers*>(windows)->send(slot, count, error); },
    .fetch_windows = [](DeviceWindows* windows, int32_t slot, int64_t count,
                        ErrorText& error) { return static_cast<WindowTransfers*>(windows)->fetch(slot, count, error); },
    .wait_for_windows = [](DeviceWindows* windows, int32_t slot,
                           ErrorText& error) { return static_cast<WindowTransfers*>(windows)->wait(slot, error); },
};

}  // namespace onnxc::runtime
