"""What every room uses: text, paths, options, enums, messages."""
