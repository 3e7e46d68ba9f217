/// Messages of the C API.
#pragma once

#include <string>

#include "triton/core/tritonserver.h"

struct TRITONSERVER_Message {
  std::string json;
  bool lent = false;  ///< not the caller's to delete
};
