"""Power loss: what was never synced is lost or torn, and the store is opened on what is left."""
