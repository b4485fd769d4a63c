"""The options of every command, and nothing else: what a command needs is loaded when it begins."""
