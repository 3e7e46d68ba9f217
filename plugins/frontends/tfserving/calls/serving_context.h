/// What the calls need of the plugin.
#pragma once

#include <cstdint>

#include "atoll/core/followed_service.h"
#include "atoll/core/host.h"
#include "atoll/models/model.h"
#include "atoll/request/tracing.h"
#include "frontends/common/call/router_slot.h"
#include "frontends/common/routes/call_origin.h"
#include "frontends/tfserving/request/call_target.h"

namespace atl::frontends::tfserving {

/// Outlives the calls.
struct RestContext {
  Host& host;
  ModelCatalog& catalog;
  RouterSlot& router;
  Followed<Tracing>& tracing;
  uint64_t max_elements = 0;       ///< of the inputs of one call
  bool has_kserve_status = false;  ///< a model's status has KServe's fields, too

  /// The version that the path names; ModelCatalog::kLatest: none. Errors: INVALID_ARGUMENT no number, no such label.
  /// A model that the caller may not use has none.
  Result<int64_t> version_of(const CallTarget& target, const CallOrigin& origin) const;
  /// The model that answers. Errors: those of version_of(); NOT_FOUND "Servable not found for request: ..."; as
  /// ModelCatalog::acquire().
  /// A model that the caller may not use is as unknown.
  Result<ModelRef> find(const CallTarget& target, const CallOrigin& origin) const;
};

}  // namespace atl::frontends::tfserving
