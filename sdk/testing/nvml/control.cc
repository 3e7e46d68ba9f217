#include <algorithm>
#include <cstring>

#include "configuration.h"
#include "environment.h"
#include "library.h"

namespace atl::nvml_double {
namespace {

using cuda_double::PerDevice;

void fail_call(const char* function, uint64_t nth, NvmlResult code) {
  std::lock_guard lock(library().mutex);
  library().failures.push_back({function, nth, code});
}

void end_failures() {
  std::lock_guard lock(library().mutex);
  library().failures.clear();
}

void set(uint32_t device, test::NvmlDoubleValue which, uint64_t value) {
  std::lock_guard lock(library().mutex);
  if (device < library().gpus.size()) library().gpus[device].values[static_cast<uint32_t>(which)] = value;
}

void hold(bool holds) {
  std::lock_guard lock(library().mutex);
  library().holds = holds;
  library().changed.notify_all();
}

uint64_t calls(const char* function) {
  std::lock_guard lock(library().mutex);
  if (std::strcmp(function, "*") == 0) return library().all_calls;
  const auto found = library().calls.find(function);
  return found == library().calls.end() ? 0 : found->second;
}

size_t report(char* text, size_t room) {
  std::lock_guard lock(library().mutex);
  std::string all;
  for (const std::string& misuse : library().misuses) all += misuse + "\n";
  if (library().initialised != 0) all += "the library was not shut down\n";
  if (room != 0) std::memcpy(text, all.data(), std::min(room, all.size()));
  return all.size();
}

void start_over() {
  Library& all = library();
  std::lock_guard lock(all.mutex);
  all.gpus.clear();
  all.is_read = false;
  all.initialised = 0;
  all.holds = false;
  all.failures.clear();
  all.calls.clear();
  all.all_calls = 0;
  all.misuses.clear();
}

}  // namespace

Library& library() {
  static Library* const made = new Library;
  return *made;
}

NvmlResult read_environment(Library& all) {
  const auto init = static_cast<NvmlResult>(
      cuda_double::to_number("ATOLL_NVML_DOUBLE_INIT", cuda_double::variable("ATOLL_NVML_DOUBLE_INIT", "0")));
  if (init != NvmlResult::SUCCESS || all.is_read) return init;
  all.is_read = true;
  const PerDevice values[test::kNvmlDoubleValues] = {
      {"ATOLL_NVML_DOUBLE_UTILIZATION", "0"},  {"ATOLL_NVML_DOUBLE_MEMORY_USED", "0"},
      {"ATOLL_NVML_DOUBLE_POWER", "50000"},    {"ATOLL_NVML_DOUBLE_POWER_LIMIT", "350000"},
      {"ATOLL_NVML_DOUBLE_ENERGY", "1000000"}, {"ATOLL_NVML_DOUBLE_MIG", "0"},
      {"ATOLL_NVML_DOUBLE_LOST", "0"}};
  for (const cuda_double::DeviceConfiguration& device : cuda_double::all_devices()) {
    Gpu gpu{.uuid = cuda_double::uuid_text(device.uuid),
            .pci_id = device.pci_id,
            .memory_bytes = device.memory_bytes,
            .values = {}};
    for (uint32_t i = 0; i < test::kNvmlDoubleValues; ++i) gpu.values[i] = values[i].number(all.gpus.size());
    all.gpus.push_back(std::move(gpu));
  }
  for (const cuda_double::FailureText& one : cuda_double::failure_texts("ATOLL_NVML_DOUBLE_FAIL"))
    all.failures.push_back({one.target, one.nth, static_cast<NvmlResult>(one.code)});
  return NvmlResult::SUCCESS;
}

const test::NvmlDouble& control() noexcept {
  static const test::NvmlDouble made = {
      .size_bytes = sizeof(test::NvmlDouble),
      .fail_call = fail_call,
      .end_failures = end_failures,
      .set = set,
      .hold = hold,
      .calls = calls,
      .report = report,
      .start_over = start_over,
  };
  return made;
}

}  // namespace atl::nvml_double
