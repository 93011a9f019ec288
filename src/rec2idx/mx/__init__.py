"""What training scripts use of MXNet to read records: ``import rec2idx.mx as mx``.

There is ``mx.recordio``, and of ``mx.image`` the function ``imdecode``.

>>> import rec2idx.mx as mx
>>> record = mx.recordio.MXRecordIO("examples/sample.rec", "r")
>>> header, image = mx.recordio.unpack(record.read())
>>> mx.image.imdecode(image).asnumpy().shape
(109, 113, 3)
"""

from typing import NoReturn

from .. import recordio
from . import image

__all__ = ["image", "recordio"]


def __getattr__(name: str) -> NoReturn:
    raise AttributeError(
        f"rec2idx.mx has recordio and image.imdecode, and not {name!r}: what else MXNet did is "
        "another package's task"
    )
