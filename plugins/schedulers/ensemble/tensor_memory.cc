#include "schedulers/ensemble/tensor_memory.h"

#include <new>
#include <utility>

namespace atl::ensemble {

/// Before the bytes, or alone where they are not of the pool. Users of an output may make its buffer smaller, so
/// what it had is kept here.
struct alignas(BlockPool::kAlignment) TensorMemory::Head {
  uint64_t size_bytes = 0;
  schedulers::StateBlock elsewhere = {};  ///< none: the bytes follow
};

Status TensorMemory::allocate(OutputTensor& output, uint64_t size_bytes, MemoryKind kind, int64_t device_id,
                              bool ahead) noexcept {
  const uint64_t used = used_bytes_.fetch_add(size_bytes, std::memory_order_relaxed);
  if (limit_bytes_ != 0 && (used > limit_bytes_ || size_bytes > limit_bytes_ - used)) {
    used_bytes_.fetch_sub(size_bytes, std::memory_order_relaxed);
    return make_status(Code::kResourceExhausted, "output '", output.name, "' takes ", size_bytes,
                       " bytes, the tensors between the steps of the ensemble take ", used,
                       " bytes, and the limit of both is ", limit_bytes_, " bytes (option 'tensor_memory')");
  }
  if (kind != MemoryKind::kCpu && allocate_elsewhere(output, size_bytes, kind, device_id, ahead).ok())
    return {};
  void* block = size_bytes < UINT64_MAX - sizeof(Head) ? pool_.take(sizeof(Head) + size_bytes) : nullptr;
  if (block == nullptr) {
    used_bytes_.fetch_sub(size_bytes, std::memory_order_relaxed);
    return make_status(Code::kResourceExhausted, "no memory for the ", size_bytes, " bytes of output '",
                       output.name, "'");
  }
  auto* head = new (block) Head{size_bytes};
  output.buffer = {};
  output.buffer.data = head + 1;
  output.buffer.size_bytes = size_bytes;
  output.sink_data = reinterpret_cast<uint64_t>(head);
  return {};
}

Status TensorMemory::allocate_elsewhere(OutputTensor& output, uint64_t size_bytes, MemoryKind kind,
                                        int64_t device_id, bool ahead) noexcept {
  Result<schedulers::StateBlock> block = others_.allocate(size_bytes, kind, device_id);
  if (!block.ok()) return std::move(block).status();
  auto* head = new Head{size_bytes, std::move(block).value()};
  output.buffer = head->elsewhere.buffer();
  output.buffer.size_bytes = size_bytes;
  if (ahead && output.buffer.kind == MemoryKind::kGpu) output.buffer.ready_after = head->elsewhere.event();
  output.sink_data = reinterpret_cast<uint64_t>(head);
  return {};
}

uint64_t TensorMemory::free(OutputTensor& output) noexcept {
  auto* head = reinterpret_cast<Head*>(std::exchange(output.sink_data, 0));
  if (head == nullptr) return 0;
  const uint64_t size_bytes = head->size_bytes;
  used_bytes_.fetch_sub(size_bytes, std::memory_order_relaxed);
  if (head->elsewhere) {
    delete head;
    return size_bytes;
  }
  head->~Head();
  pool_.give_back(head, sizeof(Head) + size_bytes);
  return size_bytes;
}

}  // namespace atl::ensemble
