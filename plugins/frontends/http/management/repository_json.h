/// Index, load and unload of models: bodies to messages.
///
/// What the path says (repository and model name) is the caller's to set in the messages. All functions that
/// read fail with INVALID_ARGUMENT; the message is then of no use.
#pragma once

#include <string_view>

#include "atoll/core/status.h"
#include "grpc_service.pb.h"

namespace atl::frontends::http {

/// {"ready":bool}; may be empty.
Status read_index_request(std::string_view body, inference::RepositoryIndexRequest* request) noexcept;

/// {"parameters":{"config":"<JSON text>","file:<version>/<path>":"<base64>"}}; may be empty.
Status read_load_request(std::string_view body, inference::RepositoryModelLoadRequest* request) noexcept;
/// {"parameters":{"unload_dependents":bool}}; may be empty. Other parameters are ignored.
Status read_unload_request(std::string_view body, inference::RepositoryModelUnloadRequest* request) noexcept;

}  // namespace atl::frontends::http
