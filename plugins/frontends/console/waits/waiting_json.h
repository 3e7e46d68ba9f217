/// GET /v2/console/waiting: which requests wait, and for what, as far as the server's parts say.
#pragma once

#include <string>
#include <vector>

#include "atoll/frontend/access.h"
#include "atoll/models/model.h"
#include "atoll/models/model_queues.h"
#include "frontends/console/catalog_view.h"
#include "frontends/console/counts/count_reader.h"
#include "frontends/console/process_facts.h"
#include "frontends/console/waits/model_needs.h"

namespace atl::frontends::console {

/// A pool of copies of a resource that admission shares out.
struct ResourceUse {
  std::string name;
  std::string device;  ///< its number, or "global"
  double copies = 0, in_use = 0, waiting_instances = 0;
};

/// In the order of their names.
std::vector<ResourceUse> resources_of(const CountReading& reading);

/// Of the resources that the model needs, those of which too few copies are free while instances wait for them.
std::vector<ResourceUse> scarce_of(const std::vector<ResourceUse>& resources, const ModelNeeds& needs);

/// What is known of it, and who asks.
struct WaitingSources {
  const CatalogLook& look;
  ModelCatalog& catalog;
  ModelQueues* queues = nullptr;  ///< null: nobody looks into queues, so what it says of them is a guess
  const CountReading& reading;
  int64_t now_ns = 0;  ///< Clock::now_ns()
  const ProcessStart& start;
  const Identity* identity = nullptr;  ///< null: everything may be seen; who sees some models sees those
  bool may_act = false;                ///< CallerCheck::may_act() of the call
};
std::string waiting_json(const WaitingSources& from);

}  // namespace atl::frontends::console
