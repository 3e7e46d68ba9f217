#include "frontends/console/memory/memory_json.h"

#include <algorithm>
#include <utility>

#include "atoll/core/registry.h"
#include "atoll/lib/json_writer.h"
#include "atoll/memory/request_memory.h"
#include "atoll/request/response_cache.h"
#include "frontends/console/answer_json.h"

namespace atl::frontends::console {
namespace {

constexpr size_t kMostChildren = 1000;

uint64_t cache_bytes(Registry& registry) {
  const Result<Service<ResponseCache>> cache = registry.find<ResponseCache>();
  return cache.ok() && cache.value().minor() >= ResponseCache::kMemoryMinor ? cache.value()->memory_bytes()
                                                                            : 0;
}

uint64_t request_bytes(Registry& registry) {
  const Result<Service<RequestMemory>> memory = registry.find<RequestMemory>();
  return memory.ok() ? memory.value()->budget()->used_bytes() : 0;
}

}  // namespace

std::vector<MemoryPart> memory_parts(const MemorySources& sources) {
  uint64_t left = sources.process.anonymous;
  std::vector<MemoryPart> parts;
  const auto add = [&](const char* owner, uint64_t counted) {
    const uint64_t bytes = std::min(counted, left);
    left -= bytes;
    parts.push_back({owner, bytes, counted});
  };
  add("models", sources.models);
  add("cache", sources.cache);
  add("requests", sources.requests);
  parts.push_back({"rest", left, left});
  parts.push_back({"files", sources.process.file, sources.process.file});
  parts.push_back({"shared", sources.process.shared, sources.process.shared});
  return parts;
}

std::string memory_json(const CatalogLook& look, const MemorySources& sources, const ProcessStart& start) {
  return object_json([&](CheckedWriter& json) {
    write_member(json, "run", start.run);
    write_member(json, "time_ms", look.wall_ms);
    write_member(json, "resident_bytes", sources.process.resident);
    write_array(json, "parts", memory_parts(sources), [&](const MemoryPart& part) {
      write_object(json, [&] {
        write_member(json, "owner", part.owner);
        write_member(json, "bytes", part.bytes);
        write_member(json, "counted_bytes", part.counted);
      });
    });
    write_member(json, "device_bytes", look.all_memory.device_bytes);
    write_member(json, "matching", look.memory_models);
    write_array(json, "models", look.memory, [&](const ModelMemory& model) {
      write_object(json, [&] {
        write_member(json, "name", model.name);
        write_member(json, "version", std::to_string(model.version));
        write_member(json, "bytes", model.bytes);
        write_member(json, "device_bytes", model.device_bytes);
      });
    });
    write_array(json, "processes", sources.children, [&](const ChildProcess& child) {
      write_object(json, [&] {
        write_member(json, "pid", child.pid);
        write_member(json, "name", child.name);
        write_member(json, "resident_bytes", child.resident_bytes);
      });
    });
  });
}

void answer_memory(Host& host, HttpExchange& exchange, const CatalogLook& look, const ProcessStart& start) {
  MemorySources sources{process_memory(), look.all_memory.bytes, cache_bytes(host.registry()),
                        request_bytes(host.registry()), child_processes(kMostChildren)};
  std::stable_sort(
      sources.children.begin(), sources.children.end(),
      [](const ChildProcess& a, const ChildProcess& b) { return a.resident_bytes > b.resident_bytes; });
  answer_json(exchange, 200, memory_json(look, sources, start));
}

}  // namespace atl::frontends::console
