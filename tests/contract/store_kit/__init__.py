"""The contract of a store, as checks that every store must pass. Importing it registers all of them."""

from tests.contract.store_kit import batches as batches
from tests.contract.store_kit import bindings as bindings
from tests.contract.store_kit import callbacks as callbacks
from tests.contract.store_kit import changes as changes
from tests.contract.store_kit import client_sends as client_sends
from tests.contract.store_kit import deeds as deeds
from tests.contract.store_kit import delegations as delegations
from tests.contract.store_kit import erasure as erasure
from tests.contract.store_kit import identities as identities
from tests.contract.store_kit import intents as intents
from tests.contract.store_kit import lease as lease
from tests.contract.store_kit import left_sessions as left_sessions
from tests.contract.store_kit import long_results as long_results
from tests.contract.store_kit import mailbox as mailbox
from tests.contract.store_kit import mirrors as mirrors
from tests.contract.store_kit import operators as operators
from tests.contract.store_kit import purge as purge
from tests.contract.store_kit import queue_admin as queue_admin
from tests.contract.store_kit import schedule as schedule
from tests.contract.store_kit import session_keys as session_keys
from tests.contract.store_kit import sessions as sessions
from tests.contract.store_kit import transitions as transitions
from tests.contract.store_kit import work as work
from tests.contract.store_kit import workers as workers
