/// Messages of the C API.
#pragma once

#include <cstdint>
#include <string>

#include "triton/core/tritonserver.h"

struct TRITONSERVER_Message {
  std::string json;
  bool lent = false;  ///< not the caller's to delete
};

namespace atl::triton {

/// A model configuration in a message that is the caller's. \param version  that is asked for
TRITONSERVER_Error* give_config(const std::string& json, uint32_t version,
                                TRITONSERVER_Message** message) noexcept;

}  // namespace atl::triton
