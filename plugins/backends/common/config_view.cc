#include "backends/common/config_view.h"

#include "atoll/proto/parse_model_config.h"

namespace atl::backends {

Result<ConfigView> ConfigView::parse(std::string_view serialized) {
  ConfigView view;
  if (!proto::parse_model_config(serialized, &view.config_)) {
    return internal_error("model configuration: ", serialized.size(),
                          " bytes that are not a serialized inference.ModelConfig");
  }
  return view;
}

}  // namespace atl::backends
