// Package api holds the words that academy-operator and labctl share: timings, log messages, labels, annotations,
// flag names and defaults. It touches no cluster, no clock and no network, so both sides may trust it to mean the same.
package api

// Where the operator lives unless a flag or a manifest says otherwise.
const (
	DefaultNamespace = "academy-build"                        // namespace of the Deployment, the Lease and the work objects
	DefaultName      = "academy-operator"                     // name of the Lease, the Deployment, the Role and the ServiceAccount
	DefaultImage     = "academy.example/academy-operator:lab" // image of the Deployment
	DefaultPort      = 8080                                   // port of probes and metrics, on the pod's own address
	DefaultWork      = "academy-work"                         // the one work object that the manifests ship
	PodSelector      = "app=academy-operator"                 // label selector of the operator's pods
	Program          = "academy-operator"                     // name of the binary
	ContainerName    = "operator"                             // name of its container in the Deployment
	ExitCommand      = "exit-without-release"                 // sub-command that makes the process of this pod end at once
	PairsCommand     = "measure-pairs"                        // sub-command of a Job's pods: it measures pairs of candidates, and is no replica
	GateCommand      = "gate"                                 // sub-command: the manager of the operation gate, which is no replica
	GateJobCommand   = "job"                                  // sub-command of gate: what its Jobs do
	GateName         = "academy-gate"                         // name of the gate's Deployment, Role, ServiceAccount and leader Lease
	RoleFile         = "manifests/rbac.yaml"                  // where a missing verb is to be added
)

// Labels and annotations. The leader writes the annotations, all four in one Update that is refused when the object changed.
const (
	LabelLab  = "academy.example/lab"  // "true" on everything the manifests create
	LabelWork = "academy.example/work" // "true" on the ConfigMaps the leader works on

	AnnotationHolder     = "academy.example/holder"     // identity of the leader that wrote
	AnnotationTransition = "academy.example/transition" // leaseTransitions when that leader took over: the fencing token
	AnnotationSequence   = "academy.example/sequence"   // number of its tick, from 1 in each term
	AnnotationWorkedAt   = "academy.example/worked-at"  // RFC 3339 with nanoseconds, the writer's clock: tells how late a write is seen
)

// Log messages ("msg"). An observer may rely on the spelling and on the keys named beside each.
const (
	MessageStarted       = "operator started"      // configuration: timing, election, lease, …
	MessageSignal        = "signal received"       // signal
	MessageAttempt       = "attempting to acquire" // attempt, holder if it was held: one line for each attempt that did not succeed
	MessageAcquired      = "acquired lease"        // the write that made this process holder was answered
	MessageStartedLead   = "started leading"       // OnStartedLeading was called
	MessageReconcile     = "reconcile"             // sequence, transition (null until read), key: each tick while leading, before its write
	MessageWriteRefused  = "write refused"         // key, sequence, transition, reason: this process fenced itself off
	MessageWriteFailed   = "write failed"          // key, sequence, error: the API server did not take the write
	MessageLeaseRequest  = "lease request failed"  // request, error: get, create or update of the Lease did not succeed
	MessageHeldByOther   = "lease held by another" // holder: a leader saw another holder and works on until its RenewDeadline
	MessageRenewFailed   = "renewal failed"        // error: no renewal succeeded within RenewDeadline
	MessageReleaseFailed = "release failed"        // error: the lease stays held until it expires
	MessageStoppedLead   = "stopped leading"       // OnStoppedLeading was called in a process that led
	MessageExiting       = "exiting"               // code, reason
	MessageForbidden     = "forbidden"             // verb, resource, namespace, serviceAccount, hint
	MessageLibrary       = "client-go"             // text: a warning or an error of a library
	MessageNoSwitch      = "no exit switch"        // reason: exit-without-release cannot work in this process
	MessageServing       = "serving"               // address
	MessageTransition    = "transition not read"   // error: the leader does not write until it knows its number
	MessageLost          = "lost leadership"       // reason, controllers: the guarded election ended the work before client-go would
	MessageReleased      = "lease released"        // the guarded election gave the Lease back, after the work had stopped
	MessageEndOfTerm     = "end of term"           // the API server prefers another candidate: a coordinated leader renews no more
	MessageRejoining     = "rejoining"             // the process contends again instead of exiting
	MessageStuck         = "work did not stop"     // controllers: the Lease is left to expire, because somebody may still work
	MessageStamped       = "stamped"               // objects, transition: the fencing token is on every work object
	MessageDraining      = "draining"              // webhook calls are still answered; then the process exits
)

// Keys of log lines.
const (
	KeyIdentity       = "identity"
	KeyHolder         = "holder"
	KeyAttempt        = "attempt"
	KeySequence       = "sequence"
	KeyTransition     = "transition"
	KeyObject         = "key" // namespace/name of a work object
	KeyError          = "error"
	KeyReason         = "reason"
	KeyHint           = "hint"
	KeySignal         = "signal"
	KeyCode           = "code"
	KeyRequest        = "request"
	KeyVerb           = "verb"
	KeyResource       = "resource"
	KeyNamespace      = "namespace"
	KeyServiceAccount = "serviceAccount"
	KeyAddress        = "address"
	KeyText           = "text"
	KeyControllers    = "controllers"
)

// Metrics of the operator's own; client-go's leader_election_master_status and leader_election_slowpath_total are beside them.
const (
	MetricIsLeader    = "academy_operator_is_leader"    // 1 while the workers' context lives, 0 at once after it
	MetricWorkObjects = "academy_operator_work_objects" // work objects the leader sees; 0 in one that does not lead
)
