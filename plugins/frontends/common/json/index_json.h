/// The repository index as JSON.
#pragma once

#include <string>

#include "grpc_service.pb.h"

namespace atl::frontends {

/// [{"name","version","state","reason"}]; all but the name only if there is something to say.
std::string index_json(const inference::RepositoryIndexResponse& index);

}  // namespace atl::frontends
