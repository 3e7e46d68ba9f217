/// Where ONNX Runtime is looked for when no option names it.
#pragma once

#include <string>
#include <vector>

#include "backends/common/python_packages.h"
#include "backends/onnxruntime/library/open_library.h"

namespace atl::ort {

struct LibraryPlaces {
  backends::PythonSearch python;
  std::vector<std::string> engines;  ///< folders of an installation, which hold libonnxruntime.so.1

  /// \param own_file  of the plugin, absolute [control]
  static LibraryPlaces of_process(const std::string& own_file);
};

/// Opens the first library that fits: the newest one of the package onnxruntime in each of the user's folders of Python packages
/// (python_package_folders()), then that of the installation.
/// \param passed_over  gets one line for each that was found before and does not fit
/// Errors: UNAVAILABLE none fits, in one line: what was found, where nothing was found, and what to do.
Result<OpenLibrary> open_first_library(const LibraryPlaces& places,
                                       std::vector<std::string>& passed_over) noexcept;

}  // namespace atl::ort
