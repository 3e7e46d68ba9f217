/// TensorFlow's library: where it is looked for, and how it gets into a process that may have other things in it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "atoll/abi/plugin.h"
#include "atoll/core/status.h"
#include "backends/tensorflow/library/tf_api.h"

namespace atl::tensorflow {

/// The file that is opened; libtensorflow_framework.so.2, which it needs, lies beside it.
inline constexpr char kLibraryName[] = "libtensorflow_cc.so.2";

/// The files that may be there, in the order in which they are tried: that of the package tensorflow in each of the user's folders
/// of Python packages, then that of the installation (lib/atoll/engines/tensorflow).
/// \param own_file  of the plugin, absolute [control]
std::vector<std::string> library_files(const std::string& own_file);

/// Keeps TensorFlow from writing what it thinks of this machine to standard error, unless TF_CPP_MIN_LOG_LEVEL is set already.
/// Before the library is opened, which reads it. [control]
void quiet_tensorflow() noexcept;

/// Whether the process has a sanitizer, with an allocator of its own. The compiler's macros do not tell it everywhere: sdk/proto
/// hides ThreadSanitizer from protobuf's headers.
inline constexpr bool kIsSanitized = std::string_view(ATOLL_TAG_SANITIZER) != "none";

/// What the process has that TensorFlow cannot be loaded beside in the usual way.
struct ProcessSymbols {
  bool has_protobuf = false;  ///< in the global scope: TensorFlow, which has one of its own, would call it
  bool has_other_malloc = false;  ///< another one than the C library's

  static ProcessSymbols of_process() noexcept;
};

/// The flags that the library is opened with. Errors: FAILED_PRECONDITION there are none with which it would work.
Result<int> open_flags(const ProcessSymbols& symbols) noexcept;

/// Opens the first of the files that is there, which then stays open: TensorFlow cannot be unloaded. [any]
/// Errors: FAILED_PRECONDITION there is none, or it cannot be used, with the reason and what to do.
Result<TfApi> open_first_library(const std::vector<std::string>& files) noexcept;

/// The same once for the process: after the first success the files are not looked at. After a failure the next call tries again. [any]
Result<const TfApi*> open_tensorflow(const std::vector<std::string>& files) noexcept;

}  // namespace atl::tensorflow
