"""What runs tell while it happens and no record holds: told by workers, carried by a channel, heard by followers."""
