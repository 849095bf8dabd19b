"""Line charts that are updated while a training runs: series, Bokeh documents, pictures.

BokehJS draws them in the browser. The kernel sends BokehJS once, from the installed bokeh package, over the channel of
the widgets; then templates of charts out of the user's cache (`tfnb/notebook/viewer/chart_theme.py`), and then only
arrays. The kernel alone downsamples points (`tfnb/summary/sampling.py`).
"""
