/// Calls that ask about models.
#pragma once

#include <string>

#include "atoll/core/status.h"
#include "frontends/tfserving/calls/serving_context.h"

namespace atl::frontends::tfserving {

/// {"model_version_status": [...]}, the highest version first. Lists the repositories, so it may take long.
/// Errors: NOT_FOUND no such version was ever loaded; as ModelCatalog::index().
Result<std::string> model_status_json(const RestContext& context, const CallTarget& target,
                                      const CallOrigin& origin);
/// {"model_spec": ..., "metadata": {"signature_def": ...}}. Errors: as RestContext::find().
Result<std::string> metadata_json(const RestContext& context, const CallTarget& target,
                                  const CallOrigin& origin);
/// {"models": ["a", "b"]}: those that are ready, as KServe lists them. Errors: as ModelCatalog::index().
Result<std::string> models_json(const RestContext& context, const CallOrigin& origin);

}  // namespace atl::frontends::tfserving
