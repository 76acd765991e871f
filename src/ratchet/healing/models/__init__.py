"""Language models of any provider, behind one port."""
