/// What every call of this frontend may use. Lives from start to stop.
#pragma once

#include "atoll/host.h"
#include "common/management/management.h"
#include "settings.h"

namespace atl::frontends::http {

struct Backplane {
  Host& host;
  Settings settings;
  ServerAccess server;
};

}  // namespace atl::frontends::http
