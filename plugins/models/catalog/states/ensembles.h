/// Rules between ensembles and the models they are made of. Pure functions over the records.
#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "atoll/core/status.h"
#include "models/catalog/states/model_records.h"

namespace atl::models {

/// Which ensembles wait for which members while they load.
using WaitGraph = std::map<std::string, std::set<std::string>, std::less<>>;

/// Whether the ensemble may wait for the member. Errors: INVALID_ARGUMENT the member already waits, directly
/// or not, for the ensemble; the text is the protocols', which begins with the first name and leaves out
/// those between, a note has all of them.
Status check_cycle(const WaitGraph& waits, const std::string& ensemble, const std::string& member);

/// Whether one of the ensembles above a model is loaded or loading.
bool is_used_by_ensemble(const ModelRecords& records, std::string_view model);

/// Checks that every member has a READY version, and the one it is asked for.
/// \param failures  why the load of a member that was tried for this ensemble failed, by name
/// Errors: INVALID_ARGUMENT with the protocols' texts.
Status check_members(const ModelRecords& records, const std::string& ensemble,
                     const std::vector<EnsembleMember>& members,
                     const std::map<std::string, Status>& failures);

}  // namespace atl::models
