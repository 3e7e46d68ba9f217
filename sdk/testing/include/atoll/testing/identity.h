/// The answer that fakes give: every input comes back as an output.
#pragma once

#include <cstring>
#include <string>
#include <string_view>
#include <utility>

#include "atoll/request/request.h"

namespace atl::test {

/// "INPUT0" -> "OUTPUT0", "input" -> "output"; any other name stays.
inline std::string identity_output_name(std::string_view input) {
  if (input.starts_with("INPUT")) return "OUTPUT" + std::string(input.substr(5));
  if (input.starts_with("input")) return "output" + std::string(input.substr(5));
  return std::string(input);
}

/// Sends one response with every input as an output, or those that were asked for. If an allocation fails,
/// the response is that failure.
inline void answer_identity(Request& request, uint32_t flags = kFinal) {
  Response* response = request.sink->new_response();
  for (const InputTensor& input : request.inputs) {
    const std::string name = identity_output_name(input.name);
    if (!request.outputs.empty() && request.find_output(name) == nullptr) continue;
    OutputTensor& output = response->add_output(name, input.datatype, input.shape);
    if (Status status = response->allocate(output, input.size_bytes); !status.ok()) {
      response->outputs.truncate(0);
      response->send_error(std::move(status), flags);
      return;
    }
    auto* to = static_cast<char*>(output.buffer.data);
    for (const Buffer& from : input.buffers) {
      if (from.size_bytes != 0) std::memcpy(to, from.data, from.size_bytes);
      to += from.size_bytes;
    }
  }
  response->send(flags);
}

}  // namespace atl::test
