/// OpenVINO in this process: opened with the first model, and never closed, because it leaves threads and mappings behind.
#pragma once

#include <string>
#include <vector>

#include "atoll/core/status.h"
#include "backends/common/python_packages.h"
#include "backends/openvino/library/ov_api.h"

namespace atl::openvino {

/// Where OpenVINO is looked for.
struct OvPlaces {
  std::string option;  ///< the file of the C API, or its folder; if it is set, nothing else is looked at
  backends::PythonSearch python;     ///< for the package openvino
  std::vector<std::string> engines;  ///< folders of an installation

  /// \param option    empty: it is looked for in lib/atoll/engines/openvino beside the folder of the plugins, then beside that of
  ///                  the program, then in the user's Python
  /// \param own_file  of the plugin, absolute [control]
  static OvPlaces of_process(std::string option, const std::string& own_file);
};

/// Opens the first library that fits. A second call gives what the first one has opened.
/// Errors: FAILED_PRECONDITION in one line: there is none, or those that there are do not fit; after a failure the next call looks
/// again. [any]
Status open_openvino(const OvPlaces& places) noexcept;

/// "2026.4.1-22982-... of /opt/atoll/lib/atoll/engines/openvino/libopenvino_c.so.2641"; empty: none is open. [any]
std::string openvino_text();

/// The one core of this process, which reads and compiles models. No property of a model is ever set on it: it would hold for all.
/// Errors: INTERNAL it cannot be made. [any]
Result<const OvCore*> shared_core() noexcept;
/// A core of its own, for a model with operations of its own.
Result<Handle<OvCore>> make_core() noexcept;

}  // namespace atl::openvino
