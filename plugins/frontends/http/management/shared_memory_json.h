/// Registration and status of shared memory regions: bodies to messages, answers to JSON.
///
/// The region's name is in the path; it is the caller's to set in the messages. All functions that read fail
/// with INVALID_ARGUMENT; the message is then of no use.
#pragma once

#include <string>
#include <string_view>

#include "atoll/core/status.h"
#include "grpc_service.pb.h"

namespace atl::frontends::http {

/// {"key":string,"offset":uint,"byte_size":uint}; offset 0 by default
Status read_system_register(std::string_view body,
                            inference::SystemSharedMemoryRegisterRequest* request) noexcept;
/// {"raw_handle":{"b64":string},"device_id":uint,"byte_size":uint}
Status read_cuda_register(std::string_view body,
                          inference::CudaSharedMemoryRegisterRequest* request) noexcept;

/// [{"name","key","offset","byte_size"}], ordered by name
std::string system_regions_json(const inference::SystemSharedMemoryStatusResponse& status);
/// [{"name","device_id","byte_size"}], ordered by name
std::string cuda_regions_json(const inference::CudaSharedMemoryStatusResponse& status);

}  // namespace atl::frontends::http
