/// The texts that clients of this protocol compare, byte for byte. Every other message says subject, found
/// and expected in its own words. Functions build the texts that hold names.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "atoll/core/text.h"

namespace atl::frontends::messages {

inline constexpr std::string_view kServerExiting = "Server exiting";
/// The last event of a stream that the server ends before the model does.
inline constexpr std::string_view kCutByEnd = "The server ends, and has cut this answer off.";
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

inline constexpr std::string_view kJsonTooDeep = "JSON nesting depth exceeds maximum allowed limit (100)";
inline constexpr std::string_view kJsonMalformed = "failed to parse the request JSON buffer: ";
inline constexpr std::string_view kHttpReservedParameter =
    "parameter keys starting with 'triton_' are reserved for Triton usage and should not be specified.";
inline constexpr std::string_view kHttpRegionAndClassification =
    "Output can't set both 'shared_memory_region' and 'classification'";
inline constexpr std::string_view kHttpRegionAndBinary =
    "Output can't set both 'shared_memory_region' and 'binary_data'";
inline constexpr std::string_view kDataShape =
    "Unable to parse 'data': Shape does not match true shape of 'data' field";
inline constexpr std::string_view kOneDataSource =
    "Input must set only one of the following fields: 'data', 'binary_data_size' in 'parameters', "
    "'shared_memory_region' in 'parameters'. But";
inline constexpr std::string_view kNestedSchemaIsInput =
    "Keyword 'parameters' for nested schema also given as input tensor name";
inline constexpr std::string_view kNestedSchemaType =
    "Expected JSON object for keyword: 'parameters': attempt to access JSON non-object as object";

/// Of a request for a model that another server serves.
inline std::string remote_shared_memory(std::string_view model) {
  return cat("model '", model,
             "' is served by another server, which does not see shared memory that is registered here: send "
             "its tensors in the request, or call that server itself");
}
inline std::string remote_without_grpc(std::string_view model) {
  return cat("the server that has model '", model, "' does not speak gRPC: use HTTP");
}

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
inline std::string region_too_small(std::string_view output, uint64_t region_bytes, uint64_t needed_bytes) {
  return cat("shared memory size specified with the request for output '", output, "' (", region_bytes,
             " bytes) should be at least ", needed_bytes, " bytes to hold the results");
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
inline std::string reserved_header(std::string_view header) {
  return cat("Header '", header, "' is reserved for Triton usage and cannot be forwarded.");
}
inline std::string http_parameter_type(std::string_view key) {
  return cat("parameter '", key, "' has invalid type. It should be either 'int', 'bool', or 'string'.");
}
inline std::string invalid_datatype(std::string_view input) {
  return cat("invalid datatype for input ", input);
}
inline std::string no_json_input(std::string_view datatype, std::string_view input) {
  return cat("receiving ", datatype,
             " data via JSON is not supported. Please use the binary data format for input ", input);
}
inline std::string no_json_output(std::string_view datatype) {
  return cat("sending ", datatype,
             " data via JSON is not supported. Please use the binary data format for output");
}
/// \param shape  "[4,5]"
inline std::string too_many_elements(std::string_view input, std::string_view shape) {
  return cat("invalid shape for input '", input, "': shape ", shape,
             " causes total element count to exceed maximum size of 9223372036854775807");
}
inline std::string byte_size_overflow(std::string_view input, std::string_view shape,
                                      std::string_view datatype) {
  return cat("byte size overflow for input '", input, "': shape ", shape, " of ", datatype,
             " takes more than 9223372036854775807 bytes");
}
inline std::string input_size_hint(uint64_t max_bytes) {
  return cat(max_bytes, " bytes. Use --http-max-input-size to increase the limit.");
}
inline std::string json_too_large(uint64_t size_bytes, uint64_t max_bytes) {
  return cat("request JSON size of ", size_bytes, " bytes exceeds the maximum allowed input size of ",
             input_size_hint(max_bytes));
}
inline std::string json_input_too_large(std::string_view input, uint64_t size_bytes, uint64_t max_bytes) {
  return cat("JSON input '", input, "' has a byte_size (", size_bytes,
             " bytes) that exceeds the maximum allowed value of ", input_size_hint(max_bytes));
}
inline std::string raw_input_too_large(uint64_t size_bytes, uint64_t max_bytes) {
  return cat("Raw input has a byte_size (", size_bytes, " bytes) that exceeds the maximum allowed value of ",
             input_size_hint(max_bytes));
}
/// \param used_bytes  of the inputs before this one
inline std::string generate_input_too_large(uint64_t used_bytes, std::string_view input, uint64_t size_bytes,
                                            uint64_t max_bytes) {
  return cat("request size of ", used_bytes, " bytes with input '", input, "' of size ", size_bytes,
             " bytes exceeds the maximum allowed input size of ", max_bytes,
             ". Use --http-max-input-size to increase the limit.");
}
inline std::string binary_missing(std::string_view input, uint64_t missing_bytes, std::string_view model) {
  return cat("unexpected size for input '", input, "', expecting ", missing_bytes,
             " additional bytes for model '", model, "'");
}
inline std::string binary_left_over(std::string_view model) {
  return cat("unexpected additional input data for model '", model, "'");
}
inline std::string header_length_range(uint64_t body_bytes, std::string_view got) {
  return cat("inference header size should be in range (0, ", body_bytes, "), got: ", got);
}
inline std::string header_length_not_number(std::string_view got) {
  return cat("Unable to parse Inference-Header-Content-Length, got: ", got);
}
inline std::string schema_no_shape(std::string_view input) {
  return cat("The schema can not convert input '", input, "' to tensor with proper shape");
}
inline std::string address_in_use(std::string_view address) {
  return cat("Socket '", address, "' already in use ");
}

}  // namespace atl::frontends::messages
