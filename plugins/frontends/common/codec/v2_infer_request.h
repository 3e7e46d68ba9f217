/// Reads an inference.ModelInferRequest in place: from the slices the socket was read into, straight into an
/// atl::Request, without protobuf objects.
///
///     V2InferRequest message;
///     // Structure, and the names of model and version.
///     ATOLL_RETURN_IF_ERROR(message.parse(slices, request.arena()));
///     ... find the model, so that an unknown one is reported before anything else ...
///     // Meaning: parameters, inputs, outputs.
///     ATOLL_RETURN_IF_ERROR(message.fill(request, regions));
///
/// Texts are copied into the request's arena. Entries of raw_input_contents are not copied: they become
/// borrowed buffers that point into the slices, several if the tensor crosses slices, so the slices must live
/// until the request is released. Typed `contents` are converted into memory of the arena or of this object,
/// which must live as long. Inputs in shared memory are used in place, BYTES are copied. Fields may come in
/// any order; unknown ones are skipped.
///
/// Limits (INVALID_ARGUMENT beyond): 1,024 inputs and outputs together, 32 dimensions, 1,024 parameters,
/// names 255 bytes, id 64 KiB. Not thread safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "atoll/core/status.h"
#include "atoll/request/request.h"
#include "frontends/common/call/region_uses.h"
#include "frontends/common/codec/owned_bytes.h"
#include "frontends/common/codec/wire_format.h"

namespace atl::frontends {

inline constexpr uint32_t kMaxTensors = 1024;
inline constexpr uint32_t kMaxParameters = 1024;
inline constexpr size_t kMaxNameBytes = 255;
inline constexpr size_t kMaxIdBytes = 64 * 1024;
inline constexpr size_t kMaxSequenceIdBytes = 128;

/// An InferParameter; kNone is an empty oneof.
struct V2Value {
  enum class Kind : uint32_t { kNone, kBool, kInt, kString, kDouble, kUint };
  Kind kind = Kind::kNone;
  bool present = false;  ///< the map has the key
  std::string_view text;
  union {
    int64_t int_value = 0;
    uint64_t uint_value;
    double double_value;
    bool bool_value;
  };
};

/// The parameters of an input or output that mean something; others are ignored.
struct V2TensorParameters {
  V2Value region;
  V2Value offset;
  V2Value byte_size;
  V2Value classification;
};

struct V2Input {
  std::string_view name;
  DataType datatype = DataType::kInvalid;
  bool has_contents = false;
  std::span<const int64_t> shape;
  V2TensorParameters* parameters = nullptr;  ///< null: none
  WireReader contents;         ///< the first piece of the `contents` message, mostly the only one
  WireReader behind_contents;  ///< the rest of the input, which may hold further pieces
};

struct V2Output {
  std::string_view name;
  V2TensorParameters* parameters = nullptr;
};

struct V2Parameter {
  std::string_view key;
  V2Value value;
};

class V2InferRequest {
 public:
  /// Errors: INVALID_ARGUMENT malformed, or over a limit.
  Status parse(std::span<const ByteSpan> slices, Arena& arena) noexcept;

  /// Only after parse() succeeded, with the same request's arena. Sets id, sequence, priority, timeout,
  /// parameters, inputs and outputs. What is in shared memory is held by `regions` until it releases.
  /// \param typed_limit  of all typed contents once they are converted
  /// Errors: INVALID_ARGUMENT, NOT_FOUND shared memory region, UNIMPLEMENTED sequence id too long,
  /// RESOURCE_EXHAUSTED no memory to convert typed contents or to copy BYTES out of a region.
  Status fill(Request& request, RegionUses& regions, CopyLimit typed_limit = {}) noexcept;

  std::string_view model_name() const noexcept { return model_name_; }
  std::string_view model_version() const noexcept { return model_version_; }
  std::string_view id() const noexcept { return id_; }
  /// Whether an input or output is to be in a shared memory region.
  bool uses_shared_memory() const noexcept;
  /// The client's request for a final response without data (decoupled models on streams); set by fill().
  bool empty_final_response() const noexcept { return empty_final_response_; }

  /// Counts what is converted or copied from here on. Set once, before use; outlives this.
  void set_charge(RequestCharge& charge) noexcept { owned_.set_charge(charge); }
  /// Lets go of everything; call before the arena is reset.
  void reset() noexcept;

 private:
  Status parse_field(uint32_t field, WireReader value) noexcept;
  Status parse_input(WireReader message) noexcept;
  Status parse_shape(WireReader& message, WireType type, int64_t* dims, uint32_t* rank) noexcept;
  Status parse_output(WireReader message) noexcept;
  Status parse_parameter(WireReader entry, std::string_view* key, V2Value* value) noexcept;
  Status parse_value(WireReader message, V2Value* value) noexcept;
  Status parse_tensor_parameter(WireReader entry, V2TensorParameters** parameters) noexcept;
  Status parse_text(WireReader value, std::string_view what, size_t max_bytes,
                    std::string_view* text) noexcept;

  Status fill_parameters(Request& request) noexcept;
  Status fill_sequence_id(const V2Value& value, Request& request) noexcept;
  Status fill_reserved(const V2Parameter& parameter, Request& request, bool* known) noexcept;
  Status fill_tensors(Request& request) noexcept;
  Status fill_data(Request& request, RegionUses& regions, CopyLimit typed_limit) noexcept;
  Status fill_outputs(Request& request, RegionUses& regions) noexcept;

  Arena* arena_ = nullptr;
  std::string_view model_name_;
  std::string_view model_version_;
  std::string_view id_;
  ArenaList<V2Parameter> parameters_;
  ArenaList<V2Input> inputs_;
  ArenaList<V2Output> outputs_;
  ArenaList<WireReader> raw_;  ///< at most kMaxTensors + 1 entries of raw_input_contents
  OwnedBytes owned_;
  bool empty_final_response_ = false;
};

}  // namespace atl::frontends
