/// The part of Triton's C API for repository agents: shared objects that check or prepare a model's folder before the
/// server reads it. The rules of tritonserver.h hold here as well; a handle that has ended gives INVALID_ARG.
///
/// An agent is in use while a model is that names it, and is told of each load of such a model by an agent model of
/// its own. Calls for one agent model come one after the other, those for several at the same time.
#pragma once

#include "triton/core/tritonserver.h"

#ifdef __cplusplus
extern "C" {
#endif

/// What the server exports, and what an agent exports.
#define TRITONREPOAGENT_DECLSPEC __attribute__((visibility("default")))
#define TRITONREPOAGENT_ISPEC __attribute__((visibility("default")))

#define TRITONREPOAGENT_API_VERSION_MAJOR 0
#define TRITONREPOAGENT_API_VERSION_MINOR 1

typedef struct TRITONREPOAGENT_Agent TRITONREPOAGENT_Agent;
typedef struct TRITONREPOAGENT_AgentModel TRITONREPOAGENT_AgentModel;

/// What a location is: a folder of the local file system, or one that has to be fetched.
typedef enum ATOLL_ENUM_BASE {
  TRITONREPOAGENT_ARTIFACT_FILESYSTEM = 0,
  TRITONREPOAGENT_ARTIFACT_REMOTE_FILESYSTEM = 1
} TRITONREPOAGENT_ArtifactType;

/// What becomes of a model: LOAD and then LOAD_FAIL, or LOAD, LOAD_COMPLETE, UNLOAD and UNLOAD_COMPLETE.
typedef enum ATOLL_ENUM_BASE {
  TRITONREPOAGENT_ACTION_LOAD = 0,            ///< it is about to be read; an error keeps it from being loaded
  TRITONREPOAGENT_ACTION_LOAD_COMPLETE = 1,   ///< it serves
  TRITONREPOAGENT_ACTION_LOAD_FAIL = 2,       ///< it does not: its LOAD failed, or what came after that
  TRITONREPOAGENT_ACTION_UNLOAD = 3,          ///< new requests do not get it any more
  TRITONREPOAGENT_ACTION_UNLOAD_COMPLETE = 4  ///< nothing uses its files any more
} TRITONREPOAGENT_ActionType;

TRITONREPOAGENT_DECLSPEC TRITONSERVER_Error* TRITONREPOAGENT_ApiVersion(uint32_t* major, uint32_t* minor);

// --- where the model is ---

/// The folder as the agent before left it, or as Update has set it. Only to be read. Borrowed from the agent model.
TRITONREPOAGENT_DECLSPEC TRITONSERVER_Error* TRITONREPOAGENT_ModelRepositoryLocation(
    TRITONREPOAGENT_Agent* agent, TRITONREPOAGENT_AgentModel* model,
    TRITONREPOAGENT_ArtifactType* artifact_type, const char** location);
/// An empty folder of the agent model's own, the same at every call, removed when the agent model ends.
/// \param artifact_type  FILESYSTEM
TRITONREPOAGENT_DECLSPEC TRITONSERVER_Error* TRITONREPOAGENT_ModelRepositoryLocationAcquire(
    TRITONREPOAGENT_Agent* agent, TRITONREPOAGENT_AgentModel* model,
    const TRITONREPOAGENT_ArtifactType artifact_type, const char** location);
/// Removes that folder. UNAVAILABLE: there is none. \param location  not looked at: there is but one
TRITONREPOAGENT_DECLSPEC TRITONSERVER_Error* TRITONREPOAGENT_ModelRepositoryLocationRelease(
    TRITONREPOAGENT_Agent* agent, TRITONREPOAGENT_AgentModel* model, const char* location);
/// During ACTION_LOAD, else INVALID_ARG: the model is to be read from there, by the agents that follow and by the server.
/// \param artifact_type  FILESYSTEM; the other one is UNSUPPORTED
TRITONREPOAGENT_DECLSPEC TRITONSERVER_Error* TRITONREPOAGENT_ModelRepositoryUpdate(
    TRITONREPOAGENT_Agent* agent, TRITONREPOAGENT_AgentModel* model,
    const TRITONREPOAGENT_ArtifactType artifact_type, const char* location);

// --- what its configuration says ---

/// Of the agent's parameters there.
TRITONREPOAGENT_DECLSPEC TRITONSERVER_Error* TRITONREPOAGENT_ModelParameterCount(
    TRITONREPOAGENT_Agent* agent, TRITONREPOAGENT_AgentModel* model, uint32_t* count);
/// Borrowed from the agent model.
TRITONREPOAGENT_DECLSPEC TRITONSERVER_Error* TRITONREPOAGENT_ModelParameter(TRITONREPOAGENT_Agent* agent,
                                                                            TRITONREPOAGENT_AgentModel* model,
                                                                            const uint32_t index,
                                                                            const char** parameter_name,
                                                                            const char** parameter_value);
/// The configuration in the folder that the agent before left, as it is written. The caller deletes the message.
/// \param config_version  1
TRITONREPOAGENT_DECLSPEC TRITONSERVER_Error* TRITONREPOAGENT_ModelConfig(TRITONREPOAGENT_Agent* agent,
                                                                         TRITONREPOAGENT_AgentModel* model,
                                                                         const uint32_t config_version,
                                                                         TRITONSERVER_Message** model_config);

// --- pointers of the agent's own, null at first; not synchronised ---

TRITONREPOAGENT_DECLSPEC TRITONSERVER_Error* TRITONREPOAGENT_ModelState(TRITONREPOAGENT_AgentModel* model,
                                                                        void** state);
TRITONREPOAGENT_DECLSPEC TRITONSERVER_Error* TRITONREPOAGENT_ModelSetState(TRITONREPOAGENT_AgentModel* model,
                                                                           void* state);
TRITONREPOAGENT_DECLSPEC TRITONSERVER_Error* TRITONREPOAGENT_State(TRITONREPOAGENT_Agent* agent,
                                                                   void** state);
TRITONREPOAGENT_DECLSPEC TRITONSERVER_Error* TRITONREPOAGENT_SetState(TRITONREPOAGENT_Agent* agent,
                                                                      void* state);

// --- what an agent exports: ModelAction, and of the others what it needs ---

/// When the agent comes into use, before anything else. An error fails the load of the model that named it.
TRITONREPOAGENT_ISPEC TRITONSERVER_Error* TRITONREPOAGENT_Initialize(TRITONREPOAGENT_Agent* agent);
/// When no model uses it any more. An error is logged.
TRITONREPOAGENT_ISPEC TRITONSERVER_Error* TRITONREPOAGENT_Finalize(TRITONREPOAGENT_Agent* agent);
/// Before the first action for an agent model. An error fails the load.
TRITONREPOAGENT_ISPEC TRITONSERVER_Error* TRITONREPOAGENT_ModelInitialize(TRITONREPOAGENT_Agent* agent,
                                                                          TRITONREPOAGENT_AgentModel* model);
/// After the last one. An error is logged.
TRITONREPOAGENT_ISPEC TRITONSERVER_Error* TRITONREPOAGENT_ModelFinalize(TRITONREPOAGENT_Agent* agent,
                                                                        TRITONREPOAGENT_AgentModel* model);
/// An error of ACTION_LOAD fails the load, one of another action is logged.
TRITONREPOAGENT_ISPEC TRITONSERVER_Error* TRITONREPOAGENT_ModelAction(
    TRITONREPOAGENT_Agent* agent, TRITONREPOAGENT_AgentModel* model,
    const TRITONREPOAGENT_ActionType action_type);

#ifdef __cplusplus
}
#endif
