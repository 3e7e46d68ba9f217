/// A whole manifest as text.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "atoll/core/status.h"
#include "atoll/runtime/raw_value.h"

namespace atl::serve {

/// A table as a TOML document, which reads back as the same values.
std::string toml_document(const runtime::RawValue& root);

/// The manifest `text` with settings, each "KEY=VALUE" as atoll's --set takes it. \param file  of the text, for
/// messages. Errors: INVALID_ARGUMENT with every problem, a line each.
Result<std::string> manifest_with(std::string_view text, const std::string& file,
                                  const std::vector<std::string>& settings);

}  // namespace atl::serve
