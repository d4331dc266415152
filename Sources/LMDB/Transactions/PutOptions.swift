import CLMDB

/// How ``WriteTransaction/put(_:forKey:in:options:)`` stores.
public struct PutOptions: OptionSet, Sendable {
  public let rawValue: UInt32

  public init(rawValue: UInt32) {
    self.rawValue = rawValue
  }

  /// Requires the key to be greater than all keys in the database: skips the search and fills pages densely
  /// (`MDB_APPEND`). Other keys fail with `.keyExists`.
  public static let append = PutOptions(rawValue: UInt32(MDB_APPEND))
}
