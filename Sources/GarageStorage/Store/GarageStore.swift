/// Where a garage's objects are kept.
protocol GarageStore: AnyObject, Sendable {
  /// Runs `body` with what is stored at one moment.
  func read<R>(_ body: (any StoreSnapshot) throws -> R) throws -> R

  /// Makes all the changes, for good, or none of them.
  ///
  /// A sync status for an object that was deleted meanwhile is forgotten.
  ///
  /// - Throws: `.missingEncryptionDelegate` if something is to be stored in plain text in an encrypted garage;
  ///   `.storageFailed`.
  func commit(_ changes: PendingChanges) throws(GarageError)

  func close()
}
