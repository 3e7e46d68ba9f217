/// NVIDIA's runtime compiler of CUDA source, opened at run time.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "atoll/core/status.h"

namespace atl::cuda_backend {

/// Names by commas, the first that can be opened is used.
inline constexpr std::string_view kNvrtcLibraries = "libnvrtc.so.13,libnvrtc.so.12";

/// Compiles; threads may do so at the same time. Stays mapped once it is open.
class Nvrtc {
 public:
  /// \param libraries  names or paths by commas
  /// Errors: FAILED_PRECONDITION none of them can be opened or is NVRTC, with the reason of each.
  static Result<Nvrtc> open(std::string_view libraries) noexcept;
  Nvrtc(Nvrtc&&) noexcept;
  Nvrtc& operator=(Nvrtc&&) noexcept;
  ~Nvrtc();

  /// \param name  of the source, for messages \param capability  10 · major + minor of the device
  /// \return machine code for the device, or PTX where the compiler is older than the device
  /// Errors: INVALID_ARGUMENT the source or an option is refused, with the whole log; RESOURCE_EXHAUSTED; INTERNAL.
  Result<std::string> compile(const std::string& source, const std::string& name, int32_t capability,
                              std::span<const std::string> options) const noexcept;

 private:
  struct Functions;
  explicit Nvrtc(std::unique_ptr<Functions> functions) noexcept;
  std::unique_ptr<Functions> functions_;
};

}  // namespace atl::cuda_backend
