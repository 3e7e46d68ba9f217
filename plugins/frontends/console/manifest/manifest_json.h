/// GET /v2/console/options; GET /v2/console/manifest and POST /v2/console/manifest/check.
#pragma once

#include <string>

#include "atoll/core/kernel_control.h"
#include "frontends/console/process_facts.h"

namespace atl::frontends::console {

std::string options_json(const RunningManifest& running, const ProcessStart& start);

/// Whether a failure of KernelControl::compare() says what is wrong with the manifest, and so is the answer.
bool is_problem_of_manifest(const Status& status) noexcept;

/// \param generation  that runs, where the comparison has failed
/// \param found       what would change; or is_problem_of_manifest()
std::string difference_json(const Result<ManifestDifference>& found, uint64_t generation,
                            const ProcessStart& start);

/// What is told of a reload that was asked for. \param since  the number of the last entry of the timeline before
std::string applied_json(uint64_t generation, uint64_t since, const ProcessStart& start);

}  // namespace atl::frontends::console
