package audit

import (
	"os"
	"strings"
	"testing"
)

func TestPolicy_IsTheEmbeddedClustersToo(t *testing.T) {
	text, err := os.ReadFile("../../../cluster/internal/apiserver/audit.go")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(text), "`"+Policy+"`") {
		t.Error("labctl/cluster/internal/apiserver/audit.go has another policy")
	}
}

func TestParse(t *testing.T) {
	tests := map[string]struct {
		line     string
		finished bool
		pod      string
	}{
		"a pod's request":           {`{"stage":"ResponseComplete","verb":"update","user":{"extra":{"authentication.kubernetes.io/pod-name":["p-1"]}},"responseStatus":{"code":200}}`, true, "p-1"},
		"a user's":                  {`{"stage":"ResponseComplete","verb":"get","responseStatus":{"code":200}}`, true, ""},
		"not answered yet":          {`{"stage":"ResponseStarted","verb":"get"}`, false, ""},
		"refused before it had one": {`{"stage":"ResponseStarted","verb":"get","responseStatus":{"code":401}}`, true, ""},
	}
	for name, test := range tests {
		r, finished, err := Parse([]byte(test.line))
		if err != nil || finished != test.finished || r.Pod != test.pod {
			t.Errorf("%s: got %+v, %t, %v", name, r, finished, err)
		}
	}
	if _, _, err := Parse([]byte("no JSON")); err == nil {
		t.Error("no JSON was read")
	}
}
