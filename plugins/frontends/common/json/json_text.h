/// Small JSON texts, as the answers of management calls are.
#pragma once

#include <string>

#include "atoll/lib/json_writer.h"
#include "frontends/common/json/json_writer.h"

namespace atl::frontends {

/// What `write` writes with the JsonWriter it is given.
template <class Write>
std::string json_text(Write&& write) {
  JsonOutput out;
  JsonWriter writer(out);
  write(writer);
  return std::string(out.text());
}

}  // namespace atl::frontends
