#include "control.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <limits>

#include "driver.h"
#include "launch.h"

namespace atl::cuda_double {
namespace {

Device* find_device(int32_t ordinal) {
  auto& devices = driver().devices;
  const auto index = static_cast<size_t>(ordinal);
  return index < devices.size() ? devices[index].get() : nullptr;
}

void fail_call(const char* function, uint64_t nth, CudaResult code) {
  std::lock_guard lock(driver().mutex);
  driver().call_failures.push_back({function, nth, code});
}

void fail_operation(int32_t ordinal, uint64_t nth, CudaResult code) {
  std::lock_guard lock(driver().mutex);
  if (Device* device = find_device(ordinal)) {
    device->fails_at = device->operations + nth;
    device->fails_with = code;
  }
}

void fail_device(int32_t ordinal, CudaResult code) {
  std::lock_guard lock(driver().mutex);
  if (Device* device = find_device(ordinal)) driver().fail_device(*device, code);
}

void limit_memory(int32_t ordinal, uint64_t bytes) {
  std::lock_guard lock(driver().mutex);
  if (Device* device = find_device(ordinal)) device->limit = bytes;
}

void hang_event(uint64_t nth) {
  std::lock_guard lock(driver().mutex);
  driver().hang_event = nth;
}

void slow_copies(uint64_t nanoseconds) { driver().slow_copy_ns = nanoseconds; }

void end_failures() {
  Driver& all = driver();
  std::lock_guard lock(all.mutex);
  all.call_failures.clear();
  all.hang_event = 0;
  all.slow_copy_ns = 0;
  for (const PointPtr& point : all.hanging) point->hangs = false;
  all.hanging.clear();
  for (const auto& device : all.devices) {
    device->fails_at = 0;
    device->limit = std::numeric_limits<uint64_t>::max();
  }
  all.changed.notify_all();
}

void set_stepped(bool stepped) {
  Driver& all = driver();
  std::lock_guard lock(all.mutex);
  all.stepped = stepped;
  if (!stepped) all.start_threads();
  all.changed.notify_all();
}

bool step() {
  std::unique_lock lock(driver().mutex);
  return driver().step(lock);
}

uint64_t calls(const char* function) {
  Driver& all = driver();
  std::lock_guard lock(all.mutex);
  if (std::strcmp(function, "*") == 0) return all.all_calls;
  const auto found = all.calls.find(function);
  return found == all.calls.end() ? 0 : found->second;
}

uint64_t operations(int32_t ordinal) {
  std::lock_guard lock(driver().mutex);
  const Device* device = find_device(ordinal);
  return device == nullptr ? 0 : device->operations;
}

uint64_t used_memory(int32_t ordinal) {
  std::lock_guard lock(driver().mutex);
  const Device* device = find_device(ordinal);
  return device == nullptr ? 0 : device->used;
}

size_t give_report(char* text, size_t room) {
  std::lock_guard lock(driver().mutex);
  const std::string all = report(driver());
  if (room != 0) std::memcpy(text, all.data(), std::min(room, all.size()));
  return all.size();
}

void* memory_at(CudaAddress address, size_t bytes) {
  std::lock_guard lock(driver().mutex);
  return driver().memory.device_bytes(address, bytes);
}

void register_kernel(const char* name, test::CudaDoubleKernel kernel) {
  std::lock_guard lock(driver().mutex);
  driver().registered[name] = kernel;
}

/// The process ends: what is left is said where the environment wants it.
struct AtEnd {
  ~AtEnd() {
    Driver& all = driver();
    std::unique_lock lock(all.mutex, std::try_to_lock);
    const std::string& path = all.configuration.report;
    if (all.is_forked || !lock.owns_lock() || path.empty()) return;
    const std::string text = report(all);
    std::FILE* file = path == "-" ? stderr : std::fopen(path.c_str(), "a");
    if (file == nullptr) return;
    std::fputs(text.c_str(), file);
    if (file != stderr) std::fclose(file);
  }
};
const AtEnd at_end;

}  // namespace

const test::CudaDouble& control() noexcept {
  static const test::CudaDouble made = {
      .size_bytes = sizeof(test::CudaDouble),
      .fail_call = fail_call,
      .fail_operation = fail_operation,
      .fail_device = fail_device,
      .limit_memory = limit_memory,
      .hang_event = hang_event,
      .slow_copies = slow_copies,
      .end_failures = end_failures,
      .set_stepped = set_stepped,
      .step = step,
      .calls = calls,
      .operations = operations,
      .used_memory = used_memory,
      .report = give_report,
      .memory = memory_at,
      .register_kernel = register_kernel,
      .start_over = start_over,
  };
  return made;
}

}  // namespace atl::cuda_double
