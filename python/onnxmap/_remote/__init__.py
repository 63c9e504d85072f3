"""Files behind URLs: `https://`, `s3://`, `memory://` and whatever else fsspec reads."""
