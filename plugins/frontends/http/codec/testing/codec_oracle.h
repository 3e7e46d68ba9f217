/// What must hold for every body, however damaged: used by the fuzz targets and by the test of damaged
/// bodies.
#pragma once

#include <string>
#include <string_view>

#include "frontends/http/codec/testing/codec_test_support.h"

namespace atl::frontends::http {

/// \returns what is wrong; empty: nothing
std::string check_infer(const ReadBody& read, size_t json_bytes);
std::string check_generate(const ReadGenerate& read, const ModelInfo& model);

/// A model with an input of every datatype that generate may be asked to fill, the first named "I".
ModelInfo every_type_model();

}  // namespace atl::frontends::http
