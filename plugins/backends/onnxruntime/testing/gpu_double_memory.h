/// Tensors of the double: where the CPU finds those that are on a device, and device memory for those that a run makes.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>

#include "atoll/gpu/cuda_driver.h"
#include "onnxruntime_c_api.h"

namespace atl::ort::test {

/// The real library's functions.
const OrtApi& real_api() noexcept;

OrtStatus* failure(const char* text) noexcept;

bool is_on_device(const OrtValue& value) noexcept;
/// Of a value on a device.
int32_t device_of(const OrtValue& value) noexcept;

/// A value of the CPU with the same bytes. Fails where they are not memory of the device, or a kernel could not read them
/// several at a time.
OrtStatus* view_on_host(const OrtValue& value, OrtValue** view) noexcept;

/// Another handle for the same tensor.
OrtStatus* share(const OrtValue& value, OrtValue** shared) noexcept;

/// A copy of a value of the CPU in new memory of the device, whose context is retained by open_device().
OrtStatus* move_to_device(const OrtValue& value, int32_t device, OrtValue** moved) noexcept;
/// What move_to_device() took is used again at once, as memory of an arena is: other bytes are there. It is freed when the
/// device is closed.
void release_value(OrtValue* value) noexcept;

/// Retains the device's context, as a session does. \return false: there is no such device
bool open_device(int32_t device) noexcept;
void close_device(int32_t device) noexcept;
/// Every call for it fails from now on.
void lose_device(int32_t device) noexcept;

}  // namespace atl::ort::test
