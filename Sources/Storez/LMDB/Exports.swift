// `LMDBConvertible` and the cache of an `LMDBStore` are part of what Storez offers.
@_exported public import LMDBCaching
