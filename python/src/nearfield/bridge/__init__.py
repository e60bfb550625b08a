"""Results of running daemons at a broker, for a site with many arrays (docs/use/site.md)."""

from nearfield.bridge._broker import Redis
from nearfield.bridge.entries import BridgedFrame, Keys, dataset_of
from nearfield.bridge.reader import Reader, arrays, newest_state, read
from nearfield.bridge.store import Store

__all__ = ["BridgedFrame", "Keys", "Reader", "Redis", "Store", "arrays", "dataset_of", "newest_state", "read"]
