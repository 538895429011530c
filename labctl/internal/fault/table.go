package fault

// How what was done ends, for several modes.
const (
	nothingLeft   = "nothing to undo: Kubernetes makes a new pod"
	endsByItself  = "the node ends it after at most 60 s, whatever becomes of labctl; labctl ends it sooner, also after Ctrl-C"
	pollsThenEnds = "the thief's record runs out by itself"
)

// Modes returns every mode in teaching order: those to begin with, and then the advanced ones.
func Modes() []Description { return append(common(), advanced()...) }

// common are the modes to begin with.
func common() []Description {
	return []Description{
		{
			Mode: Graceful, Title: "graceful", Action: "delete the holder's pod",
			Kubectl: "kubectl -n NAMESPACE delete pod POD", Releases: true,
			Effect: "the holder logs the signal (T2)", Undo: nothingLeft,
			Lesson: "SIGTERM, the holder releases the Lease and exits; a candidate takes it at its next poll.",
		},
		{
			Mode: ForceDelete, Title: "as typed: force-delete", Action: "delete the holder's pod with --grace-period=0 --force",
			Kubectl: "kubectl -n NAMESPACE delete pod POD --grace-period=0 --force", Releases: true,
			Effect: "the pod is gone from the API at once, and its process a while later (T3)", Undo: nothingLeft,
			Lesson: "Forced is not a crash: the object goes at once, but the process still gets SIGTERM and two seconds, and it releases.",
		},
		{
			Mode: Kill, Title: "nobody released: kill", Action: "SIGKILL the holder's process, then force-delete its pod",
			NoKubectl: "no kubectl line sends SIGKILL", Releases: false, Needs: Signals,
			Effect: "the node reaps the process with exit code 137 (T3)", Undo: nothingLeft,
			Lesson: "SIGKILL leaves no chance to release: a candidate must see the record unchanged for LeaseDuration on its own clock.",
		},
		{
			Mode: Crash, Title: "crash", Action: "SIGKILL the holder's process and leave its pod",
			NoKubectl: "no kubectl line sends SIGKILL", Releases: false, Needs: Signals,
			Effect: "the node reaps the process with exit code 137 (T3)", Undo: "nothing to undo: the node restarts the container; labctl replaces the pod before the next trial",
			Lesson: "The container restarts in the same pod under the same name and takes its own Lease back: no transition tells of it.",
		},
	}
}

func advanced() []Description {
	modes := append(byKubernetes(), unheard()...)
	modes = append(modes, robbed()...)
	for i := range modes {
		modes[i].Advanced = true
	}
	return modes
}

// byKubernetes are the ways in which Kubernetes itself takes a pod away.
func byKubernetes() []Description {
	return []Description{
		{
			Mode: Rollout, Title: "rollout", Action: "restart the Deployment: every replica is replaced, one after the other",
			Kubectl: "kubectl -n NAMESPACE rollout restart deployment/DEPLOYMENT", Releases: true, Kind: OfReplicas,
			Effect: "the Deployment's generation rises", Undo: "nothing to undo: the trial ends when the rollout has",
			Lesson: "A new version is a planned hand-over; if an old replica takes the Lease, it soon gives it up again: two hand-overs where one would do.",
		},
		{
			Mode: Upgrade, Title: "upgrade", Action: "give the Deployment the next version (--binary-version), slowly: the holder's replica is replaced first, the next one when that was ready for a while",
			NoKubectl: "an annotation, another argument and minReadySeconds are more than one line", Releases: true, Kind: OfReplicas,
			Effect: "the Deployment's generation rises, and pods of the next version come", Undo: "labctl sets minReadySeconds to 0 again, and so does labctl up; the new version stays",
			Lesson: "While two versions are there, whoever polls first leads, old or new; with the coordinated election the oldest one does.",
		},
		{
			Mode: Evict, Title: "evict", Action: "evict the holder's pod, as the drain of a node does, if the PodDisruptionBudget allows it",
			Kubectl:  `echo '{"apiVersion":"policy/v1","kind":"Eviction","metadata":{"name":"POD"}}' | kubectl create --raw /api/v1/namespaces/NAMESPACE/pods/POD/eviction -f -`,
			Releases: true, Effect: "the pod is terminating, and the holder logs the signal (T2)", Undo: nothingLeft,
			Lesson: "A drain asks the PodDisruptionBudget first; what it is then granted is a graceful end, and the Lease is released.",
		},
	}
}

