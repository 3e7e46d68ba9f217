/// Requests that stand for rows of a batch which nobody has a request for.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string_view>
#include <vector>

#include "atoll/request/request.h"
#include "schedulers/common/batch/batch_compatibility.h"

namespace atl::schedulers {

/// Those of one instance. A row has the inputs that clients gave a request of its batch, with their names, types and shapes;
/// their elements are zero, empty where they are BYTES, but for shape tensors, whose values are copied. It asks
/// for no outputs, its responses are dropped, and no statistics count it (kShadow).
class NullRows {
 public:
  /// \param compatibility  which inputs are shape tensors; outlives this object
  explicit NullRows(const BatchCompatibility& compatibility);
  NullRows(const NullRows&) = delete;
  NullRows& operator=(const NullRows&) = delete;
  /// When all rows were taken back.
  ~NullRows();

  /// One more row for the batch of `reference`. By one thread at a time.
  Request& give(const Request& reference);
  /// A row that is released and has its final response. [any]
  static void take_back(Request& row) noexcept;
  /// A row may be released with kReleaseReschedule: it has ended then. For models that are executed several times a
  /// request, and cannot tell a row from one.
  static void allow_reschedule(Request& row) noexcept;

 private:
  class Row;
  struct Freed {
    void operator()(std::byte* bytes) const noexcept { std::free(bytes); }
  };

  Row& unused_row();
  void copy_input(Request& row, const InputTensor& from);
  bool is_shape_tensor(std::string_view name) const noexcept;
  std::byte* zeros(uint64_t size_bytes);

  const BatchCompatibility& compatibility_;
  std::vector<std::unique_ptr<Row>> rows_;
  /// Each twice as large as the one before, or more: rows that are in use may still point to earlier ones.
  std::vector<std::unique_ptr<std::byte[], Freed>> zeros_;
  uint64_t zeros_bytes_ = 0;
};

}  // namespace atl::schedulers
