"""`RemoteMonitor`: the values of each epoch for a server that the program names.

Invariant: a server that does not answer costs a warning, never the training.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any
from urllib.error import URLError
from urllib.parse import urlencode
from urllib.request import Request, urlopen

import numpy as np

from tfnb.client.platform import tf_logging as logging
from tfnb.errors import InvalidArgumentError
from tfnb.v1.keras.callbacks.base import Callback

__all__ = ["RemoteMonitor"]


class RemoteMonitor(Callback):
    """Posts a dictionary of "epoch" and the loss and metrics after each epoch.

    root + path: the address, of HTTP. field: the name of the form's field that holds the JSON. headers: further ones.
    send_as_json: the JSON is the body, with its content type. Raises `InvalidArgumentError` for another protocol.
    """

    def __init__(
        self,
        root: str = "http://localhost:9000",
        path: str = "/publish/epoch/end/",
        field: str = "data",
        headers: Mapping[str, str] | None = None,
        send_as_json: bool = False,
    ) -> None:
        super().__init__()
        if not root.startswith(("http://", "https://")):
            raise InvalidArgumentError(f"RemoteMonitor: root={root!r}; needed an address of http or https")
        self.root, self.path, self.field = root, path, field
        self.headers, self.send_as_json = dict(headers or {}), send_as_json

    def on_epoch_end(self, epoch: int, logs: dict[str, Any] | None = None) -> None:
        values = {k: v.tolist() if isinstance(v, (np.ndarray, np.generic)) else v for k, v in (logs or {}).items()}
        text = json.dumps({"epoch": epoch, **values})
        body = text if self.send_as_json else urlencode({self.field: text})
        kind = {"Content-Type": "application/json"} if self.send_as_json else {}
        request = Request(self.root + self.path, body.encode(), {**kind, **self.headers})
        try:
            urlopen(request, timeout=10).close()
        except (URLError, OSError) as error:
            logging.warning("RemoteMonitor: could not reach %s: %s", self.root, error)
