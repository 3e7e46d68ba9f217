/// A tensor's values as the trace file shows them: "1,2,3".
#pragma once

#include <string>

#include "telemetry/trace/record.h"

namespace atl::tracing {

/// SettingValues joined by commas; those that were not recorded are left out and "..." stands for them. BOOL is 0 or
/// 1, floating point the shortest text that reads back as the same value, an element of BYTES a JSON string.
std::string tensor_text(const RecordedTensor& tensor);

/// "1,3"; empty for a scalar.
std::string dims_text(const RecordedTensor& tensor);

}  // namespace atl::tracing
