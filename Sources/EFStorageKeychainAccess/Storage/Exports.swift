// Importing a container is enough.
@_exported public import EFStorageCore
