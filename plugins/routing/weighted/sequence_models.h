/// Which models keep state between requests.
#pragma once

#include "atoll/models/model.h"

namespace atl::routing {

/// Whether a model's configuration has sequence_batching: then requests belong together.
bool serves_sequences(const ModelInfo& info) noexcept;

}  // namespace atl::routing
