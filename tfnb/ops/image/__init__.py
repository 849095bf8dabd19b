"""Images: file formats, colours, resizing, cropping, patches and bounding boxes."""

FAMILIES = (
    "boxes",
    "codecs",
    "color",
    "crop_pad_flip",
    "measures",
    "patches",
    "resize",
    "resize_weights",
    "suppression",
)
