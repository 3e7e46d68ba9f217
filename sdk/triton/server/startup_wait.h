/// The wait of a program for the models that its server starts with.
#pragma once

#include "atoll/core/startup.h"
#include "atoll/core/status.h"
#include "atoll/models/model.h"

namespace atl::triton {

/// Waits until the models of the start are loaded, or have failed. Errors: INTERNAL the repository cannot be listed, or
/// one of them has failed and `all`.
Status wait_for_startup(const Startup& startup, ModelCatalog& catalog, bool all);

}  // namespace atl::triton
