"""How two processes show each other that they know the cluster's secret, before either believes a byte of the other.

Each side sends a random number and a digest that needs the secret, both numbers and the address of the server, so an
answer fits one connection to one server: it can be neither repeated nor passed on. The functions know no sockets.
Invariant: the secret itself never travels, and what a side sends says nothing of it to those who do not know it.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets

__all__ = ["ANSWER", "CHALLENGE", "GREETING_SECONDS", "REPLY", "Answer", "challenge", "is_proof", "reply"]

GREETING_SECONDS = 5.0
_PREAMBLE = b"tfnb cluster 1\n"  # the version of the protocol
_NONCE, _DIGEST = 32, hashlib.sha256().digest_size
CHALLENGE = len(_PREAMBLE) + _NONCE
"""The length in bytes of what the server sends first."""
ANSWER = _NONCE + _DIGEST
"""The length of the client's answer."""
REPLY = 1 + _DIGEST
"""The length of the server's reply: whether the answer is right, and then its own digest."""


def challenge() -> bytes:
    """Returns what a server sends first to a new connection."""
    return _PREAMBLE + secrets.token_bytes(_NONCE)


class Answer:
    """The client's part. `text` is what it sends. Raises `ValueError` for a challenge of another protocol."""

    def __init__(self, secret: bytes, endpoint: str, given: bytes) -> None:
        if len(given) != CHALLENGE or not given.startswith(_PREAMBLE):
            raise ValueError("there is no task of this version of tfnb")
        nonces = given[len(_PREAMBLE) :], secrets.token_bytes(_NONCE)
        self._expected = _digest(secret, b"server", endpoint, *nonces)
        self.text = nonces[1] + _digest(secret, b"client", endpoint, *nonces)

    def is_reply(self, given: bytes) -> bool:
        """Returns whether the server knows the secret."""
        return hmac.compare_digest(given, b"\x01" + self._expected)


def is_proof(secret: bytes, endpoint: str, sent: bytes, answer: bytes) -> bool:
    """Returns whether the answer to the challenge `sent` shows that the client knows the secret.

    `endpoint` is the address at which the client has reached the server.
    """
    nonce, digest = answer[:_NONCE], answer[_NONCE:]
    return hmac.compare_digest(digest, _digest(secret, b"client", endpoint, sent[len(_PREAMBLE) :], nonce))


def reply(secret: bytes | None, endpoint: str, sent: bytes, answer: bytes) -> bytes:
    """Returns the server's reply to an answer; without a secret, that it was refused."""
    if secret is None:
        return bytes(REPLY)
    return b"\x01" + _digest(secret, b"server", endpoint, sent[len(_PREAMBLE) :], answer[:_NONCE])


def _digest(secret: bytes, role: bytes, endpoint: str, *nonces: bytes) -> bytes:
    return hmac.digest(secret, b"\n".join((role, endpoint.encode(), *nonces)), "sha256")
