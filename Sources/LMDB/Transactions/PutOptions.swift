import CLMDB

/// How ``WriteTransaction/put(_:forKey:in:options:)`` stores.
public struct PutOptions: OptionSet, Sendable {
  public let rawValue: UInt32

  public init(rawValue: UInt32) {
    self.rawValue = rawValue
  }

  /// The key is greater than every key in the database: fills pages densely and skips the search (`MDB_APPEND`).
  /// A key that is not greater fails with `.keyExists`.
  public static let append = PutOptions(rawValue: UInt32(MDB_APPEND))
}
