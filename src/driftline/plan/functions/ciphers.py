"""aes_encrypt and aes_decrypt. A random start would be another each time: it must be given."""

from __future__ import annotations

from driftline.plan.errors import ExpressionError
from driftline.plan.expressions import Call, Expression, Literal
from driftline.plan.functions.base import Arguments, argument, needs, register
from driftline.plan.types import BINARY, STRING

_DEFAULTS = (Literal("GCM", STRING), Literal("DEFAULT", STRING))
_NOTHING = Literal(b"", BINARY)
_KINDS = (BINARY, BINARY, STRING, STRING, BINARY, BINARY)


def _function(name: str, defaults: tuple[Expression, ...]) -> None:
    """A value, its key, the mode, the padding, and what else there is."""

    @register(name, 2, 2 + len(defaults))
    def build(args: Arguments) -> Expression:
        needs("cryptography", "ciphers", name)
        given = (*args, *defaults[len(args) - 2 :])
        value, key, mode, *rest = (
            argument(each, kind, name, place)
            for place, (each, kind) in enumerate(zip(given, _KINDS, strict=False), start=1)
        )
        if name == "aes_encrypt" and rest[1] == _NOTHING and not _is_ecb(mode):
            raise ExpressionError(
                "aes_encrypt without an iv has another value each time, and a continuous query "
                "must give the same answer whenever it is run again: give an iv, of 12 bytes for "
                "GCM and 16 for CBC"
            )
        return Call(name, (value, key, mode, *rest), BINARY)


def _is_ecb(mode: Expression) -> bool:
    return isinstance(mode, Literal) and str(mode.value).upper() == "ECB"


_function("aes_encrypt", (*_DEFAULTS, _NOTHING, _NOTHING))
_function("aes_decrypt", (*_DEFAULTS, _NOTHING))
_function("try_aes_decrypt", (*_DEFAULTS, _NOTHING))
