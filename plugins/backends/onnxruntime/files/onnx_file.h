/// The file of an ONNX model, plain or encrypted, and sessions of it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "atoll/core/followed_service.h"
#include "atoll/core/status.h"
#include "atoll/models/model_files.h"
#include "backends/onnxruntime/environment.h"
#include "backends/onnxruntime/ort_api.h"

namespace atl::ort {

struct OnnxFile {
  std::string path;
  uint64_t size_bytes = 0;
  bool is_encrypted = false;
  std::string version_directory;  ///< a beginning of the path
};

/// \param name  empty: model.onnx
/// Errors: those of backends::find_model_file(); INVALID_ARGUMENT a plain model has encrypted files beside it.
Result<OnnxFile> find_onnx_file(const std::string& version_directory, const std::string& name) noexcept;

/// A session of the file. An encrypted one, with the files of its external data, is in memory until this returns.
/// \param model_files  decrypts; null: nobody does. \param options  get the external data, too
/// Errors: those of ONNX Runtime and of ModelFiles, with the file's path; FAILED_PRECONDITION it is encrypted, and nobody
/// decrypts; INVALID_ARGUMENT external data is plain beside an encrypted model, or is not in the folder of the model.
Result<Handle<OrtSession>> make_session(const Environment& environment, const OnnxFile& file,
                                        Followed<ModelFiles>* model_files,
                                        OrtSessionOptions& options) noexcept;

/// The files of external data that an ONNX model names, each once, in the order of their names: `location`, as it is written.
/// Empty too: the bytes are no ONNX model, which ONNX Runtime says better.
std::vector<std::string> external_data_of(std::span<const std::byte> model) noexcept;

}  // namespace atl::ort
