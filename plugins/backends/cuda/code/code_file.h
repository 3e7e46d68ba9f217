/// Files of device code: which of a version's is for a device, and whether a file can be what it says it is.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "atoll/core/status.h"

namespace atl::cuda_backend {

/// The largest file of code that is read.
inline constexpr uint64_t kCodeBytesMax = uint64_t{1} << 30;

enum class CodeKind : uint8_t { kMachine, kFatBinary, kPtx, kSource };

struct CodeFile {
  std::string name;  ///< in the version directory: "kernels.sm_90.cubin"
  CodeKind kind = CodeKind::kPtx;
  std::string bytes;
};

/// What a model's configuration says of file names.
struct CodeNames {
  std::string default_name;  ///< default_model_filename; empty: kernels.*
  std::map<std::string, std::string, std::less<>> by_capability;  ///< cc_model_filenames: "9.0" -> name
};

/// The name of the code for a device: what by_capability has for it, default_name, or the first there is of
/// kernels.sm_XY.cubin (of the device, then of its major with the next lower minor), kernels.fatbin, kernels.ptx, kernels.cu.
/// \param capability  10 · major + minor
/// Errors: NOT_FOUND none of these is there; INVALID_ARGUMENT a name that leads out of the directory.
Result<std::string> choose_code(const std::string& version_directory, const CodeNames& names,
                                int32_t capability) noexcept;
/// The same for an imported kernel: NAME.cubin if it is for the device, else NAME.ptx.
/// \param compiled_for  the capability NAME.cubin is for
Result<std::string> choose_import(const std::string& version_directory, const std::string& name,
                                  int32_t compiled_for, int32_t capability) noexcept;

/// Reads a file, and looks that the driver cannot read beyond its end.
/// Errors: NOT_FOUND; INVALID_ARGUMENT it is empty, too large, cut off, or neither machine code, fat binary, PTX nor (by its
/// end .cu) source.
Result<CodeFile> read_code(const std::string& version_directory, const std::string& name) noexcept;
/// \param file  name and bytes; the kind is set
Status check_code(CodeFile& file) noexcept;

}  // namespace atl::cuda_backend
