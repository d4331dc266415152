// Importing the bridge is enough.
@_exported public import EFStorageLMDBCache
@_exported public import Storez
