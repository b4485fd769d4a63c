"""The suite: how its tables are drawn and its instances made."""
