/// Reports as text and as JSON.
#pragma once

#include <span>
#include <string>

#include "atoll/core/status.h"
#include "problem.h"

namespace atl::config {

/// "<file>:<line>:<column>: <field>: <text>", with "warning: " or "note: " before the field; what is not
/// known is left out. Ends with a newline; control characters are escaped.
std::string problem_line(const Problem& problem);

/// The configuration in text format behind a comment that names the model.
std::string config_text(const ModelReport& report);

/// {"models": [{"name", "path", "config_path", "problems": [{"severity", "file", "line", "column", "field",
/// "message"}], "config"}], "errors", "warnings"}; "config", the JSON of the configuration endpoint, is there
/// only with `with_config`. Bytes that are no UTF-8 become U+FFFD.
Result<std::string> report_json(std::span<const ModelReport> reports, bool with_config);

}  // namespace atl::config
