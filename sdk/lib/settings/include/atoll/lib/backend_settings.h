/// Settings of backends as options: "<backend>.<setting>" = "<value>"; a key without a dot goes to all.
#pragma once

#include <string>
#include <string_view>

#include "atoll/core/option_check.h"
#include "atoll/core/text.h"

namespace atl {

/// Reports each key of such an option that names no backend or no setting.
inline void check_backend_settings(OptionCheck& check, std::string_view option) {
  for (const auto& [key, value] : check.options().get_map(option)) {
    if (!key.empty() && key.front() != '.' && key.back() != '.') continue;
    check.report(option, key,
                 cat("found the key '", key, "', expected '<backend>.<setting>' or '<setting>'"));
  }
}

}  // namespace atl
