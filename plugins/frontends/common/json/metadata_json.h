/// Metadata of server and models as JSON. Member order is the protocol's.
#pragma once

#include <string>

#include "grpc_service.pb.h"

namespace atl::frontends {

/// {"name","version","extensions":[]}
std::string server_metadata_json(const inference::ServerMetadataResponse& metadata);
/// {"name","versions":[],"platform","inputs":[{"name","datatype","shape":[]}],"outputs":[...]}
std::string model_metadata_json(const inference::ModelMetadataResponse& metadata);

}  // namespace atl::frontends
