/// Options of repositories/s3.
#pragma once

#include <string>
#include <vector>

#include "atoll/core/option_table.h"
#include "atoll/core/options.h"
#include "repositories/s3/store_repository.h"

namespace atl::s3 {

inline constexpr OptionTable kS3Options{
    option_string_list("paths").required().help(
        "Repositories, at least one: s3://BUCKET/PREFIX, s3://HOST:PORT/BUCKET/PREFIX (http), "
        "s3://https://HOST:PORT/BUCKET/PREFIX, or a directory of this machine."),
    option_string("cache_directory", "")
        .state()
        .help(
            "Where copies of models are kept; servers of one user may share it. Empty: the environment's CACHE_DIRECTORY, "
            "else atoll/models in XDG_CACHE_HOME or in .cache of HOME."),
    option_bytes("cache_size", "64GiB")
        .help("Most bytes of copies; those not used for longest go first. 0: no limit."),
    option_string("addressing", "auto")
        .choices("auto|path|virtual_host")
        .help(
            "Where the bucket stands in a request: in the path, in the host's name, or (auto) in the name for Amazon's own "
            "store and in the path for others."),
    option_string("ca_file", "").help("Certificates to trust, PEM; empty: SSL_CERT_FILE, or the system's."),
    option_int("downloads", 8).range(1, 64).help("Most objects of a model that are downloaded side by side."),
    option_int("retries", 5)
        .range(0, 100)
        .help("How often a call is repeated that failed in a way that may pass."),
    option_duration("silence_timeout", "10s")
        .range("1s", "1h")
        .help("A call is given up, and repeated, when not a byte came for so long."),
    option_duration("listing_age", "1s")
        .range("0s", "1h")
        .help("How old a listing may be that is used without asking the store again."),
    option_int("objects_max", 200000).range(1, 10000000).help("Most objects that one repository may have."),
    option_bool("allow_missing_paths", false)
        .help(
            "Whether the server starts while some or all of the paths cannot be listed: they are left out until they can."),
    option_bool("missing_paths_fail_health", false)
        .help(
            "Whether the server is neither live nor ready as long as a path that may be missing has never been there."),
    option_bool("follow_links", false)
        .help("Whether links in a directory of this machine may lead out of it."),
    option_string_list("linked_paths")
        .help("Directories that links in such a directory may lead into, while they may not lead elsewhere."),
    option_bool("namespacing", false)
        .help(
            "Whether the same name in several repositories means several models; to be set in the catalog's plugin, too."),
    option_string("config_name", "")
        .help("Prefer configs/<config_name>.pbtxt in a model directory to config.pbtxt; empty: never."),
    option_int("files_max", 1000000)
        .range(1, 100000000)
        .help("Most files and directories that one model directory may hold."),
    option_string("files_directory", "")
        .help(
            "Where the files that clients send with a load are kept while the model is loaded; empty: the system's "
            "temporary directory."),
};

/// Errors: INVALID_ARGUMENT there is none, an empty one, or one that is no URL that is served.
Status check_paths(const std::vector<std::string>& paths);
/// Errors: those of check_paths() and CredentialSource::read(); INVALID_ARGUMENT there is no place for the cache.
Result<StoreRepositorySettings> settings_of(const Options& options,
                                            const CredentialSource::Variables& variables);

}  // namespace atl::s3
