#include "common/config_view.h"

#include <limits>
#include <utility>

namespace atl::backends {

Result<ConfigView> ConfigView::parse(std::string_view serialized) {
  ConfigView view;
  if (serialized.size() > static_cast<size_t>(std::numeric_limits<int>::max()) ||
      !view.config_.ParseFromArray(serialized.data(), static_cast<int>(serialized.size()))) {
    return internal_error("model configuration: ", serialized.size(),
                          " bytes that are not a serialized inference.ModelConfig");
  }
  return view;
}

}  // namespace atl::backends
