#include "gpu/backend.h"

#include "gpu/device_instance.h"
#include "gpu/device_states.h"
#include "gpu/device_volume.h"

namespace onnxc::runtime {
namespace {

DeviceVolumeRun& run_of(DeviceVolume* volume) { return *static_cast<DeviceVolumeRun*>(volume); }

}  // namespace

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
    .make_states = [](const DeviceInstance* instance, onnxc_status& status,
                      ErrorText& error) { return DeviceStates::create(*instance, status, error); },
    .destroy_states = DeviceStates::destroy,
    .is_on_device_of = [](const DeviceStates* states,
                          const DeviceInstance* instance) { return states->is_on_device_of(*instance); },
    .allocate_state = [](DeviceStates* states, int64_t bytes, void*& data,
                         ErrorText& error) { return states->allocate(bytes, data, error); },
    .free_state = [](DeviceStates* states, void* data) { states->free(data); },
    .clear_state = [](DeviceStates* states, void* data, int64_t bytes,
                      ErrorText& error) { return states->clear(data, bytes, error); },
    .write_state = [](DeviceStates* states, void* data, const void* from, int64_t bytes,
                      ErrorText& error) { return states->copy(data, from, bytes, GpuCopy::to_device, error); },
    .read_state = [](DeviceStates* states, void* to, const void* data, int64_t bytes,
                     ErrorText& error) { return states->copy(to, data, bytes, GpuCopy::to_host, error); },
    .make_volume = [](DeviceInstance* instance, const VolumeOnDevice& description, onnxc_status& status,
                      ErrorText& error) -> DeviceVolume* {
      return DeviceVolumeRun::create(instance->module(), description, status, error);
    },
    .destroy_volume = [](DeviceVolume* volume) { DeviceVolumeRun::destroy(&run_of(volume)); },
    .take_slices = [](DeviceVolume* volume, int32_t input, int64_t first, int64_t& count, float*& memory,
                      ErrorText& error) { return run_of(volume).take_slices(input, first, count, memory, error); },
    .send_slices = [](DeviceVolume* volume, int32_t input, int64_t first, int64_t count,
                      ErrorText& error) { return run_of(volume).send_slices(input, first, count, error); },
    .begin_slab = [](DeviceVolume* volume, ErrorText& error) { return run_of(volume).begin_slab(error); },
    .cut_windows = [](DeviceVolume* volume, const DeviceWindows& windows,
                      ErrorText& error) { return run_of(volume).cut_windows(windows, error); },
    .add_windows = [](DeviceVolume* volume, int32_t output, const DeviceWindows& windows, bool adds_weights,
                      ErrorText& error) { return run_of(volume).add_windows(output, windows, adds_weights, error); },
    .finish_box = [](DeviceVolume* volume, const FinishedBox& box, int32_t piece,
                     ErrorText& error) { return run_of(volume).finish_box(box, piece, error); },
    .wait_for_piece = [](DeviceVolume* volume, int32_t piece, const void*& results,
                         ErrorText& error) { return run_of(volume).wait_for_piece(piece, results, error); },
    .end_run = [](DeviceVolume* volume, int32_t number,
                  ErrorText& error) { return run_of(volume).end_run(number, error); },
    .wait_for_run = [](DeviceVolume* volume, int32_t number,
                       ErrorText& error) { return run_of(volume).wait_for_run(number, error); },
};

}  // namespace onnxc::runtime
