/// What is left, and what was done wrong.
#include "driver.h"

namespace atl::cuda_double {
namespace {

class Lines {
 public:
  void add(size_t count, const char* what) {
    if (count != 0) text_ += std::to_string(count) + " " + what + "\n";
  }
  void add(const std::string& line) { text_ += line + "\n"; }
  const std::string& text() const noexcept { return text_; }

 private:
  std::string text_;
};

bool is_lost(const Device* device) { return device->failure != CudaResult::SUCCESS; }

/// So many whose device is not lost, as nothing can be given back to a lost one.
template <class Map, class DeviceOf>
size_t left_in(const Map& map, DeviceOf&& device_of) {
  size_t count = 0;
  for (const auto& one : map) count += is_lost(device_of(one.second)) ? 0 : 1;
  return count;
}

size_t allocations_of(const Memory& memory, Origin origin) {
  size_t count = 0;
  for (const auto& [address, allocation] : memory.allocations)
    count += allocation.origin == origin && !is_lost(allocation.device) ? 1 : 0;
  return count;
}

void add_memory(Lines& lines, const Memory& memory) {
  lines.add(allocations_of(memory, Origin::kAllocated), "allocations");
  lines.add(allocations_of(memory, Origin::kPool), "allocations from pools");
  lines.add(allocations_of(memory, Origin::kOpened), "open handles of other processes");
  lines.add(left_in(memory.physical, [](const Physical& one) { return one.device; }), "physical allocations");
}

}  // namespace

std::string report(Driver& all) {
  Lines lines;
  add_memory(lines, all.memory);
  bool any_lost = false;
  for (const auto& device : all.devices) {
    any_lost = any_lost || is_lost(device.get());
    if (device->retained != 0 && !is_lost(device.get()))
      lines.add("the context of device " + std::to_string(device->ordinal) + " is retained " +
                std::to_string(device->retained) + " times");
  }
  lines.add(left_in(all.pools, [](const auto& one) { return one->device; }), "pools");
  lines.add(left_in(all.streams, [](const auto& one) { return one->device; }), "streams");
  lines.add(left_in(all.events, [](const auto& one) { return one->context->device; }), "events");
  // These are of no device, but cannot be given back with the context of a lost one.
  if (!any_lost) {
    lines.add(all.memory.pinned.size(), "ranges of pinned memory");
    lines.add(all.memory.mappings.size(), "mappings");
    lines.add(all.memory.reserved.size(), "reserved ranges of addresses");
    lines.add(all.modules.size(), "modules");
    lines.add(all.libraries.size(), "libraries");
    lines.add(all.graphs.size(), "graphs");
    lines.add(all.graph_execs.size(), "executable graphs");
  }
  for (const std::string& misuse : all.misuses) lines.add("misuse: " + misuse);
  return lines.text();
}

}  // namespace atl::cuda_double
