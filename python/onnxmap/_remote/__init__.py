"""Files behind URLs: `https://`, `s3://`, `memory://` and all others that fsspec reads."""
