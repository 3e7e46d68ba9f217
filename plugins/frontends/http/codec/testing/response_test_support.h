/// Responses for tests of what is written.
#pragma once

#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "atoll/request/request.h"
#include "frontends/common/json/json_output.h"

namespace atl::frontends::http {

/// Adds an output whose buffer is a copy in the response's arena.
inline OutputTensor& add_output(Response& response, std::string_view name, DataType datatype,
                                std::vector<int64_t> shape, std::string_view bytes) {
  OutputTensor& output = response.add_output(name, datatype, shape);
  output.buffer.data = const_cast<char*>(response.arena().copy_text(bytes).data());
  output.buffer.size_bytes = bytes.size();
  return output;
}

template <class T>
std::string packed(const std::vector<T>& values) {
  std::string bytes(values.size() * sizeof(T), '\0');
  if (!values.empty()) std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}

/// BYTES elements with their lengths.
inline std::string packed_texts(const std::vector<std::string>& texts) {
  std::string bytes;
  for (const std::string& text : texts) {
    const auto length = static_cast<uint32_t>(text.size());
    bytes.append(reinterpret_cast<const char*>(&length), sizeof length).append(text);
  }
  return bytes;
}

inline Parameter& add_parameter(Response& response, std::string_view key, ParameterType type) {
  Parameter& parameter = response.parameters.add(response.arena());
  parameter.key = key;
  parameter.type = type;
  return parameter;
}

}  // namespace atl::frontends::http
