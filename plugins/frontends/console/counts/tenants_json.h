/// GET /v2/console/tenants.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "atoll/frontend/access.h"
#include "atoll/lib/checked_json.h"
#include "frontends/console/counts/count_reader.h"
#include "frontends/console/process_facts.h"

namespace atl::frontends::console {

/// A tenant as admission counts it.
struct CountedTenant {
  std::string name;
  double running = 0, waiting = 0;
  double admitted = 0, waited = 0, wait_seconds = 0;        ///< since the server's start
  double prompt_tokens = 0, generated_tokens = 0;           ///< likewise, of language models
  double weight = 0, concurrency = 0, rate = 0, queue = 0;  ///< its quota
  double tokens = 0;                                        ///< of it, a second
  std::map<std::string, double, std::less<>> refused;       ///< by reason, since the server's start
};

/// In the order of admission: named ones first.
std::vector<CountedTenant> tenants_of(const CountReading& reading);
void write_tenant(CheckedWriter& json, const CountedTenant& tenant);

/// \param identity  null: all may be seen; who may not see all sees its own tenant
std::string tenants_json(const CountReading& reading, const ProcessStart& start, const Identity* identity);

}  // namespace atl::frontends::console
