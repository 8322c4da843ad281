"""One file per family of networks. Each builder adds its nodes to a graph and
returns the logits; its text cites the publication and states the choices."""
