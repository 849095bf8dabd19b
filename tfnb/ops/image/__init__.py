"""Images: files, colours, resizing, cropping, patches and boxes."""

FAMILIES = (
    "boxes",
    "codecs",
    "color",
    "crop_pad_flip",
    "measures",
    "patches",
    "resize",
    "resize_weights",
)
