/// What every call of this frontend may use. Lives from start to stop.
#pragma once

#include "atoll/host.h"
#include "common/management/management.h"
#include "settings.h"

namespace atl::frontends::grpc_frontend {

struct Backplane {
  Host& host;
  const Settings& settings;
  ServerAccess server;
};

}  // namespace atl::frontends::grpc_frontend
