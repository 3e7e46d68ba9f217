#include "atoll/triton/backend.h"
#include "backend/memory_type.h"
#include "objects.h"

using namespace atl::triton;

namespace {

TRITONSERVER_Error* check(const char* function, const TRITONBACKEND_MemoryManager* manager,
                          const void* buffer, TRITONSERVER_MemoryType type) noexcept {
  if (any_null(manager, buffer)) return null_argument(function);
  if (!is_memory_type(type)) return unknown_memory_type(type);
  if (manager->memory != nullptr) return nullptr;
  return new_error(TRITONSERVER_ERROR_UNSUPPORTED, "the backend's memory manager has no memory");
}

}  // namespace

TRITONSERVER_Error* TRITONBACKEND_MemoryManagerAllocate(TRITONBACKEND_MemoryManager* manager, void** buffer,
                                                        const TRITONSERVER_MemoryType memory_type,
                                                        const int64_t memory_type_id,
                                                        const uint64_t byte_size) {
  set(buffer, nullptr);
  if (TRITONSERVER_Error* error = check(__func__, manager, buffer, memory_type); error != nullptr)
    return error;
  atl::Result<void*> given =
      manager->memory->allocate(static_cast<atl::MemoryKind>(memory_type), memory_type_id, byte_size);
  if (!given.ok()) return new_error(given.status());
  *buffer = *given;
  return nullptr;
}

TRITONSERVER_Error* TRITONBACKEND_MemoryManagerFree(TRITONBACKEND_MemoryManager* manager, void* buffer,
                                                    const TRITONSERVER_MemoryType memory_type,
                                                    const int64_t memory_type_id) {
  if (TRITONSERVER_Error* error = check(__func__, manager, buffer, memory_type); error != nullptr)
    return error;
  const atl::Status status =
      manager->memory->free(buffer, static_cast<atl::MemoryKind>(memory_type), memory_type_id);
  return status.ok() ? nullptr : new_error(status);
}
