/// A model of a multi-model endpoint, as an event.
#pragma once

#include <string_view>

#include "atoll/core/text.h"

namespace atl::frontends::sagemaker {

/// Retained while SageMaker has the model loaded, so that an instance of the plugin that takes the place of another knows it.
struct HostedModel {
  static constexpr std::string_view kEventId = "atoll.sagemaker_model/1";

  FixedText<256> name;         ///< by which SageMaker calls it: a hash of its archive
  FixedText<256> model;        ///< its name in the catalog
  FixedText<1024> url;         ///< the folder that SageMaker has unpacked
  FixedText<1024> repository;  ///< what was added to the repositories for it
  std::string_view key() const noexcept { return name.view(); }
};

}  // namespace atl::frontends::sagemaker
