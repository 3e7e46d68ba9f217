/// Options of launchers/kubernetes.
#pragma once

#include "atoll/core/option_table.h"

namespace atl::launchers {

inline constexpr OptionTable kKubernetesOptions{
    option_string("state_directory")
        .required()
        .help(
            "Folder for the name by which this keeper's pods are found again, and for what servers said that have failed."),
    option_string("server", "")
        .help(
            "Address of the cluster's API, such as http://127.0.0.1:8001 of 'kubectl proxy'. Empty: 'kubeconfig', or what a pod is given by its "
            "cluster."),
    option_string("ca_file", "")
        .help("With 'server': PEM file of the certificates by which it is trusted. Empty: the system's."),
    option_string("token_file", "")
        .help(
            "With 'server': file of the token that is shown. It is read again each minute. Empty: none is shown."),
    option_string("kubeconfig", "")
        .help("File that 'kubectl config view --raw -o json' has printed; its current context is used."),
    option_string("namespace", "")
        .help("Namespace of the pods. Empty: that of the kubeconfig's context or of this pod, or 'default'."),
    option_bool("keeper_lease", false)
        .help(
            "Pods are made and ended only while this process holds a Lease of the namespace, so that of several processes with one "
            "state_directory one does it. It needs the rights to get, create and update leases."),
    option_string("image").required().help("Image of the pods' servers; it has a user other than root."),
    option_string_map("images").help("Images by runtime, for those that have another one."),
    option_string_map("runtimes")
        .help(
            "Command lines by name, for the 'runtime' of pools. Words may be in double quotes; {repository} is the folder of models, {host} the "
            "pod's address, {http_port} and {grpc_port} its ports, {id}, {pool}, {instance} say whose it is, and {key} is the server's key, for "
            "servers other than Atoll (see the plugin's README). 'atoll', unless it is in the map, is this server in explicit mode."),
    option_string("default_runtime", "atoll").help("Runtime of pools that name none."),
    option_bool("shared_memory", false)
        .help(
            "Clients may register regions of shared memory with servers. Else that needs the server's key, which only this server has, as "
            "model control, trace and log settings do always."),
    option_string_map("claims").help(
        "What pods see of folders of this machine, at the same paths and read only: \"/srv/models\" = \"models\" mounts the claim 'models', "
        "\"models/a/b\" a folder in it. Servers need the sources of models, and the folder 'repositories' in the state_directory of "
        "pools/leases."),
    option_string("pod_template", "")
        .help(
            "JSON file of a pod, of which metadata and spec are merged into those of servers: node selectors, tolerations, secrets for images, "
            "priority. The server's container is named 'server'."),
    option_string("gpu_resource", "nvidia.com/gpu").help("Resource by which a pool's 'gpus' are asked for."),
    option_int("http_port", 8000).range(1, 65535).help("Port of servers for HTTP, the same in each pod."),
    option_int("grpc_port", 8001).range(0, 65535).help("Port of servers for gRPC; 0: they have none."),
    option_bytes("dev_shm_size", "256MiB")
        .range("0B", "1TiB")
        .help(
            "Size of /dev/shm in a pod, a part of its memory, for workers of Python models; 0B: what the node gives."),
    option_duration("queue_timeout", "1m")
        .range("0s", "24h")
        .help(
            "A pod for which no node has had room for so long is deleted, and its lease refused. 0s: it may wait for ever."),
    option_duration("start_timeout", "4m")
        .range("1s", "24h")
        .help(
            "A pod that has a node and does not run after that time is deleted; until then images are pulled again and again."),
    option_duration("stop_timeout", "45s")
        .range("1s", "24h")
        .help("Time for a server to end before it is killed; longer than its drain timeout."),
    option_duration("call_timeout", "30s")
        .range("100ms", "10m")
        .help(
            "Time for the cluster to answer a call, and for a program that the kubeconfig names to give credentials."),
    option_duration("watch_silence", "2m")
        .range("1s", "1h")
        .help(
            "A watch of which nothing was heard for so long is begun anew; the cluster says something about each minute."),
};

}  // namespace atl::launchers
