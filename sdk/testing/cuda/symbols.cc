/// What the library exports: two functions of the driver, by which all others are found, and its own.
#include <cstring>

#include "control.h"
#include "driver.h"

namespace atl::cuda_double {
namespace {

struct Symbol {
  const char* name;
  int32_t version;  ///< since which it has this signature
  void* function;
};

const Symbol kSymbols[] = {
#define ATOLL_CUDA_ENTRY(name, version, need, parameters) \
  {#name, version, reinterpret_cast<void*>(&api::name)},
    ATOLL_CUDA_SYMBOLS(ATOLL_CUDA_ENTRY)
#undef ATOLL_CUDA_ENTRY
        {"cuInit", 2000, reinterpret_cast<void*>(&initialise)},
};

/// From these versions on the names stand for other signatures, which the double has not.
constexpr struct {
  const char* name;
  int32_t version;
} kChanged[] = {{"cuLaunchHostFunc", 13010}};

bool has_changed(const char* name, int32_t version) {
  for (const auto& one : kChanged) {
    if (std::strcmp(one.name, name) == 0 && version >= one.version) return true;
  }
  return false;
}

/// \return null: there is none; then state says why
void* find_symbol(const char* name, int32_t version, int32_t driver_version, CudaSymbolState& state) {
  state = CudaSymbolState::kNotFound;
  for (const Symbol& symbol : kSymbols) {
    if (std::strcmp(symbol.name, name) != 0 || symbol.version > driver_version) continue;
    if (version < symbol.version) {
      state = CudaSymbolState::kDriverTooOld;
      return nullptr;
    }
    if (has_changed(name, version)) return nullptr;
    state = CudaSymbolState::kFound;
    return symbol.function;
  }
  return nullptr;
}

}  // namespace
}  // namespace atl::cuda_double

extern "C" {

__attribute__((visibility("default"))) atl::CudaResult cuInit(uint32_t flags) {
  return atl::cuda_double::initialise(flags);
}

__attribute__((visibility("default"))) atl::CudaResult cuGetProcAddress_v2(const char* symbol,
                                                                           void** function, int32_t version,
                                                                           uint64_t flags,
                                                                           atl::CudaSymbolState* state) {
  using atl::CudaResult;
  constexpr uint64_t kMostFlags = atl::kCudaStreamPerThread;
  if (symbol == nullptr || function == nullptr || flags > kMostFlags) return CudaResult::INVALID_VALUE;
  const int32_t driver_version = atl::cuda_double::driver_version();
  atl::CudaSymbolState found = atl::CudaSymbolState::kNotFound;
  // The double has no streams of threads, so none of the forms that use them.
  const bool is_served = flags != atl::kCudaStreamPerThread;
  *function = is_served ? atl::cuda_double::find_symbol(symbol, version, driver_version, found) : nullptr;
  if (state != nullptr) *state = found;
  return CudaResult::SUCCESS;
}

__attribute__((visibility("default"))) const atl::test::CudaDouble* atoll_cuda_double() {
  return &atl::cuda_double::control();
}
}
