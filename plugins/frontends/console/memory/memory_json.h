/// GET /v2/console/memory: what the memory of the server's process is for.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "atoll/core/host.h"
#include "atoll/frontend/http_routes.h"
#include "frontends/console/catalog_view.h"
#include "frontends/console/memory/process_memory.h"
#include "frontends/console/process_facts.h"

namespace atl::frontends::console {

/// What is known of it, in bytes.
struct MemorySources {
  ProcessMemory process;
  uint64_t models = 0;    ///< as backends say
  uint64_t cache = 0;     ///< as the response cache says
  uint64_t requests = 0;  ///< that requests have reserved
  std::vector<ChildProcess> children;
};

/// Who has a part of the resident memory.
struct MemoryPart {
  std::string owner;
  uint64_t bytes = 0;  ///< of the resident memory
  uint64_t counted =
      0;  ///< as its owner counts, who may have taken memory that was never written to, and so is not resident
};
/// Adds up to the resident memory of the process, whatever the owners count.
std::vector<MemoryPart> memory_parts(const MemorySources& sources);

std::string memory_json(const CatalogLook& look, const MemorySources& sources, const ProcessStart& start);

/// Answers the exchange, whose caller may see all models. [worker]
void answer_memory(Host& host, HttpExchange& exchange, const CatalogLook& look, const ProcessStart& start);

}  // namespace atl::frontends::console
