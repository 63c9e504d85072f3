"""The page about a model that `Model.report` writes. It needs the extra `report`."""
