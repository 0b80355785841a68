"""The workloads that come with the lab: real stores, told what to write by a fixed script."""
