/// What every call of this frontend may use. Lives from start to stop.
#pragma once

#include "atoll/host.h"
#include "atoll/model.h"
#include "atoll/model_control.h"
#include "settings.h"

namespace atl::frontends::grpc_frontend {

struct Backplane {
  Host& host;
  Settings settings;
  Service<ModelCatalog> catalog;
  Service<ModelControl> control;  ///< empty: no plugin lets clients load models
};

}  // namespace atl::frontends::grpc_frontend
