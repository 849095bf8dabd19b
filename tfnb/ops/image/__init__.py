"""Images: files, colours, resizing, cropping, patches and boxes."""
