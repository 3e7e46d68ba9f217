/// The one ONNX Runtime of this process, while somebody uses it.
#pragma once

#include <string>
#include <vector>

#include "atoll/core/status.h"
#include "backends/onnxruntime/library/library_places.h"

namespace atl::ort {

/// The library stays open, and api() can be called, while one of these lives. It is closed with the last one, unless
/// keep_library_open() was called. [any]
class OrtLibrary {
 public:
  /// \param file    the option: only that library is tried. Empty: the first that fits of `places`, or that which was found there
  ///                for a user who is still there
  /// \param passed_over  gets one line for each library that was found before it and does not fit
  /// Errors: INVALID_ARGUMENT `file` cannot be used; FAILED_PRECONDITION another library is in use; UNAVAILABLE none was found.
  static Result<OrtLibrary> begin(const std::string& file, const LibraryPlaces& places,
                                  std::vector<std::string>& passed_over) noexcept;
  OrtLibrary(OrtLibrary&& other) noexcept : holds_(std::exchange(other.holds_, false)) {}
  OrtLibrary& operator=(OrtLibrary&&) = delete;
  ~OrtLibrary();

  std::string version() const;
  /// "1.31.1 of /opt/onnxruntime/libonnxruntime.so.1.31.1"
  std::string text() const;

 private:
  OrtLibrary() noexcept = default;
  bool holds_ = true;
};

/// From now on the library that is in use stays open as long as the process lives, and no other can be used: libraries of CUDA that
/// it opens in turn cannot be closed. [any]
void keep_library_open() noexcept;

}  // namespace atl::ort
