"""What goes wrong around a process: files cut off or exchanged, failing calls, rivals, crashes."""
