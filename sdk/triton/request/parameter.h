/// Parameter objects of the C API: labels of metrics, settings of a load, names of a repository.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "triton/core/tritonserver.h"

struct TRITONSERVER_Parameter {
  std::string name;
  TRITONSERVER_ParameterType type;
  std::string text;        ///< of a STRING
  std::string_view bytes;  ///< of BYTES: the caller's
  int64_t int_value = 0;
  double double_value = 0;
  bool bool_value = false;
};
