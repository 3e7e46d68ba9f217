#include "schedulers/common/state/state_config.h"

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <new>
#include <utility>

#include "atoll/core/text.h"
#include "model_config.pb.h"

namespace atl::schedulers {
namespace {

using State = inference::ModelSequenceBatching::State;
using InitialState = inference::ModelSequenceBatching::InitialState;

/// A file with the elements of an initial state.
class StateFile {
 public:
  StateFile(std::string path, const std::string& state) : path_(std::move(path)), state_(state) {}

  /// Errors: NOT_FOUND.
  Status open() {
    std::error_code failure;
    const bool is_file = std::filesystem::is_regular_file(path_, failure);
    if (is_file) size_bytes_ = std::filesystem::file_size(path_, failure);
    if (is_file && !failure) in_.open(path_, std::ios::binary);
    if (is_file && !failure && in_.is_open()) return {};
    return not_found("file '", path_, "' of the initial state '", state_, "': ",
                     failure   ? failure.message()
                     : is_file ? std::string("cannot be read")
                               : std::string("found no file"));
  }
  /// Its first bytes.
  Status read(uint64_t count, std::vector<std::byte>* bytes) {
    if (count > size_bytes_) return too_small(cat(count, " bytes"));
    bytes->resize(count);
    return read_to(bytes->data(), count);
  }
  /// Its first elements of BYTES, with their lengths.
  Status read_texts(uint64_t count, std::vector<std::byte>* bytes) {
    uint64_t left = size_bytes_;
    for (uint64_t i = 0; i < count; ++i) {
      uint32_t length = 0;
      if (left < sizeof length) return too_small(cat(count, " texts, of which it has ", i));
      const size_t at = bytes->size();
      bytes->resize(at + sizeof length);
      ATOLL_RETURN_IF_ERROR(read_to(bytes->data() + at, sizeof length));
      std::memcpy(&length, bytes->data() + at, sizeof length);  // little-endian, as the machine
      left -= sizeof length;
      if (left < length) return too_small(cat(count, " texts, of which it has ", i));
      bytes->resize(at + sizeof length + length);
      ATOLL_RETURN_IF_ERROR(read_to(bytes->data() + at + sizeof length, length));
      left -= length;
    }
    return {};
  }

 private:
  Status too_small(const std::string& expected) const {
    return invalid_argument("file '", path_, "' of the initial state '", state_, "': found ", size_bytes_,
                            " bytes, expected ", expected);
  }
  Status read_to(std::byte* to, uint64_t count) {
    if (in_.read(reinterpret_cast<char*>(to), static_cast<std::streamsize>(count))) return {};
    return not_found("file '", path_, "' of the initial state '", state_, "' cannot be read");
  }

  const std::string path_;
  const std::string& state_;
  std::ifstream in_;
  uint64_t size_bytes_ = 0;
};

Status read_initial_data(const InitialState& initial, const std::string& model_directory,
                         StateTensor* tensor) {
  const auto zeros = zeros_size_bytes(tensor->datatype, tensor->initial_dims);
  if (!zeros || *zeros == 0) return {};  // too much is refused with the layout; of nothing nothing is read
  StateFile file(cat(model_directory, "/initial_state/", initial.data_file()), tensor->input_name);
  ATOLL_RETURN_IF_ERROR(file.open());
  if (tensor->datatype != DataType::kBytes) return file.read(*zeros, &tensor->initial_data);
  return file.read_texts(*zeros / sizeof(uint32_t), &tensor->initial_data);
}

Result<StateTensor> tensor_from(const State& state, const std::string& model_directory) {
  StateTensor tensor;
  tensor.input_name = state.input_name();
  tensor.output_name = state.output_name();
  tensor.datatype = static_cast<DataType>(state.data_type());
  tensor.dims.assign(state.dims().begin(), state.dims().end());
  tensor.same_buffer = state.use_same_buffer_for_input_output();
  tensor.growable = state.use_growable_memory();
  if (state.initial_state().empty()) {
    tensor.initial_dims = tensor.dims;
    std::ranges::replace(tensor.initial_dims, int64_t{-1}, int64_t{1});
    return tensor;
  }
  const InitialState& initial = state.initial_state(0);
  tensor.initial_dims.assign(initial.dims().begin(), initial.dims().end());
  if (initial.state_data_case() == InitialState::kDataFile) {
    ATOLL_RETURN_IF_ERROR(read_initial_data(initial, model_directory, &tensor));
  }
  return tensor;
}

Result<StateLayout> layout_from(const inference::ModelConfig& config, const std::string& model_directory) {
  std::vector<StateTensor> tensors;
  for (const State& state : config.sequence_batching().state()) {
    Result<StateTensor> tensor = tensor_from(state, model_directory);
    if (!tensor.ok()) return std::move(tensor).status();
    tensors.push_back(std::move(tensor).value());
  }
  return StateLayout::make(config.name(), std::move(tensors), config.max_batch_size() > 0);
}

}  // namespace

Result<StateLayout> state_layout_from(const inference::ModelConfig& config,
                                      const std::string& model_directory) noexcept {
  try {
    return layout_from(config, model_directory);
  } catch (const std::bad_alloc&) {
    return make_status(Code::kResourceExhausted, "no memory for the initial state of model '", config.name(),
                       "'");
  }
}

}  // namespace atl::schedulers
