"""Line charts that grow while a training runs: series, Bokeh documents, pictures."""
