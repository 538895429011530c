package election

import (
	"fmt"

	"github.com/google/uuid"

	"academy.example/lab/operator/api"
)

// Identity returns the name a process contends under, and where that came from: given, which is a flag's value and may be
// empty, else POD_NAME (the downward API), else HOSTNAME, else a random name. kind is api.IdentityPod or
// api.IdentityPodUUID; anything else is an api.Problem.
//
// With the pod's name alone, a container that crashed and was restarted in its pod finds its own name in the Lease and
// leads again at once, with no transition. The random part of pod+uuid makes each process a candidate of its own.
func Identity(kind, given string, getenv func(string) string) (name, source string, err error) {
	switch {
	case given != "":
		name, source = given, "--"+api.FlagIdentityName
	case getenv(api.EnvPodName) != "":
		name, source = getenv(api.EnvPodName), api.EnvPodName
	case getenv("HOSTNAME") != "":
		name, source = getenv("HOSTNAME"), "HOSTNAME"
	default:
		name, source = api.Program+"-"+uuid.NewString(), "random"
	}
	switch kind {
	case api.IdentityPod:
		return name, source, nil
	case api.IdentityPodUUID:
		return name + "_" + uuid.NewString(), source, nil
	}
	return "", "", api.Problem{
		What: fmt.Sprintf("--%s=%s is unknown", api.FlagIdentity, kind),
		Hint: fmt.Sprintf("--%s=%s or --%s=%s", api.FlagIdentity, api.IdentityPod, api.FlagIdentity, api.IdentityPodUUID),
	}
}
