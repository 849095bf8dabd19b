"""Line charts that are updated while a training runs: series, Bokeh documents, pictures."""
