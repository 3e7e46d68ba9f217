/// Tensors as clients give them in JSON: nested lists whose form is the shape.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "atoll/core/status.h"
#include "atoll/lib/checked_document.h"
#include "atoll/request/tensor.h"

namespace atl::frontends::tfserving {

/// One input with all of its rows, as a request has it.
struct GivenTensor {
  std::string name;
  DataType datatype = DataType::kInvalid;
  std::vector<int64_t> shape;
  std::string bytes;
  /// Of BYTES: where each row along the first dimension begins in `bytes`, and where the last one ends.
  std::vector<size_t> row_begins;

  /// The bytes of some rows. \param first, count  lie within shape[0]
  std::string_view rows(int64_t first, int64_t count) const noexcept;
};

/// Reads values into one tensor. The first value fixes the form of all others.
class TensorBuilder {
 public:
  /// \param budget  elements that may still be read, of all tensors of the call together
  TensorBuilder(std::string name, DataType datatype, uint64_t& budget);
  TensorBuilder(const TensorBuilder&) = delete;
  TensorBuilder& operator=(const TensorBuilder&) = delete;

  /// One more row. Errors: INVALID_ARGUMENT a value of another type or range, a list of another length; the text names input,
  /// index and what was expected; too many elements; it is not the next row.
  /// \param row  its number, from 0
  Status add_row(int64_t row, const CheckedValue& value);
  /// The value is the whole tensor, in place of rows. Errors: as add_row().
  Status set_all(const CheckedValue& value);
  /// After the last row.
  GivenTensor finish() &&;

 private:
  Status add(const CheckedValue& value, size_t depth);
  Status add_element(const CheckedValue& value);
  template <class Integer>
  Status add_integer(const CheckedValue& value);
  Status add_floating(const CheckedValue& value);
  Status add_bytes(const CheckedValue& value);
  Status wrong(std::string_view found, std::string_view expected) const;
  /// "[1][0]"
  std::string place() const;

  GivenTensor tensor_;
  uint64_t& budget_;
  std::vector<int64_t> at_;       ///< index in each list that is being read
  std::vector<int64_t> lengths_;  ///< of the lists, by depth; -1: not known yet
  bool has_rank_ = false;         ///< an element has been read: lengths_ has one entry for each dimension
  int64_t rows_ = 0;
  bool is_whole_ = false;  ///< set_all() was called
};

/// Whether the value is what stands for bytes: {"b64": "..."}.
bool is_base64(const CheckedValue& value) noexcept;

}  // namespace atl::frontends::tfserving
