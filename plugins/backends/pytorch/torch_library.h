/// What of the backend is linked with libtorch, as a shared object that is opened with the first model: libtorch takes some
/// hundred megabytes and a tenth of a second, which servers without such models do not pay.
#pragma once

#include <cstdint>

#include "atoll/backend/backend.h"
#include "atoll/core/clock.h"
#include "atoll/core/log.h"

namespace atl::pytorch {

/// The one function of the shared object. \param clock, log  outlive every model
/// \param intra_op_threads  of models that do not say
/// \returns the backend, never null; freed by FreeBackend
using MakeBackend = Backend* (*)(const Clock& clock, Log& log, int64_t intra_op_threads);
using FreeBackend = void (*)(Backend* backend);
inline constexpr char kMakeBackend[] = "atoll_pytorch_make_backend";
inline constexpr char kFreeBackend[] = "atoll_pytorch_free_backend";

/// Beside the plugin's own file.
inline constexpr char kLibraryFile[] = "pytorch/torch.so";

}  // namespace atl::pytorch
