"""Tell what kind a failure is: from structure first, from its words second."""
