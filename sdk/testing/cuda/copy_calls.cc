/// Copies and settings of memory. What streams do with memory that ended meanwhile is error 700, as on a device.
#include <algorithm>
#include <chrono>
#include <cstring>
#include <thread>

#include "driver.h"

namespace atl::cuda_double {
namespace {

enum class Side : uint8_t { kDevice, kPinned, kPageable };

/// What an address is in a copy. \return not SUCCESS: device memory that is not there
CudaResult classify(const Call& call, uint64_t address, size_t bytes, Side& side) {
  Memory& memory = driver().memory;
  if (memory.space.contains(address)) {
    side = Side::kDevice;
    if (memory.is_known(address, bytes)) return CudaResult::SUCCESS;
    call.misuse("device memory that is not allocated, or has less bytes");
    return CudaResult::INVALID_VALUE;
  }
  side = memory.is_pinned(address, bytes) ? Side::kPinned : Side::kPageable;
  return CudaResult::SUCCESS;
}

/// With the driver's mutex held. Null: a device may not use it now.
char* reach(uint64_t address, size_t bytes) {
  Memory& memory = driver().memory;
  return memory.space.contains(address) ? memory.device_bytes(address, bytes)
                                        : reinterpret_cast<char*>(address);
}

CudaResult lost_memory(const char* what) {
  driver().misuse(std::string(what) + " used device memory before it was allocated, or after it was freed");
  return CudaResult::ILLEGAL_ADDRESS;
}

CudaResult copy_now(uint64_t to, uint64_t from, size_t bytes, const std::vector<char>* staged) {
  Driver& all = driver();
  std::this_thread::sleep_for(std::chrono::nanoseconds(all.slow_copy_ns));
  char* target = nullptr;
  const char* source = nullptr;
  {
    std::lock_guard lock(all.mutex);
    target = reach(to, bytes);
    source = staged != nullptr ? staged->data() : reach(from, bytes);
    if (target == nullptr || source == nullptr) return lost_memory("a copy");
  }
  std::memmove(target, source, bytes);
  return CudaResult::SUCCESS;
}

CudaResult copy(Call& call, uint64_t to, uint64_t from, size_t bytes, CudaStream handle) {
  if (bytes == 0) return CudaResult::SUCCESS;
  Side target = Side::kPageable;
  Side source = Side::kPageable;
  if (const CudaResult result = classify(call, to, bytes, target); result != CudaResult::SUCCESS)
    return result;
  if (const CudaResult result = classify(call, from, bytes, source); result != CudaResult::SUCCESS)
    return result;
  const std::shared_ptr<Stream> stream = call.find(handle);
  if (stream == nullptr) return CudaResult::INVALID_HANDLE;
  const bool is_pageable = target == Side::kPageable || source == Side::kPageable;
  if (is_pageable && stream->capture != nullptr) {
    stream->capture->is_invalid = true;
    return CudaResult::STREAM_CAPTURE_UNSUPPORTED;
  }
  std::shared_ptr<std::vector<char>> staged;
  if (source == Side::kPageable) {
    const char* bytes_from = reinterpret_cast<const char*>(from);
    staged = std::make_shared<std::vector<char>>(bytes_from, bytes_from + bytes);
  }
  const CudaResult result = call.submit(
      handle, {CudaGraphNodeType::kCopy, [=] { return copy_now(to, from, bytes, staged.get()); }, {}});
  if (result != CudaResult::SUCCESS || target != Side::kPageable) return result;
  return driver().wait(call.lock, stream->last, *stream->device);
}

template <class Value>
CudaResult set(Call& call, CudaAddress to, Value value, size_t count, CudaStream stream) {
  if (count == 0) return CudaResult::SUCCESS;
  const size_t bytes = count * sizeof(value);
  if (to % sizeof(value) != 0 || bytes / sizeof(value) != count) return CudaResult::INVALID_VALUE;
  Side side = Side::kDevice;
  if (const CudaResult result = classify(call, to, bytes, side); result != CudaResult::SUCCESS) return result;
  if (side == Side::kPageable) return CudaResult::INVALID_VALUE;
  return call.submit(stream, {CudaGraphNodeType::kSet,
                              [=] {
                                Value* target = nullptr;
                                {
                                  std::lock_guard lock(driver().mutex);
                                  target = reinterpret_cast<Value*>(reach(to, bytes));
                                  if (target == nullptr) return lost_memory("a setting of memory");
                                }
                                std::fill_n(target, count, value);
                                return CudaResult::SUCCESS;
                              },
                              {}});
}

}  // namespace

namespace api {

CudaResult cuMemcpyAsync(CudaAddress to, CudaAddress from, size_t bytes, CudaStream stream) {
  return enter(__func__, kCurrentContext, [&](Call& call) { return copy(call, to, from, bytes, stream); });
}

CudaResult cuMemcpyPeerAsync(CudaAddress to, CudaContext to_context, CudaAddress from,
                             CudaContext from_context, size_t bytes, CudaStream stream) {
  return enter(__func__, kCurrentContext, [&](Call& call) {
    Memory& memory = driver().memory;
    for (const auto& [address, context] : {std::pair(to, to_context), std::pair(from, from_context)}) {
      auto* found = find_in(call, driver().contexts, context, "context");
      if (found == nullptr) return CudaResult::INVALID_CONTEXT;
      if ((*found)->device->failure != CudaResult::SUCCESS) return (*found)->device->failure;
      if (bytes == 0 || memory.device_of(address) == (*found)->device) continue;
      call.misuse("an address is not one of its context's device");
      return CudaResult::INVALID_VALUE;
    }
    return copy(call, to, from, bytes, stream);
  });
}

CudaResult cuMemsetD8Async(CudaAddress to, unsigned char value, size_t count, CudaStream stream) {
  return enter(__func__, kCurrentContext, [&](Call& call) { return set(call, to, value, count, stream); });
}

CudaResult cuMemsetD32Async(CudaAddress to, uint32_t value, size_t count, CudaStream stream) {
  return enter(__func__, kCurrentContext, [&](Call& call) { return set(call, to, value, count, stream); });
}

}  // namespace api
}  // namespace atl::cuda_double
