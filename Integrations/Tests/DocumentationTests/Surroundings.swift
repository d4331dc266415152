import LMDBCaching

// What blocks of documentation take for granted.

/// What `cache` is in each of them, also where a block does not import what declares it.
typealias ExampleCache = LMDBCache

func show(_ value: Any) {}
