/// The texts that clients of this protocol compare, byte for byte. Every other message says subject, found
/// and expected in its own words. Functions build the texts that hold names.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "atoll/text.h"

namespace atl::frontends::messages {

inline constexpr std::string_view kServerExiting = "Server exiting";
inline constexpr std::string_view kServerNotReady = "Server not ready";
inline constexpr std::string_view kGrpcShuttingDown =
    "GRPC server is shutting down and has stopped accepting new requests.";
inline constexpr std::string_view kGrpcDecoupled =
    "ModelInfer RPC doesn't support models with decoupled transaction policy";
inline constexpr std::string_view kLoadNotAllowed =
    "explicit model load / unload is not allowed if polling is enabled";
inline constexpr std::string_view kRepositoryName = "'repository_name' specification is not supported";
inline constexpr std::string_view kSharedMemoryDisabled =
    "Client shared memory is disabled. Start the server with '--allow-client-shm=true' to enable.";
inline constexpr std::string_view kReservedParameter =
    "parameter keys starting with 'triton_' are reserved for Triton usage. Only the following keys starting "
    "with 'triton_' are allowed: triton_enable_empty_final_response";
inline constexpr std::string_view kSequenceIdTooLong =
    "string correlation ID cannot be longer than 128 characters";
inline constexpr std::string_view kNegativePriority = "invalid value for 'priority', expected value >= 0.";
inline constexpr std::string_view kClassificationType =
    "invalid value type for 'classification' parameter, expected int64_param";
inline constexpr std::string_view kClassificationValue =
    "invalid value for 'classification' parameter, expected >= 0";
inline constexpr std::string_view kClassificationTooLarge = "classification output tensor too large";
inline constexpr std::string_view kRegionAndClassification =
    "output can't set both 'shared_memory_region' and 'classification'";

/// "[request id: 7] "
inline std::string request_prefix(std::string_view id) {
  return cat("[request id: ", id.empty() ? std::string_view("<id_unknown>") : id, "] ");
}
/// \param expected  "bool_param"
inline std::string parameter_type(std::string_view key, std::string_view expected) {
  return cat("invalid value type for '", key, "' parameter, expected ", expected, ".");
}
inline std::string tensor_parameter_type(std::string_view key, std::string_view tensor,
                                         std::string_view expected) {
  return cat("invalid value type for '", key, "' parameter for tensor '", tensor, "', expected ", expected,
             ".");
}
inline std::string needs_region(std::string_view key, std::string_view tensor) {
  return cat("'", key, "' can not be specified without 'shared_memory_region' parameter for tensor '", tensor,
             "'");
}
inline std::string needs_byte_size(std::string_view tensor) {
  return cat(
      "'shared_memory_byte_size' must be specified along with 'shared_memory_region' parameter for tensor '",
      tensor, "'");
}
inline std::string unknown_region(std::string_view region) {
  return cat("Unable to find shared memory region: '", region, "'");
}
inline std::string raw_and_typed(std::string_view input, std::string_view model) {
  return cat("contents field must not be specified when using raw_input_contents for '", input,
             "' for model '", model, "'");
}
inline std::string content_and_region(std::string_view input, std::string_view model) {
  return cat("unexpected 'content' provided when using shared memory for input tensor '", input,
             "' for model '", model, "'");
}
inline std::string no_data(std::string_view input, std::string_view model) {
  return cat("unable to find data for input tensor '", input, "' for model '", model, "' in request.");
}
inline std::string wrong_list(std::string_view input, std::string_view model, std::string_view list_type,
                              std::string_view declared) {
  return cat("unexpected explicit tensor data for input tensor '", input, "' for model '", model,
             "' of type '", list_type, "', expected datatype '", declared, "'");
}
inline std::string second_list(std::string_view input, std::string_view model) {
  return cat("unexpected explicit tensor data for input tensor '", input, "' for model '", model,
             "', binary data was already supplied.");
}
inline std::string input_exists(std::string_view id, std::string_view input) {
  return cat(request_prefix(id), "input '", input, "' already exists in request");
}
inline std::string output_exists(std::string_view id, std::string_view output) {
  return cat(request_prefix(id), "output '", output, "' already exists in request");
}
inline std::string version_not_number(std::string_view text) {
  return cat("failed to get model version from specified version string '", text,
             "' (details: stol), version should be an integral value > 0");
}
inline std::string version_negative(std::string_view text) {
  return cat("invalid model version specified '", text, "' , version should be an integral value > 0");
}
inline std::string response_too_large(uint64_t size_bytes) {
  return cat("Response has byte size ", size_bytes, " which exceeds gRPC's byte size limit 2147483647.");
}
inline std::string not_single_response(uint32_t count) {
  return cat("expected a single response, got ", count);
}
inline std::string no_class_result(std::string_view datatype) {
  return cat("class result not available for output due to unsupported type '", datatype, "'");
}
inline std::string address_in_use(std::string_view address) {
  return cat("Socket '", address, "' already in use ");
}

}  // namespace atl::frontends::messages
