/// What clients say with a load or unload, as the catalog takes it.
#pragma once

#include <string>
#include <vector>

#include "atoll/models/model.h"
#include "atoll/models/model_control.h"

namespace atl::control {

/// A name that can be a model's. Whether it is one is the repository's to say.
/// Errors: INVALID_ARGUMENT with the protocols' texts.
Status check_load_name(std::string_view model);

/// Takes over "config" and "file:<path>". Errors: INVALID_ARGUMENT "Unrecognized load parameter '<p>' with
/// type '<t>'", a parameter of the wrong type, or given twice.
Result<ModelLoadRequest> read_load_request(std::string model, std::vector<ModelControlParameter> parameters);

/// "unload_dependents"; others have never been looked at.
bool wants_dependents(const std::vector<ModelControlParameter>& parameters);

/// What a client is told of a load that ended so.
///   OK, or what keeps the server as a whole from loading: as it is;
///   INVALID_ARGUMENT "load failed for model '<m>': <reason>\n";
///   INTERNAL "failed to load '<m>', no version is available: <reason>": it was unloaded meanwhile;
///   INTERNAL "failed to load '<m>', failed to poll from model repository: <reason>": it was not even read.
///   If what the client sent is to blame, INVALID_ARGUMENT with that text.
/// \param overridden  the client brought a configuration or files
Status load_answer(const std::string& model, bool overridden, bool exiting, ModelLoadOutcome outcome);

}  // namespace atl::control
