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

# Families that few programs use: their files are imported when one of the ops is used.
LATER_FAMILIES = {
    "volume_patches_scaling": "ExtractVolumePatches ScaleAndTranslate ScaleAndTranslateGrad AdjustContrast",
}
