/// GET /v2/console/plugins.
#pragma once

#include <string>

#include "frontends/console/instances/instance_list.h"
#include "frontends/console/process_facts.h"

namespace atl::frontends::console {

std::string instances_json(const InstancesView& view, const ProcessStart& start);

}  // namespace atl::frontends::console