// unheard are the modes in which the holder lives on and can't renew.
func unheard() []Description {
	return []Description{
		{
			Mode: Freeze, Title: "freeze", Action: "SIGSTOP the holder's process until a standby leads, then SIGCONT",
			NoKubectl: "no kubectl line sends SIGSTOP", Silences: true, Needs: Silencer,
			Effect: "no line of the holder's log and no renewal until it goes on", Undo: endsByItself,
			Lesson: "A frozen leader does not know that time has passed: on resume plain client-go works on for RenewDeadline beside the new leader.",
		},
		{
			Mode: CutRefuse, Title: "cut off, refused", Action: "refuse the holder's connections to the API server until a standby leads",
			NoKubectl: "no kubectl line cuts one pod off", Silences: true, Needs: Silencer,
			Effect: "the holder logs that its requests were refused", Undo: endsByItself,
			Lesson: "Each renewal fails at once: plain client-go gives up RenewDeadline after its first failure, before a standby may lead.",
		},
		{
			Mode: CutBlackHole, Title: "cut off, black hole", Action: "drop the holder's packets to and from the API server until a standby leads",
			NoKubectl: "no kubectl line cuts one pod off", Silences: true, Needs: Silencer,
			Effect: "no request of the holder reaches the API server", Undo: endsByItself,
			Lesson: "With ReleaseOnCancel the release of plain client-go hangs in the black hole before its workers are told to stop: two leaders.",
		},
		{
			Mode: Slow, Title: "slow API server", Action: "let the API server's answers reach the holder RenewDeadline + 1 s late until a standby leads",
			NoKubectl: "no kubectl line makes one pod's answers late", Silences: true, Kind: OfAnswers, Needs: Slower,
			Effect: "the API server answers the holder's requests at once, and the holder logs that no answer came in time", Undo: endsByItself,
			Lesson: "Nobody crashes, and the Lease changes hands: a renewal that is answered after RenewDeadline is a lost one, though it was written; so the record runs out a RetryPeriod later.",
		},
		{
			Mode: Deny, Title: "deny", Action: "let an admission policy refuse the holder's writes of the Lease until a standby leads",
			NoKubectl: "a policy and its binding are more than one line", Silences: true,
			Effect: "the API server logs the holder's updates as refused (422), and the holder says why", Undo: "the policy refuses nothing after at most 60 s; labctl removes it, or a process beside labctl within that minute, or the next command of labctl",
			Lesson: "Missing rights are loud: each renewal names the rule, the leader gives up in time, and all else that it does still works.",
		},
	}
}

// robbed are the modes that take the Lease, or the whole API, away from a holder that is well.
func robbed() []Description {
	return []Description{
		{
			Mode: Steal, Title: "steal", Action: "write a third candidate into the Lease, which never renews",
			Kubectl: `kubectl -n LEASE-NAMESPACE patch lease LEASE --type=merge -p '{"spec":{"holderIdentity":"thief","renewTime":"'$(date -u +%Y-%m-%dT%H:%M:%S.000000Z)'"}}'`,
			Kind:    OfRecord, Effect: "the Lease names the thief (T3)", Undo: pollsThenEnds,
			Lesson: "The Lease is an object that anybody with the right may write: plain client-go sees another name and works on for RenewDeadline.",
		},
		{
			Mode: DeleteLease, Title: "delete the Lease", Action: "delete the Lease object",
			Kubectl: "kubectl -n LEASE-NAMESPACE delete lease LEASE", Kind: OfObject,
			Effect: "the Lease is gone (T3)", Undo: "labctl removes the stamps of the old count from the work objects, or a process beside labctl within 60 s, or the next command of labctl",
			Lesson: "A standby that makes the Lease again counts from 0, so the fence takes it for an old leader and refuses its writes until the stamps are removed; plain client-go is often quicker and writes its old record again.",
		},
		{
			Mode: APIDown, Title: "API server down", Action: "SIGSTOP the API server until every leader must have given up, then SIGCONT",
			NoKubectl: "no kubectl line stops the API server", Kind: OfServer, Needs: Stopper,
			Effect: "the API server does not answer labctl either", Undo: "a process beside labctl lets it go on after at most 60 s; labctl does so sooner, also after Ctrl-C",
			Lesson: "Without the API server nobody may lead for longer than RenewDeadline, however well all replicas are; when it is back, the first poll decides.",
		},
	}
}
