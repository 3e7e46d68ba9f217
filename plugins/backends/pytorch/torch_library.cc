#include "backends/pytorch/torch_library.h"

#include "backends/pytorch/torch_backend.h"

extern "C" [[gnu::visibility("default")]] atl::Backend* atoll_pytorch_make_backend(const atl::Clock& clock,
                                                                                   atl::Log& log,
                                                                                   int64_t intra_op_threads) {
  auto* backend = new atl::pytorch::TorchBackend(clock, log);
  backend->open(intra_op_threads);
  return backend;
}

extern "C" [[gnu::visibility("default")]] void atoll_pytorch_free_backend(atl::Backend* backend) {
  delete static_cast<atl::pytorch::TorchBackend*>(backend);
}
