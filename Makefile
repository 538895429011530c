# The failover lab. `make` alone prints this help.

export CGO_ENABLED = 0
# One set of flags for everything, so that nothing is compiled twice. Leaving DWARF out saves a fifth of the time and space.
export GOFLAGS     = -trimpath -gcflags=all=-dwarf=false
SHELL             := /bin/bash
.SHELLFLAGS       := -eu -o pipefail -c
.DEFAULT_GOAL     := help

KUBERNETES := 1.37.2
VERSION    := k8s.io/component-base/version
LINK       := -s -w
LINK_KUBE  := $(LINK) -X $(VERSION).gitVersion=v$(KUBERNETES) -X $(VERSION).gitMajor=1 -X $(VERSION).gitMinor=37 -X $(VERSION).gitTreeState=clean
PROVIDER   ?= auto
NODE_IMAGE ?=
TIMING     ?= default
V          ?=
SEED       ?= 1
SOAK       ?= 80m
COURSE     ?= bin/_course
GORELEASER := v2.13.0
STATICCHECK := v0.8.2
HOST        = $(shell go env GOHOSTOS)/$(shell go env GOHOSTARCH)
PLATFORMS  ?= $(HOST)

help: ## print this help
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / {printf "  make %-10s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

failover: lab-up ## the main job: a control plane, two replicas, three failovers timed, one table
	@bin/labctl failover --mode graceful,force-delete,kill --timing $(TIMING)

build: tools cluster ## build bin/labctl, bin/academy-operator, bin/academy-mutants, bin/academy-cluster and bin/kubectl

tools: ## build all but academy-cluster and kubectl, which take minutes
	@mkdir -p bin
	go build -ldflags '$(LINK)' -o bin/labctl ./labctl
	go build -ldflags '$(LINK)' -o bin/academy-operator ./operator
	go build -ldflags '$(LINK)' -o bin/academy-mutants ./operator/mutants

cluster: tools
	@test -x bin/academy-cluster || { bin/labctl predict | sed '/^next:/d'; \
	  \
	  echo "Compiling Kubernetes $(KUBERNETES), once: about 1700 packages, 5 to 10 minutes on two cores if Go's cache is empty. Above: what the lab will measure."; }
	@cd labctl/cluster && for program in academy-cluster:. kubectl:./kubectl; do \
	  go build -v -ldflags '$(LINK_KUBE)' -o ../../bin/$${program%%:*} $${program##*:} 2>&1 | \
	  awk '/^[A-Za-z0-9._~\/-]+$$/ {if (++n % 100 == 0) printf "  %d packages compiled\n", n; next} {print}'; done

lab-up: build ## make the lab and leave it running
	@bin/labctl up --provider $(PROVIDER) $(if $(NODE_IMAGE),--image $(NODE_IMAGE))

lab-down: ## remove the lab
	@if test -x bin/labctl; then bin/labctl down; else echo "bin/labctl is not built: no lab was looked for (make tools lab-down does)"; fi

watch: lab-up ## follow the Lease live: every renewal, release and takeover
	@bin/labctl watch

test: build ## run every test of both modules; V=-v shows each
	go test -timeout 30m $(V) ./...
	cd labctl/cluster && go test -timeout 30m $(V) ./...

e2e-kind: tools ## the suite and the faults on a real kubelet; needs Docker and a node image (LABCTL_KIND_IMAGE=…)
	@LABCTL_E2E_KIND=1 go test ./labctl/internal/provider/kind -run TestConformance -count=1 -v -timeout 20m | \
	  grep -E 'figure:|skipped:|_test.go:|cases.go:|manners.go:|^ *---|^ok|^FAIL|^panic'

e2e: build ## do all the exercises on the embedded cluster: each fails unsolved and passes solved, and type every page; 50 minutes
	LAB_E2E=1 go test -count=1 -timeout 60m -run Live -v ./labctl/internal/cmd

mutants: lab-up ## try the checks on every faulty operator of docs/mutants.md, and on the operator as it is, 10 minutes
	bin/labctl mutants --all

torture: build ## kill labctl 100 times, in each mode 3 times, and the cluster 20 times, at random instants (SEED), and look for what is left, 25 minutes
	LAB_TORTURE=$(SEED) go test -count=1 -timeout 60m -run TestTorture -v ./labctl/internal/cmd

docs: ## write what follows from the code: the pages of commands, modes, mutants and exercises, README's pictures, the model's traces
	go test ./labctl/internal/cmd -count=1 -run 'Page$$' -update
	go test ./labctl/internal/tui ./labctl/internal/report -count=1 -run 'Picture$$' -update
	go test ./operator/lease/gate/model -count=1 -update

soak: build ## do failovers in all modes for 80 minutes, with ten replicas, and look at memory, descriptors and goroutines (SOAK=2h)
	LAB_SOAK=$(SOAK) go test -count=1 -timeout 24h -run TestSoak -v ./labctl/internal/cmd

check: lint race test ## what must hold before a commit, and all that CI does

lint: ## format, vet, staticcheck, tidy
	@test -z "$$(gofmt -l $$(git ls-files '*.go'))" || { gofmt -l $$(git ls-files '*.go'); echo "hint: gofmt -w the files above"; exit 1; }
	go vet ./... && go mod tidy -diff && go run honnef.co/go/tools/cmd/staticcheck@$(STATICCHECK) ./...
	cd labctl/cluster && go vet ./... && go mod tidy -diff

race: ## the race detector on everything that needs no cluster; evidence, which has no goroutine, would take minutes; needs a C compiler
	@if command -v cc >/dev/null; then CGO_ENABLED=1 go test -timeout 30m -race -short $$(go list ./... | grep -v /evidence$$); else echo "race: left out, there is no C compiler (cc)"; fi

bench: build ## measure the instrument: how late labctl sees things, idle and with one core kept busy
	@bin/labctl up --name bench >/dev/null
	@echo "idle:"; bin/labctl bench --name bench 2>/dev/null
	@echo; echo "one core kept busy:"; (while :; do :; done) & busy=$$!; trap "kill $$busy" EXIT; bin/labctl bench --name bench 2>/dev/null
	@bin/labctl down --name bench

kit: build ## pack programs and course into one archive for each of PLATFORMS (default: this machine's)
	@rm -rf dist; for p in $(PLATFORMS); do $(MAKE) --no-print-directory kit-of OS=$${p%/*} ARCH=$${p#*/}; done
	@echo "unpack one anywhere and read its README.md; it needs no Go, no network and no make"

# What a kit holds beside its programs: `make kit` and goreleaser pack the same. Go leaves out a folder with such a name.
course:
	@rm -rf $(COURSE) && mkdir -p $(COURSE)/client-go/tools && cp -r manifests exercises checklists docs operator LICENSE CONTRIBUTING.md CHANGELOG.md $(COURSE) 
	@sed 's#](\.\./#](#g; s#](\([a-z]*\.md\))#](docs/\1)#g' docs/kit.md > $(COURSE)/README.md && rm $(COURSE)/docs/kit.md
	@rm -rf $(COURSE)/*/embed.go $(COURSE)/exercises/*/testdata
	@from=$$(go list -m -f '{{.Dir}}' k8s.io/client-go) && cp $$from/LICENSE $(COURSE)/client-go && cp -r $$from/tools/leaderelection $(COURSE)/client-go/tools && chmod -R u+w $(COURSE)
	@go list -m -f '{{.Path}} {{.Version}}: its package tools/leaderelection, unchanged. Copyright The Kubernetes Authors, Apache-2.0, see LICENSE.' k8s.io/client-go > $(COURSE)/client-go/NOTICE

snapshot: ## what a release would hold, in dist/, made by goreleaser for every platform: an hour on two cores with an empty cache
	go run github.com/goreleaser/goreleaser/v2@$(GORELEASER) release --snapshot --clean --skip=publish

kit-of: KIT = dist/failover-lab-$(OS)-$(ARCH)
kit-of:
	@mkdir -p $(KIT)/bin
	@if test $(OS)/$(ARCH) = $(HOST); then cp bin/labctl bin/academy-operator bin/academy-mutants bin/academy-cluster bin/kubectl $(KIT)/bin; else export GOOS=$(OS) GOARCH=$(ARCH); \
	  go build -ldflags '$(LINK)' -o $(KIT)/bin/labctl ./labctl && go build -ldflags '$(LINK)' -o $(KIT)/bin/academy-operator ./operator && go build -ldflags '$(LINK)' -o $(KIT)/bin/academy-mutants ./operator/mutants && cd labctl/cluster && \
	  go build -ldflags '$(LINK_KUBE)' -o ../../$(KIT)/bin/academy-cluster . && go build -ldflags '$(LINK_KUBE)' -o ../../$(KIT)/bin/kubectl ./kubectl; fi
	@$(MAKE) --no-print-directory course && cp -r $(COURSE)/. $(KIT)
	@tar -C dist -czf $(KIT).tar.gz $(notdir $(KIT)) && rm -r $(KIT) && du -h $(KIT).tar.gz

clean: lab-down ## remove the lab, bin and dist; the Go cache and recorded runs stay
	@for lab in $${XDG_STATE_HOME:-$$HOME/.local/state}/labctl/*/cluster.json; do test ! -e "$$lab" || { name=$$(basename $$(dirname "$$lab")); \
	  echo "error: lab $$name is there too, and without bin nothing would end it"; echo "hint: bin/labctl down --name $$name"; exit 1; }; done
	rm -rf bin dist

.PHONY: help failover build tools cluster lab-up lab-down watch test e2e mutants torture docs soak check lint race bench kit kit-of course snapshot clean e2e-kind
