package cmd

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"academy.example/lab/labctl/internal/provider"
	"academy.example/lab/labctl/internal/provider/image"
	"academy.example/lab/operator/api"
)

func (a *app) imageCommand() *cobra.Command {
	c := &cobra.Command{Use: "image", Short: "Make the operator's container image", Args: cobra.ArbitraryArgs, RunE: group}
	var program, name string
	save := &cobra.Command{
		Use:   "save FILE",
		Short: "Write the operator's image as an OCI archive, for a registry of your own",
		Long: "save writes an OCI image archive of the static program, without Docker. Tools of registries take it:\n\n" +
			"  skopeo copy oci-archive:FILE docker://registry.example.com/academy-operator:lab",
		Args: func(c *cobra.Command, args []string) error {
			if len(args) != 1 {
				return usageError{command: c.CommandPath(), err: errors.New("which file is the image written to?")}
			}
			return nil
		},
		RunE: func(c *cobra.Command, args []string) error { return a.saveImage(args[0], name, program) },
	}
	save.Flags().StringVar(&program, "operator-binary", "", "the program in it; academy-operator beside labctl if none is named")
	save.Flags().StringVar(&name, "image-name", api.DefaultImage, "the name in it")
	c.AddCommand(save)
	return c
}

func (a *app) saveImage(file, name, program string) error {
	if program == "" {
		dir, err := provider.ProgramDir("")
		if err != nil {
			return err
		}
		program = filepath.Join(dir, api.Program)
	}
	made, err := image.New(name, program)
	if err != nil {
		return err
	}
	out, err := os.Create(file)
	if err != nil {
		return &provider.Problem{Err: fmt.Errorf("write the image: %w", err), Hint: "labctl image save /tmp/academy-operator.tar"}
	}
	if err := errors.Join(made.WriteOCI(out), out.Close()); err != nil {
		os.Remove(file)
		return fmt.Errorf("write the image to %s: %w", file, err)
	}
	fmt.Fprintf(a.streams.Out, "wrote %s: image %s, id %s\n", file, name, made.ID())
	fmt.Fprintf(a.streams.Out, "\nnext:\n  skopeo copy oci-archive:%s docker://REGISTRY/%s:lab\n  %s\n", file, api.Program,
		a.typed("labctl up --provider existing --context CONTEXT --operator-image REGISTRY/"+api.Program+":lab"))
	return nil
}
