/// Arithmetic on configured shapes, where -1 stands for any extent.
#pragma once

#include <google/protobuf/repeated_field.h>

#include <cstdint>
#include <optional>
#include <string>

#include "configs/pbtxt/checks/findings.h"
#include "model_config.pb.h"

namespace atl::pbtxt {

using Dims = google::protobuf::RepeatedField<int64_t>;

/// Product of the extents that are known (1 for none); nothing if it does not fit into 63 bits.
std::optional<int64_t> known_elements(const Dims& dims);

/// Elements as the reference counts them: -1 with a variable extent, 0 for an empty shape. The product must
/// fit.
int64_t count_elements(const Dims& dims);

/// Bytes of an element; 4 for TYPE_STRING, whose elements have at least a length.
int64_t element_bytes(inference::DataType type);

/// Whether elements and bytes can be counted. Finds "element count for tensor '<t>' exceeds maximum size of
/// 9223372036854775807", the same for "byte size".
bool check_shape(const Dims& dims, inference::DataType type, const std::string& tensor,
                 const std::string& field, Findings& findings);

/// Whether a tensor of so many dimensions, the batch dimension included, can be carried by a request. \param
/// what "model input 'x'".
bool check_rank(int rank, const std::string& what, const std::string& model, const std::string& field,
                Findings& findings);

}  // namespace atl::pbtxt
