/// The answers of the ordinary methods: one function a method, from message to message.
#pragma once

#include "backplane.h"
#include "grpc_service.pb.h"
#include "unary_call.h"

namespace atl::frontends::grpc_frontend {

// --- health and metadata ---
Status server_live(Backplane& backplane, inference::ServerLiveResponse* response) noexcept;
Status server_ready(Backplane& backplane, inference::ServerReadyResponse* response) noexcept;
Status model_ready(Backplane& backplane, const inference::ModelReadyRequest& request,
                   inference::ModelReadyResponse* response) noexcept;
Status server_metadata(Backplane& backplane, inference::ServerMetadataResponse* response) noexcept;
Status model_metadata(Backplane& backplane, const inference::ModelMetadataRequest& request,
                      inference::ModelMetadataResponse* response) noexcept;
Status model_config(Backplane& backplane, const inference::ModelConfigRequest& request,
                    inference::ModelConfigResponse* response) noexcept;
Status model_statistics(Backplane& backplane, const inference::ModelStatisticsRequest& request,
                        inference::ModelStatisticsResponse* response) noexcept;

// --- repository; these answer later ---
void repository_index(Backplane& backplane, const inference::RepositoryIndexRequest& request,
                      inference::RepositoryIndexResponse* response, Finish finish) noexcept;
void repository_load(Backplane& backplane, const inference::RepositoryModelLoadRequest& request,
                     Finish finish) noexcept;
void repository_unload(Backplane& backplane, const inference::RepositoryModelUnloadRequest& request,
                       Finish finish) noexcept;

// --- shared memory: there is no such service yet, so there are no regions ---
Status shared_memory_status(const std::string& name, std::string_view kind) noexcept;

}  // namespace atl::frontends::grpc_frontend
