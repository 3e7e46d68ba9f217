/// The shared frontend fixture, for tests of this frontend alone.
#pragma once

#include "frontends/common/grpc/testing/frontend_fixture.h"

namespace atl::frontends::grpc_frontend {

using namespace grpc_cases;

}  // namespace atl::frontends::grpc_frontend
