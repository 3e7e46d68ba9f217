/// A record in the trace file's format.
#pragma once

#include <string>

#include "telemetry/trace/record.h"

namespace atl::tracing {

/// The elements that the record adds to the file's JSON array, joined by commas, without the brackets. For
/// each request one object that says which it is, then one an event:
///
///     {"id":1,"model_name":"m","model_version":1,"request_id":"r"},
///     {"id":1,"timestamps":[{"name":"REQUEST_START","ns":5}]},
///     {"id":1,"activity":"TENSOR_QUEUE_INPUT","tensor":{"name":"x","data":"1,2","shape":"2","dtype":"FP32"}}
std::string file_text(const Record& record);

}  // namespace atl::tracing
